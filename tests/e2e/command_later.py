# SPDX-License-Identifier: Apache-2.0
"""Allocators that come with a library which is loaded while the program is recorded."""
import platform
import re
import struct
import subprocess

import record
from command_attach import Target, attach, let_go
from command_how import allocators
from ground import expect, test

# An allocator that is known by its name. Its blocks lie 16 bytes apart and more; it is used before
# the load has ended, and can be unloaded.
LIBRARY = """
#include <stddef.h>
static _Alignas(64) char pool[1 << 20];
static size_t used, n_freed;
__attribute__((noipa)) void *mi_malloc(size_t n)
{
  void *p = pool + used;
  used += (n + 15) & ~(size_t)15;
  return used > sizeof pool ? NULL : p;
}
__attribute__((noipa)) void mi_free(void *p)
{
  n_freed++;
  if (p) *(volatile char *)p = (char)n_freed;
}
static void *first[3];
__attribute__((constructor)) static void begin(void)
{
  for (int i = 0; i < 3; i++) first[i] = mi_malloc(16);
}
"""
LOADS = """
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void *library, *p[100];
static void *(*get)(size_t);
static void (*put)(void *);
__attribute__((noipa)) static void *of_library(void) { void *q = get(24); __asm__(""); return q; }
__attribute__((noipa)) static void *of_libc(void) { void *q = malloc(1000); __asm__(""); return q; }
int main(int argc, char **argv)
{
  char c;
  const char *words = argc > 2 ? argv[2] : "";
  if (!*words) write(1, "ready\\n", 6);
  while (*words ? (c = *words++) : read(0, &c, 1) == 1) {
    if (c == 'q') return 0;
    if (c == 'l') {
      library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
      if (!library) return 3;
      get = (void *(*)(size_t))dlsym(library, "mi_malloc");
      put = (void (*)(void *))dlsym(library, "mi_free");
    }
    if (c == 'u' && dlclose(library)) return 4;
    if (c == 'p') {
      for (int i = 0; i < 100; i++) p[i] = of_library();
      for (int i = 0; i < 40; i++) put(p[i]);
    }
    if (c == 'm') for (int i = 0; i < 10; i++) p[i] = of_libc();
    if (argc <= 2) write(1, "ok\\n", 3);
  }
  return 0;
}
"""


def build(ground, flags=()):
    library = ground.build("libown.so", LIBRARY, "-shared", "-fPIC", "-nostdlib", *flags)
    return ground.build("loads", LOADS), library


def check_counted(ground, n_rounds, n_loads=1):
    found = ground.report("x.tide")
    counts = allocators(found["image"])
    wanted = 3 * n_loads + 100 * n_rounds
    row = counts.get("mimalloc")
    expect(row and row["allocations"] == wanted, f"not {wanted}: {counts}")
    return found


@test
def attach_sees_an_allocator_that_is_loaded_later(ground):
    """Every block from its first on, while libc's are counted as before."""
    prog, library = build(ground)
    target = Target(ground, prog, library)
    child, _ = attach(ground, target.pid)
    for word in "mlpmp":
        target.tell(word)
    err = let_go(child)
    expect("complete: every event" in err, err)
    expect(not target.ours(), f"left behind: {target.ours()}")
    found = check_counted(ground, 2)
    live = {}
    names = found["functions"]
    for site in found["sites"]:
        site = {**found["site_defaults"], **site}
        frame = found["frames"][found["stacks"]["frame"][site["stack"]]]
        name = names[frame["function"]]
        live[name] = live.get(name, 0) + site["live_bytes"]
    expect(live.get("of_library") == 24 * 120 and live.get("of_libc") == 20000, f"{live}")
    target.tell("p") # nobody is there any more
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_survives_reloaded_allocators(ground):
    """Loaded and unloaded more often than there is room for hooks: each time hooked again."""
    prog, library = build(ground)
    target = Target(ground, prog, library)
    child, _ = attach(ground, target.pid)
    for _ in range(150):
        for word in "lpu":
            target.tell(word)
    target.tell("l")
    target.tell("p")
    err = let_go(child)
    expect("loaded" not in err, err)
    check_counted(ground, 151, 151)
    expect(not target.ours(), f"left behind: {target.ours()}")
    target.tell("p")
    expect(target.end() == 0, "it ended otherwise")


