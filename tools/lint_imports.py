#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the built recorder asks of its host: libc alone, and of it only the symbols in
tools/recorder_imports.txt. Its core (rt, store, unwind, record), built without libc, asks for
tide_host and for what compilers call by themselves, and has no thread-local storage. Its small
variables fit a page: each further one would be copied in every fork child. Looks at objects, not at
the source, because the compiler and the linker add calls of their own.

  tools/lint_imports.py [LIBRARY [CORE]]   (build/libtidemark.so build/tests/recorder/libtidecore.a)
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEEDED = re.compile(r"^(libc\.so\.6|ld-linux[-.\w]*\.so\.\d)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


CORE_IMPORTS = {"tide_host", "memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_"}


def core_findings(core):
    """Of the objects of an archive: what none of them defines, and relocations of the TLS kind."""
    defined, undefined = set(), set()
    for line in output("nm", core).splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in "Uw":
            undefined.add(words[1])
        elif len(words) == 3:
            defined.add(words[2])
    for name in sorted(undefined - defined - CORE_IMPORTS):
        yield f"{core.name} asks for {name}, which not every way in can give"
    if "tide_host" not in undefined or not defined:
        yield f"{core.name} asks for no host: not the recorder's core"
    relocations = output("readelf", "-rSW", core)
    if re.search(r"R_\w*(TLS|TPOFF|DTPMOD|DTPOFF)|\.t(data|bss)\b", relocations):
        yield f"{core.name} has thread-local storage"


PAGE_BYTES = 4096
FIRST_RANGES_BYTES = 16 * 16  # as many as a small program has


def page_findings(library):
    """Of .bss: the small variables, then the table named ranges, whose first entries belong to
    them (src/rt/base.h)."""
    start = re.search(r"\.bss\s+NOBITS\s+([0-9a-f]+)", output("readelf", "-SW", library))
    ranges = re.search(r"^([0-9a-f]+) b ranges\b", output("nm", library), re.MULTILINE)
    if not start or not ranges:
        yield f"{library.name}: its small variables cannot be told"
        return
    bytes_ = int(ranges[1], 16) + FIRST_RANGES_BYTES - int(start[1], 16)
    if bytes_ > PAGE_BYTES:
        yield (f"{library.name}: small variables take {bytes_ - PAGE_BYTES} bytes more than a page;"
               " what is seldom written is TIDE_BULKY")


def main():
    core = pathlib.Path(sys.argv[2] if len(sys.argv) > 2
                        else ROOT / "build/tests/recorder/libtidecore.a")
    library = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/libtidemark.so")
    for path in (library, core):
        if not path.exists():
            print(f"{path}: not built")
            return 1
    lines = (ROOT / "tools/recorder_imports.txt").read_text().splitlines()
    allowed = {line.split("#")[0].strip() for line in lines} - {""}
    symbols = output("nm", "-D", "--undefined-only", "--without-symbol-versions", library)
    imports = {line.split()[-1] for line in symbols.splitlines() if line.strip()}
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", library))
    findings = [f"{library.name} imports {name}, which tools/recorder_imports.txt does not allow"
                for name in sorted(imports - allowed)]
    findings += [f"{library.name} needs {name}" for name in needed if not NEEDED.match(name)]
    if not imports:
        findings.append(f"{library.name} imports nothing: not the recorder")
    findings += core_findings(core)
    findings += page_findings(library)
    for text in findings:
        print(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
