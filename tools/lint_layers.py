#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of the tree that a compiler does not check.

 - an #include "module/file.h" goes in a direction tools/layers.txt allows;
 - architecture-specific code lives under arch/ alone, with the same file names in each;
 - a source file opens with its SPDX line and says what it is for;
 - lines have at most 100 columns, files at most 800 lines;
 - an option of the command line is named in src/cli alone: what libraries say is also read in JSON
   and on the page, where nobody can type it (base/hint.h says what they have instead); and the
   command says of a failure what to do about it;
 - a number of a stack (model/numbers.def) is told as its image knows it, never as exact by itself;
 - every header compiles alone, and all of them as one;
 - the recorder's core (rt, store, unwind, record) knows neither loader nor pthread nor TLS, and no
   function's name;
 - a struct's tag is of one header alone (but for arch/), and no function's name is of both chains,
   so that they can be linked together (tests/unit/both_chains.c does);
 - a static function of one word is of one file alone, and the word says something;
 - tests of the page wait for what is shown, never for a while (`until` of ui/browser/stage.mjs).

Prints one line per finding, exits 1 when there is one.
"""
import concurrent.futures
import os
import platform
import re
import subprocess
import sys

import tree

ROOT = tree.ROOT
MAX_COLUMNS = 100
MAX_LINES = 800
CODE = {".c", ".h", ".cc", ".cpp", ".rs", ".py", ".sh", ".ts", ".tsx", ".mjs", ".css"}
HEADED = {".c", ".h", ".ts", ".tsx"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# An empty asm template is a compiler barrier, good on any machine.
ARCH_CODE = re.compile(
    r"__x86_64__|__amd64__|__aarch64__|\b_mm_\w+|__builtin_ia32_|__rdtsc"
    r'|\b(?:__asm__|__asm|asm)\b\s*(?:__volatile__|volatile|goto)?\s*\(\s*"[^"]')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
OPTION_ROW = re.compile(r"""(?:'(.)'|\b0), "([a-z][a-z-]*)", (?:"|NULL)""")
# Words of a call that tells a number as exact, with calls inside of them.
TOLD_AS_EXACT = re.compile(r"\b(?:tide_exact|tide_units_plain|tide_units_digits)"
                           r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
DIAG_TEXT = re.compile(r"diag(?:\.|->)text\b")

CORE = {"rt", "store", "unwind", "record"}
HOSTS_AFFAIR = re.compile(r"^\s*#\s*include\s+<(dlfcn|link|pthread|threads|stdio|stdlib)\.h>"
                          r"|\b(__thread|_Thread_local|errno)\b(?!\.h)")
# What both chains know of other programs' symbols; the core includes neither.
NAMES_OF_OTHERS = {"store/call_names.h", "store/hooks.def", "store/program_signs.h",
                   "store/rust_names.h"}
LOADERS_NAME = re.compile(r'"[^"]*\b(?:ld-|lib\w+\.so|_dl_|LD_)[^"]*"')
NAME_OF_TAG = re.compile(r"^(?:struct|enum|union) (tide_\w+) \{", re.M)
# A static of one word, and those words that say nothing wherever they stand.
ONE_WORD_STATIC = re.compile(r"^static (?:[a-z_0-9]+ )*[a-z_0-9]+[ *]+([a-z0-9]+)\(", re.M)
NOTHING_SAID = {"check", "do", "handle", "judge", "process", "put", "tell"}
WAITING = re.compile(r"\b(?:waitForTimeout|setTimeout|setInterval|Atomics\.wait)\b")
# What others wait by, what waits for a file in ui/test, and what measures.
MAY_WAIT = {"stage.mjs", "command.ts", "bench.mjs"}
NAME_OF_FUNCTION = re.compile(r"^(?!static|typedef)\w[\w *]*?\b(tide_\w+)\(", re.M)

findings = []


def finding(path, line, text):
    findings.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def read_layers():
    layers = {}
    for raw in (ROOT / "tools/layers.txt").read_text().splitlines():
        line = raw.split("#")[0].strip()
        if line:
            module, _, allowed = line.partition(":")
            layers[module.strip()] = set(allowed.split())
    return layers


def module_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def check_includes(path, lines, layers):
    module = module_of(path)
    if module is None:
        return  # tests and benchmarks may look anywhere
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        target_module = target.split("/")[0]
        if "/" not in target:
            finding(path, number, f'"{target}" must be written "module/file.h"')
        elif target_module not in layers:
            finding(path, number, f'"{target}": no module of tools/layers.txt')
        elif target_module != module and target_module not in layers[module]:
            finding(path, number, f"{module} may not include {target_module}")


def check_text(path, lines):
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        finding(path, 1, "no SPDX line at the head")
    elif path.suffix in HEADED and (len(lines) < 3 or not lines[2].startswith("//")):
        finding(path, 2, "the head does not say what the file is for")
    if len(lines) > MAX_LINES:
        finding(path, len(lines), f"{len(lines)} lines, {MAX_LINES} at most")
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > MAX_COLUMNS:
            finding(path, number, f"{len(line)} columns, {MAX_COLUMNS} at most")
        if line != line.rstrip():
            finding(path, number, "trailing blanks")


def check_arch(path, lines):
    if "arch" in path.relative_to(ROOT).parts[:-1] or path.name == "arch.h":
        return  # arch.h picks the architecture's header, and does nothing else
    for number, line in enumerate(lines, 1):
        if ARCH_CODE.search(line.split("//")[0]):
            finding(path, number, "architecture-specific code outside arch/")


def read_hooked():
    text = (ROOT / "src/store/hooks.def").read_text()
    return {f'"{name}"' for name in re.findall(r"^TIDE_HOOK\w*\((\w+),", text, re.M)}


def check_core(path, lines, hooked):
    if module_of(path) not in CORE or path.relative_to(ROOT / "src").as_posix() in NAMES_OF_OTHERS:
        return
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0]
        included = INCLUDE.match(line)
        if (HOSTS_AFFAIR.search(code) or LOADERS_NAME.search(code)
                or (hooked & set(STRING.findall(code)) and "__asm__" not in code)
                or (included and included.group(1) in NAMES_OF_OTHERS)):
            finding(path, number, "is not for the recorder's core: ask its host (record/host.h)")