STORM = """
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  struct pollfd asked = {0, POLLIN, 0};
  write(1, "ready\\n", 6);
  while (!poll(&asked, 1, 0)) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library || dlclose(library)) return 4;
    free(malloc(10));
  }
  return 0;
}
"""


@test
def attach_lets_go_of_who_loads_all_the_time(ground):
    """Whatever comes in between: nobody waits for a look that will not come, and none is missed."""
    empty = ground.build("libempty.so", "int nothing;", "-shared", "-fPIC")
    storm = ground.build("storm", STORM)
    for library in empty, build(ground)[1]:
        target = Target(ground, storm, library)
        for _ in range(4):
            child, _ = attach(ground, target.pid)
            target.await_work()
            err = let_go(child)
            expect("complete: every event" in err, err)
            expect(not target.ours(), f"left behind: {target.ours()}")
        expect(target.end() == 0, "it ended otherwise")


@test
def detach_after_a_hooked_library_is_gone(ground):
    """What was hooked at the attach and is unloaded: all else is taken off."""
    prog, library = build(ground)
    for words in "lpu", "lpul":
        target = Target(ground, prog, library)
        target.tell("l")
        child, _ = attach(ground, target.pid)
        for word in words[1:]:
            target.tell(word)
        let_go(child)
        expect(not target.ours(), f"left behind: {target.ours()}")
        target.tell("m")
        expect(target.end() == 0, "it ended otherwise")


@test
def run_sees_an_allocator_that_is_loaded_later(ground):
    prog, library = build(ground)
    done = ground.record("-f", "-o", "x.tide", "--how", "agent", "--", prog, library, "mlpmpq")
    expect(done.status == 0 and "complete: every event" in done.stderr, done.stderr)
    check_counted(ground, 2)


# In a sandbox nobody waits for an answer; here nobody could give one any more.
LEAVES = """
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
  struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, all};
  void *library = dlopen("libm.so.6", RTLD_NOW);
  free(malloc(10));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program)) return 97;
  dlclose(library);
  _exit(library ? 0 : 1);
}
"""


@test
def libraries_that_only_go_are_nothing_to_look_at(ground):
    prog = ground.build("leaves", LEAVES)
    for _ in range(3):
        done = ground.record("-f", "-o", "x.tide", "--how", "agent", "--", prog)
        if done.status == 97:
            raise record.Excused("no seccomp filters here")
        expect(done.status == 0, f"{done.status}: {done.stderr}")
        rows = ground.report("x.tide")["capture"]["run"]["unrecorded"]
        expect(not rows, f"{rows}")


@test
def later_allocators_that_cannot_be_hooked_are_said(ground):
    """A function too short for a jump: the library is named, and nothing is called complete."""
    short = LIBRARY.replace("n_freed++;\n  if (p) *(volatile char *)p = (char)n_freed;",
                            "__asm__ volatile(\"\" :: \"r\"(p));")
    prog = ground.build("loads", LOADS)
    library = ground.build("libshort.so", short, "-shared", "-fPIC", "-nostdlib",
                           "-falign-functions=1")
    target = Target(ground, prog, library)
    child, _ = attach(ground, target.pid)
    target.tell("l")
    target.tell("p")
    err = let_go(child)
    expect("complete: every event" not in err and "libshort.so" in err, err)
    rows = ground.report("x.tide")["capture"]["run"]["unrecorded"]
    expect([row["reason"] for row in rows] == ["loaded-later"], f"{rows}")
    expect(re.search(r"libshort.so \(mi_free: ", rows[0]["detail"]), f"{rows}")
    expect(target.end() == 0, "it ended otherwise")


