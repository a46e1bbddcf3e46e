#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the built recorder asks of its host: libc alone, and of it only the symbols in
tools/recorder_imports.txt. Its core (rt, store, unwind, record), built without libc, asks for
tide_host and for what compilers call by themselves, and has no thread-local storage. Looks at
objects, not at the source, because the compiler and the linker add calls of their own.

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
    for text in findings:
        print(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
