# SPDX-License-Identifier: Apache-2.0
"""tidemark doctor: what would be seen, and that it is so."""
import glob
import json
import os
import shutil
import subprocess

import record
from ground import expect, test

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  void *volatile p = malloc(100);
  free(p);
  write(1, "ready\\n", 6);
  return read(0, (char[1]){0}, 1) < 0;
}
"""


def doctor(ground, subject, status, *said):
    done = ground.run(ground.tidemark, "doctor", subject)
    words = " ".join((done.stdout + done.stderr).split())
    expect(done.status == status, f"{subject}: {done.status}, not {status}: {words}")
    for one in said:
        expect(one in words, f"{subject}: no {one!r} in: {words}")
    return words


@test
def doctor_judges_commands(ground):
    prog = ground.build("plain", PROGRAM)
    doctor(ground, prog, 0, "by a preloaded library", "dynamic, glibc", "lines and inlined calls",
           "unwind tables", f"next: tidemark run {prog}")
    fixed = ground.build("fixed", PROGRAM, "-static")
    doctor(ground, fixed, 0, "by the agent", "linkage static", "libc's malloc (fixed)")
    shutil.copy(fixed, ground.scratch / "bare")
    subprocess.run(["strip", ground.scratch / "bare"], check=True)
    doctor(ground, ground.scratch / "bare", 0, "by the agent", "known by its code")
    script = ground.scratch / "script"
    script.write_text("#!/bin/sh\n./plain\n")
    script.chmod(0o755)
    doctor(ground, script, 1, "runs the script", "nothing can be told")
    asan = ground.build("asan", PROGRAM, "-fsanitize=address")
    doctor(ground, asan, 2, "nothing will be seen", "AddressSanitizer")
    doctor(ground, ground.scratch, 2, "it is a directory")
    doctor(ground, "no-such-command", 2, "no such command")


@test
def doctor_judges_processes(ground):
    """Without stopping them; as attach would say it."""
    prog = ground.build("plain", PROGRAM)
    child = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        expect(child.stdout.readline() == "ready\n", "it does not start")
        with open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
            before = maps.read()
        doctor(ground, child.pid, 0, f"process {child.pid} (plain)", "libc's malloc",
               "you may trace it", f"next: tidemark attach {child.pid}")
        with open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
            expect(maps.read() == before, "it was touched")
        done = ground.run(ground.tidemark, "doctor", "--json", child.pid)
        told = json.loads(done.stdout)
        expect(done.status == 0 and told["seen"] == "all" and told["debug_info"], done.stdout)
    finally:
        child.communicate("q")
    doctor(ground, child.pid, 2, "there is no process")
    if os.path.exists("/proc/2/status") and "VmSize" not in open("/proc/2/status").read():
        doctor(ground, 2, 2, "one of the kernel's own")


LIBRARY = "#include <stdlib.h>\nvoid *own_block(void) { return malloc(10); }\n"
USER = "void *own_block(void);\nint main(void) { return !own_block(); }\n"


@test
def doctor_finds_libraries(ground):
    """As the loader does: those of libraries, too, and what it will not find."""
    jemalloc = sorted(glob.glob("/usr/lib/*/libjemalloc.so.2"))
    if not jemalloc:
        raise record.Skip("no libjemalloc here")
    (ground.scratch / "lib").mkdir()
    library = ground.build("lib/libown.so", LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libown.so",
                           "-Wl,--no-as-needed", "-x", "none", jemalloc[0])
    libc = os.confstr("CS_GNU_LIBC_VERSION")
    linked = ["-x", "none", str(library)]
    prog = ground.build("relative", USER, *linked, "-Wl,-rpath,$ORIGIN/lib")
    doctor(ground, prog, 0, f"libc {libc}", "jemalloc (libjemalloc.so.2)",
           "libc's malloc (libc.so.6)")
    prog = ground.build("bare", USER, *linked)
    words = doctor(ground, prog, 0, "missing libown.so: the program will not start")
    expect("jemalloc" not in words, words)
    ground.env["LD_LIBRARY_PATH"] = str(ground.scratch / "lib")
    words = doctor(ground, prog, 0, "jemalloc (libjemalloc.so.2)")
    expect("missing" not in words, words)
