#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the built recorder asks of its host: libc alone, and of it only the symbols in
tools/recorder_imports.txt. Looks at the object, not at the source, because the compiler and the
linker add calls of their own.

  tools/lint_imports.py [LIBRARY]      (build/libtidemark.so)
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEEDED = re.compile(r"^(libc\.so\.6|ld-linux[-.\w]*\.so\.\d)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/libtidemark.so")
    if not library.exists():
        print(f"{library}: not built")
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
    for text in findings:
        print(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
