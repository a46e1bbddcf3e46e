# SPDX-License-Identifier: Apache-2.0
"""A process that runs already: libraries that come and go, and pages that it maps itself."""
import re
import shutil
import struct

from command_attach import Target, attach, let_go
from ground import expect, test

# A library whose program headers can be moved, as tools that rewrite programs do.
MOVABLE = """
#include <stdlib.h>
#include <stdint.h>
__attribute__((section(".moved"), aligned(64), used)) static const struct {
  char filler[1 << 17], place[4096];
} moved = {"filler", "PLACE"};
__attribute__((noipa)) void *library_leaf(void) { void *p = malloc(77); __asm__(""); return p; }
"""
CALLS_LIBRARY = """
#include <unistd.h>
void *library_leaf(void);
__attribute__((noipa)) static void *middle(void)
{
  void *p = library_leaf();
  __asm__("");
  return p;
}
int main(void)
{
  char c;
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    for (int i = 0; i < 10; i++) middle();
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""


def move_headers(path):
    """Program headers from the first page to PLACE, which the file says."""
    file = bytearray(path.read_bytes())
    e_phoff, = struct.unpack_from("<Q", file, 32)
    size, n = struct.unpack_from("<HH", file, 54)
    place = file.index(b"PLACE\0")
    expect(place > 1 << 17 and size * n <= 4096, "no place for them")
    file[place:place + size * n] = file[e_phoff:e_phoff + size * n]
    file[e_phoff:e_phoff + size * n] = bytes(size * n)
    struct.pack_into("<Q", file, 32, place)
    path.write_bytes(file)


@test
def attach_finds_headers_elsewhere(ground):
    """Programs that were rewritten (BOLT) have their program headers far behind the first page. And
    a file that is only read, mapped just below a library, is no library."""
    library = ground.build("libmovable.so", MOVABLE, "-shared", "-fPIC")
    prog = ground.build("calls", CALLS_LIBRARY, "-x", "none", str(library),
                        f"-Wl,-rpath,{ground.scratch}")
    move_headers(library)
    target = Target(ground, prog)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    err = let_go(child)
    expect("complete: every event" in err and "early" not in err and "unknown code" not in err, err)
    shown = ground.run(ground.tidemark, "report", "--stacks", "x.tide").stdout
    names = [line.split()[0] for line in shown.splitlines() if "<stdin>:" in line][1:]
    expect(names == ["library_leaf", "middle", "main"], shown)
    expect(target.end() == 0, "it ended otherwise")


# One library after another at the same place, of different sizes.
REPLACES = """
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  char c;
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    for (int i = 1; i < argc; i++) {
      void *library = dlopen(argv[i], RTLD_NOW);
      void *(*leaf)(void) = library ? dlsym(library, "leaf") : NULL;
      if (!leaf) return 1;
      for (int k = 0; k < 10; k++) free(leaf());
      dlclose(library);
    }
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""


@test
def attach_as_libraries_come_and_go(ground):
    """Unwind information of a library that is gone is not looked at, whatever is there now."""
    libraries = []
    for name, data in ("large", 1 << 20), ("small", 1 << 19):
        source = f"""
#include <stdlib.h>
char behind[{data}] = {{1}};
__attribute__((noipa)) void *inner(void)
{{
  void *p = malloc(50 + behind[0]);
  __asm__("");
  return p;
}}
void *leaf(void) {{ void *p = inner(); __asm__(""); return p; }}
"""
        libraries.append(ground.build(f"lib{name}.so", source, "-shared", "-fPIC"))
    prog = ground.build("replaces", REPLACES)
    target = Target(ground, prog, *libraries, *libraries)
    child, _ = attach(ground, target.pid)
    for _ in range(5):
        target.tell("p")
    err = let_go(child)
    expect("early" not in err and "unknown code" not in err, err)
    shown = ground.run(ground.tidemark, "report", "--sort", "count", "x.tide").stdout
    expect(re.search(r"\b200 .* inner +source/<stdin>:6$", shown, re.M), shown)
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_through_many_unloads(ground):
    """More often than the agent has tables of objects: the last stacks are whole, too."""
    source = """
#include <stdlib.h>
__attribute__((noipa)) void *inner(void) { void *p = malloc(51); __asm__(""); return p; }
void *leaf(void) { void *p = inner(); __asm__(""); return p; }
"""
    library = ground.build("libmany.so", source, "-shared", "-fPIC")
    target = Target(ground, ground.build("replaces", REPLACES), *[library] * 1100)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    err = let_go(child)
    expect("complete: every event" in err and "early" not in err, err)
    shown = ground.run(ground.tidemark, "report", "--sort", "count", "x.tide").stdout
    expect(re.search(r"\b11,000 .* inner ", shown), shown)
    expect(target.end() == 0, "it ended otherwise")


