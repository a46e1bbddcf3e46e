#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every linter, one after the other; all of them run even when one complains.

  tools/lint.py [CHECK…]      layers imports format tidy python shell page rust
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import time

import tree

ROOT = tree.ROOT
BUILD = ROOT / "build"
TIDIED = BUILD / "lint-tidy"  # how clang-tidy is to see each source, and what it found good


def run(*command):
    return subprocess.run(command, cwd=ROOT).returncode == 0


def layers():
    checks = [["tools/page_numbers.py", "--check"], ["tools/draw_rooms.py", "--check"],
              ["tools/lint_layers.py"], ["tools/lint_cycles.py"]]
    return all([run(sys.executable, *check) for check in checks])


def imports():
    return run(sys.executable, "tools/lint_imports.py")


def format_():
    names = [str(path.relative_to(ROOT)) for path in tree.files(".c", ".h")]
    command = ["clang-format", "--dry-run", "-Werror", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    complaints = re.findall(r"^([^:\n]+):(\d+):\d+: error", done.stderr, re.M)
    for name in sorted({name for name, _ in complaints}):
        lines = sorted({int(line) for file, line in complaints if file == name})
        print(f"{name}:{lines[0]}: not as clang-format writes it; make fmt ({len(lines)} lines)")
    return done.returncode == 0


# States that the path analyser looks at before it leaves a function, instead of its own 225,000:
# most of its time goes to a few long functions, and what it says of them comes early.
PATHS = ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000")


def tidy_one(source):
    # The path analyser does not see through system calls in assembly, so the recorder, which makes
    # no others, gets the other checks alone. Options of gcc's that clang lacks do not matter.
    recorder = source.parent.relative_to(ROOT / "src").parts[0] in tree.RECORDER
    command = ["clang-tidy", "--quiet", "-p", str(TIDIED),
               "--extra-arg=-Wno-unknown-warning-option",
               "--extra-arg=-Wno-ignored-optimization-argument",
               *(["--checks=-clang-analyzer-*"] if recorder else []),
               *(f"--extra-arg={word}" for word in PATHS), str(source)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode == 0, re.findall(r"^.*(?:error|warning): .*", done.stdout, re.M)


def included():
    """{source: every file it includes}, as ninja learnt when it compiled them."""
    listed = subprocess.run(["ninja", "-C", str(BUILD), "-t", "deps"], capture_output=True,
                            text=True).stdout
    files = {}
    for block in listed.split("\n\n"):
        names = [os.path.normpath(BUILD / line.strip()) for line in block.splitlines()[1:]]
        if names:
            files.setdefault(pathlib.Path(names[0]), set()).update(names)
    return files


def fingerprint(source, files, how):
    """Of everything that clang-tidy's answer for a source depends on."""
    digest = hashlib.sha256(how.encode())
    for path in sorted(files):
        digest.update(f"{path}\n".encode() + pathlib.Path(path).read_bytes())
    return f"{source.stem}-{digest.hexdigest()[:32]}"


def commands():
    """{source: its entry of compile_commands.json} of the command and of the libraries. Most of the
    recorder is compiled anew for its agent and for several tests, of the same text, and clang-tidy
    would look at each: once is enough, as what is installed has it, which comes first."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(os.path.normpath(os.path.join(entry["directory"], entry["file"])))
        if (ROOT / "src") in path.parents:  # less an option of gcc's that clang takes for a mistake
            found.setdefault(path, entry | {"command": entry["command"]
                                            .replace("-mmanual-endbr", "")})
    return found


def tidy():
    """What is not a test: those are checked by running them. What was found good is remembered and
    not looked at again until something changes that the answer depends on."""
    tool = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout
    tool += (ROOT / ".clang-tidy").read_text() + pathlib.Path(__file__).read_text()
    ours, files = commands(), included()
    TIDIED.mkdir(exist_ok=True)
    (TIDIED / "compile_commands.json").write_text(json.dumps(list(ours.values())))
    stamps = {path: TIDIED / fingerprint(path, files[path], tool + entry["command"])
              for path, entry in ours.items() if path in files}
    asked = [path for path in sorted(ours) if path not in stamps or not stamps[path].exists()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(tidy_one, asked))
    for line in sorted({line for _, lines in results for line in lines}):
        print(line.replace(f"{BUILD}/../", ""))
    for path, (good, _) in zip(asked, results):
        if good and path in stamps:
            stamps[path].touch()
    return bool(ours) and all(good for good, _ in results)


def python():
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for path in tree.files(".py"):
            try:
                py_compile.compile(str(path), cfile=f"{scratch}/x.pyc", doraise=True)
            except py_compile.PyCompileError as error:
                print(error.msg)
                good = False
    return good


def shell():
    return all([run("sh", "-n", str(path)) for path in [*tree.files(".sh"), ROOT / ".ci/run"]])


def page():
    """The types of the page's sources, where it is built."""
    work = BUILD / "ui/work"
    compiler = work / "node_modules/typescript/bin/tsc"
    if compiler.exists():
        return subprocess.run(["node", str(compiler), "--noEmit"], cwd=work).returncode == 0
    print("the page is not built: its types are not checked (node and npm are needed)")
    return os.environ.get("CI") != "true"


def rust():
    """The crate: as rustfmt writes it, and clippy has nothing to say. Where these are."""
    crate = ROOT / "bindings/rust"
    good = True
    if shutil.which("cargo-fmt"):
        good = run("cargo", "fmt", "--check", "--manifest-path", str(crate / "Cargo.toml"))
    if shutil.which("cargo-clippy"):
        good &= run("cargo", "clippy", "--quiet", "--offline", "--all-targets",
                    "--manifest-path", str(crate / "Cargo.toml"),
                    "--target-dir", str(BUILD / "bindings-rust"), "--", "-D", "warnings")
    return good


CHECKS = {"layers": layers, "imports": imports, "format": format_, "tidy": tidy,
          "python": python, "shell": shell, "page": page, "rust": rust}


def main():
    names = sys.argv[1:] or list(CHECKS)
    for name in names:
        if name not in CHECKS:
            sys.exit(f"lint: no check '{name}' ({' '.join(CHECKS)})")
    for tool in ("clang-format", "clang-tidy", "nm"):
        if not shutil.which(tool):
            sys.exit(f"lint: {tool} is missing; tools/setup.sh lint installs it")
    bad = []
    for name in names:
        start = time.monotonic()
        good = CHECKS[name]()
        print(f"lint: {name:8} {'ok' if good else 'FAILED'} ({time.monotonic() - start:.1f} s)",
              flush=True)
        if not good:
            bad.append(name)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