@test
def what_some_processes_load_is_no_matter_of_others(ground):
    """Two of a program load what cannot be hooked, a third does not: it is as whole as it was."""
    short = LIBRARY.replace("n_freed++;\n  if (p) *(volatile char *)p = (char)n_freed;",
                            "__asm__ volatile(\"\" :: \"r\"(p));")
    prog = ground.build("loads", LOADS)
    library = ground.build("libshort.so", short, "-shared", "-fPIC", "-nostdlib",
                           "-falign-functions=1")
    script = "; ".join(f"{prog} {library} {words}" for words in ("lpq", "mmq", "lpq"))
    done = ground.record("-f", "-o", "x.tide", "--how", "agent", "--", "sh", "-c",
                         f"{script}; true")
    expect(done.status == 0, done.stderr)
    (row,) = ground.report("x.tide")["capture"]["run"]["unrecorded"]
    expect(row["processes"] == 2, f"{row}")
    for i, is_whole in (1, False), (2, True), (3, False):
        lacks = ground.report("x.tide", "-p", f"#{i}")["image"]["lacks"]
        expect(lacks == [] if is_whole else lacks == ["loaded_later"], f"{i}: {lacks}")
        said = " ".join(ground.run(ground.tidemark, "report", "-p", f"#{i}",
                                   "x.tide").stdout.split())
        expect(("here every event (20)" in said) == is_whole, said)
        expect(("could not be hooked" in said) != is_whole, said)
        expect(("the program loaded libshort.so" in said) != is_whole, said)


def odd_loader(ground):
    """The machine's, with a function that begins with a call where it tells of libraries. Its entry
    of the table of symbols says how long that is."""
    place = "/lib64/ld-linux-x86-64.so.2"
    said = subprocess.run(["readelf", "-WS", "--dyn-syms", place], capture_output=True, text=True)
    at = int(re.search(r"([0-9a-f]+) +1 FUNC .* _dl_debug_state", said.stdout)[1], 16)
    table = int(re.search(r"\.dynsym +DYNSYM +[0-9a-f]+ +([0-9a-f]+)", said.stdout)[1], 16)
    number = int(re.search(r"(\d+): .* _dl_debug_state", said.stdout)[1])
    text = re.search(r"\.text +PROGBITS +([0-9a-f]+) +([0-9a-f]+)", said.stdout)
    with open(place, "rb") as file:
        code = bytearray(file.read())
    offset = at - int(text[1], 16) + int(text[2], 16)
    code[offset:offset + 16] = bytes.fromhex("e800000000 4883c408 c3" + "90" * 6)
    struct.pack_into("<Q", code, table + 24 * number + 16, 10)
    path = ground.scratch / "ld-linux-odd.so.2"
    path.write_bytes(code)
    path.chmod(0o755)
    return path


@test
def later_without_a_sign(ground):
    """A loader whose sign cannot be hooked: what it brings later is not seen, which is said."""
    if platform.machine() != "x86_64":
        raise record.Skip("code of x86_64")
    library = ground.build("libown.so", LIBRARY, "-shared", "-fPIC")
    loader = odd_loader(ground)
    prog = ground.build("prog", LOADS, f"-Wl,--dynamic-linker={loader}")
    done = ground.record("--how", "agent", "-f", "-o", "x.tide", "--", prog, library, "lpq")
    said = " ".join(done.stderr.split())
    expect(done.status == 0 and "complete: every event" not in said, said)
    expect("_dl_debug_state (the sign that libraries come later): it begins with a call" in said,
           said)
    expect(not ground.report("x.tide")["capture"]["complete"], said)
    done = ground.run(ground.tidemark, "doctor", prog)
    expect(done.status == 0, done.stdout) # preloads see what comes later