def check_arch_twins(sources):
    """Every file under arch/x86_64 has its twin under arch/aarch64."""
    names = {path.relative_to(ROOT).as_posix() for path in sources}
    for name in sorted(names):
        for here, there in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
            twin = name.replace(f"/arch/{here}/", f"/arch/{there}/")
            if twin not in names:
                finding(ROOT / name, 1, f"no {twin}")


def check_waiting(path, lines):
    place = path.relative_to(ROOT).parts
    if place[:2] not in (("ui", "browser"), ("ui", "test")) or path.name in MAY_WAIT:
        return
    for number, line in enumerate(lines, 1):
        if WAITING.search(line.split("//")[0]):
            finding(path, number, "waits for a while: wait for what is to come (stage.mjs)")


def read_options():
    rows = OPTION_ROW.findall((ROOT / "src/cli/option_table.c").read_text())
    assert len(rows) >= 30, "too few to be the option table"
    names = "|".join(sorted({name for _, name in rows}))
    letters = "".join(sorted({letter for letter, _ in rows} - {"", "g"}))  # -g: compilers', too
    return re.compile(rf"--(?:{names})(?![a-z-])|(?<![\w-])(?<!ulimit )-[{letters}](?![\w=-])")


def check_options(path, lines, options):
    if module_of(path) in (None, "cli"):
        return
    for number, line in enumerate(lines, 1):
        code = "" if line.lstrip().startswith("//") else line
        for text in STRING.findall(code):
            for name in options.findall(text):
                finding(path, number, f"names {name}, an option of the command line")


def check_hints(path, lines):
    if module_of(path) != "cli" or path.name == "hint_words.c":
        return
    for number, line in enumerate(lines, 1):
        if DIAG_TEXT.search(line):
            finding(path, number, "says of a failure not what to do about it (cli/hint_words.h)")