# Pages of its own, beside blocks: 10 maps of 64 KiB, of which 4 go and one grows to 128 KiB; of a
# file; and 1 MiB behind its break.
PAGES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noipa)) static void *arena(void)
{
  void *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  __asm__("");
  return p;
}
__attribute__((noipa)) static void grow(void *p)
{
  mremap(p, 1 << 16, 1 << 17, MREMAP_MAYMOVE);
  __asm__("");
}
__attribute__((noipa)) static void raise_break(void) { sbrk(1 << 20); __asm__(""); }
__attribute__((noipa)) static void *file(int fd)
{
  void *p = mmap(NULL, 1 << 13, PROT_READ, MAP_PRIVATE, fd, 0);
  __asm__("");
  return p;
}
int main(int argc, char **argv)
{
  char c;
  void *p[10];
  int fd = open(argv[argc - 1], O_RDONLY);
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    void *big = malloc(1 << 24); // by a map of its own, which is the allocator's
    for (int i = 0; i < 10; i++) p[i] = arena();
    for (int i = 0; i < 4; i++) munmap(p[i], 1 << 16);
    grow(p[4]);
    file(fd);
    if (argc > 2) raise_break();
    free(big);
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""


def page_sites(ground):
    """Bytes that are mapped at the end, by the function that asked for them."""
    found = ground.report("x.tide")
    stacks, sites = found["stacks"], {}
    for site in found["sites"]:
        site = {**found["site_defaults"], **site}
        if site["kind"] == "pages":
            at, names = site["stack"], []
            while at:
                names.append(found["functions"][found["frames"][stacks["frame"][at]]["function"]])
                at = stacks["parent"][at]
            name = next(name for name in names if name in ("arena", "grow", "raise_break", "file"))
            sites[name] = sites.get(name, 0) + site["live_bytes"]
    return sites


@test
def attach_sees_pages(ground):
    """What the program maps itself, by stack, apart from what its allocator maps."""
    (ground.scratch / "pages.c").write_text(PAGES)
    for compiler, *flags in ("cc",), ("cc", "-static"), ("musl-gcc", "-static"):
        if not shutil.which(compiler):
            continue
        prog = ground.scratch / "pages"
        done = ground.run(compiler, "-O1", "-g", "-fno-builtin", *flags, "pages.c", "-o", prog)
        expect(done.status == 0, done.stderr)
        words = [] if compiler == "musl-gcc" else ["break"]  # musl's sbrk refuses
        target = Target(ground, prog, *words, prog)
        child, _ = attach(ground, target.pid)
        target.tell("p")
        err = let_go(child)
        expect("complete: every event" in err, err)
        wanted = {"arena": 5 << 16, "grow": 1 << 17, "file": 1 << 13}
        if words:
            wanted["raise_break"] = 1 << 20
        expect(page_sites(ground) == wanted, f"{compiler} {flags}: {page_sites(ground)}")
        image = ground.report("x.tide")["images"][0]
        expect(image["allocations"] == 1, f"{image['allocations']} allocations")
        expect(target.end() == 0, "it ended otherwise")


# glibc keeps a thread's freed blocks, and frees them all when the thread ends.
ENDING = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *thread(void *arg)
{
  void *p[7];
  for (int i = 0; i < 7; i++) p[i] = malloc(100);
  for (int i = 0; i < 7; i++) free(p[i]);
  return arg;
}
int main(void)
{
  char c;
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    pthread_t t;
    if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL)) return 1;
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""


@test
def attach_counts_a_threads_end_once(ground):
    for flags in (), ("-static",):
        target = Target(ground, ground.build("ending", ENDING, "-pthread", *flags))
        child, _ = attach(ground, target.pid)
        for _ in range(3):
            target.tell("p")
        err = let_go(child)
        expect("of them freed" not in err, f"{flags}: {err}")
        expect(target.end() == 0, "it ended otherwise")