def read_numbers():
    text = (ROOT / "src/model/numbers.def").read_text()
    fields = set(re.findall(r"^TIDE_NUMBER(?:_LIVE)?\((\w+),", text, re.M)) - {"field", "n_samples"}
    assert len(fields) >= 20, "too few to be the list of numbers"
    return re.compile(rf"(?:->|\.)(?:{'|'.join(sorted(fields))})\b")


def check_exactness(path, lines, numbers):
    if module_of(path) is None or path.suffix != ".c":
        return
    text = "\n".join(lines)
    for call in TOLD_AS_EXACT.finditer(text):
        told = numbers.search(call.group(1))
        if told:
            number = text.count("\n", 0, call.start()) + 1
            finding(path, number, f"tells {told.group()[1:].lstrip('>')} as exact: "
                                  "its image knows how exact it is (model/image_sums.h)")


def complaint(headers):
    """What the compiler says of a file that includes these; None: nothing."""
    text = "".join(f'#include "{path.relative_to(ROOT / "src").as_posix()}"\n' for path in headers)
    command = ["cc", "-std=gnu11", "-fms-extensions", "-Wall", "-Wextra",
               "-Wno-unused-parameter", "-Werror", "-fsyntax-only", "-I", "src",
               "-D_GNU_SOURCE", "-DTIDE_VERSION=\"lint\"", "-x", "c", "-"]
    run = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True)
    lines = [line for line in run.stderr.splitlines() if "error" in line]
    return (lines or ["?"])[0] if run.returncode else None


def check_headers(headers):
    """Each alone, and all as one: what both chains name is named apart."""
    machine = platform.machine()
    # The cross build compiles those of the other architecture.
    ours = [path for path in headers if f"/arch/{machine}/" in path.as_posix()
            or "/arch/" not in path.as_posix()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, said in zip(ours, pool.map(lambda path: complaint([path]), ours)):
            if said:
                finding(path, 1, f"does not compile alone: {said}")
    said = complaint(ours)
    if said:
        findings.append(f"src: its headers do not compile as one: {said}")


def check_chains(sources):
    """Tags in headers, and functions that are not static: of the recorder's chain or the other."""
    found = {}
    for path in sources:
        text = path.read_text()
        names = NAME_OF_FUNCTION.findall(text) if path.suffix == ".c" else NAME_OF_TAG.findall(text)
        for name in names:
            side = module_of(path) in tree.RECORDER
            other_side, other = found.setdefault((name, path.suffix), (side, path))
            is_second = path.suffix == ".h" and other != path and "arch" not in path.parts
            if other_side != side or is_second:
                finding(path, 1, f"{name} is of {other.relative_to(ROOT)}, too")


def check_statics(sources):
    """A function of one word is found by that word: it is in one file, its twins' of the other
    architecture apart."""
    found = {}
    for path in sources:
        home = re.sub(r"/arch/\w+/", "/arch/", path.as_posix())
        for name in ONE_WORD_STATIC.findall(path.read_text()):
            other_home, other = found.setdefault(name, (home, path))
            if name in NOTHING_SAID:
                finding(path, 1, f"{name}(): says nothing; a second word says what of")
            elif other_home != home:
                finding(path, 1, f"{name}() is a static of {other.relative_to(ROOT)}, too: "
                                 "a second word tells them apart")


def main():
    layers = read_layers()
    options, hooked, numbers = read_options(), read_hooked(), read_numbers()
    sources = []
    for path in tree.files():
        script = path.suffix == "" and path.read_bytes()[:2] == b"#!"
        if path.suffix not in CODE and not script:
            continue
        lines = path.read_text().splitlines()
        check_text(path, lines)
        check_waiting(path, lines)
        check_options(path, lines, options)
        check_hints(path, lines)
        check_exactness(path, lines, numbers)
        if path.suffix in {".c", ".h"}:
            check_includes(path, lines, layers)
        if module_of(path) and path.suffix in {".c", ".h"}:
            check_arch(path, lines)
            check_core(path, lines, hooked)
            sources.append(path)
    for path in tree.files(".def"):
        check_options(path, path.read_text().splitlines(), options)
    check_arch_twins(sources)
    check_chains(sources)
    check_statics(sources)
    check_headers([path for path in sources if path.suffix == ".h"])
    for text in findings:
        print(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
