# SPDX-License-Identifier: Apache-2.0
"""Programs without symbols: allocators known by the code of installed archives, by debug files, or
not at all, when pages are recorded and nothing more is claimed."""
import ctypes
import os
import re
import shutil
import subprocess

import record
from command_how import PLAIN, check_truth, jemalloc, musl
from ground import expect, test

PAGE = 1 << 20

# A malloc that no archive has: 100 blocks from 10 mappings of a MiB, and what stdio takes.
OWN = """
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *at, *end;
__attribute__((noinline)) static void refill(void)
{
  at = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  end = at + (1 << 20);
}
__attribute__((noinline)) void *malloc(size_t n)
{
  n = (n + 31) & ~31ul;
  if (!at || end - at < (long)n) refill();
  at += n;
  return at - n;
}
static volatile unsigned n_freed; // so that there is room for a hook
__attribute__((noinline)) void free(void *p) { if (p) n_freed++; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { char *q = malloc(n); if (p) memcpy(q, p, n); return q; }
void *aligned_alloc(size_t a, size_t n) { (void)a; return malloc(n); }
void *memalign(size_t a, size_t n) { (void)a; return malloc(n); }
__attribute__((noinline)) static void *small(void) { return malloc(100000); }
int main(void)
{
  for (int i = 0; i < 100; i++) memset(small(), 1, 100000);
  write(1, "ran\\n", 4);
  return 6;
}
"""

# No libc at all. MAP is a function that makes the call with its own arguments, or is not there; TLS
# sets a thread pointer, without which no thread is told from another.
RAW = """
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c, long d,
                                                       long e, long f)
{
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                   "r"(r9) : "rcx", "r11", "memory");
  return r;
}
MAP void *map(void *a, unsigned long n, int p, int f, int fd, long o)
{
  return (void *)call(9, (long)a, (long)n, p, f, fd, o);
}
__attribute__((noinline)) static void arena(void) { *(char *)map(0, 1 << 20, 3, 0x22, -1, 0) = 1; }
__attribute__((used, noinline)) static void begin(void)
{
  TLS;
  for (int i = 0; i < 5; i++) arena();
  call(1, 1, (long)"ran\\n", 4, 0, 0, 0);
  call(231, 6, 0, 0, 0, 0, 0);
}
__asm__(".globl _start\\n_start: and $-16, %rsp\\ncall begin\\n");
"""


def strip(ground, prog):
    """Keeps what it was as debug/NAME, which has the same build id."""
    kept = ground.scratch / "debug" / prog.name
    kept.parent.mkdir(exist_ok=True)
    shutil.copy(prog, kept)
    subprocess.run(["strip", prog], check=True)
    return prog


def run_stripped(ground, prog, *options):
    done = ground.record("-f", "-o", "x.tide", *options, "--", strip(ground, prog))
    expect(done.status == 6 and done.stdout == "ran\n", f"{done.status}: {done.stderr}")
    return done.stderr


def run_known(ground, prog):
    err = run_stripped(ground, prog)
    expect("complete: every event" in err, err)
    ground.env["TIDEMARK_CACHE"] = str(ground.scratch / "cache")
    done = ground.run(ground.tidemark, "symbolize", "--no-cache", "--debug-dir",
                      ground.scratch / "debug", "x.tide")
    expect(done.status == 0, done.stderr)
    check_truth(ground, "x.tide")


def doctor(ground, prog, status, *options):
    done = ground.run(ground.tidemark, "doctor", *options, prog)
    words = " ".join(done.stdout.split())
    expect(done.status == status, f"{done.status}, not {status}: {words} {done.stderr}")
    return words


@test
def stripped_glibc(ground):
    run_known(ground, ground.build("prog", PLAIN, "-static"))
    expect("which is that of /usr/lib/" in doctor(ground, ground.scratch / "prog", 0), "its code")
    run_known(ground, ground.build("prog", PLAIN, "-static-pie"))


@test
def stripped_musl(ground):
    run_known(ground, musl(ground, "prog", PLAIN, "-static", "-Wl,--build-id"))


@test
def stripped_jemalloc(ground):
    prog = jemalloc(ground, "prog", PLAIN)
    words = doctor(ground, strip(ground, prog), 0)
    expect("jemalloc (prog)" in words and "libjemalloc_pic.a" in words, words)
    shutil.copy(ground.scratch / "debug" / "prog", prog)
    run_known(ground, prog)


@test
def stripped_other_machine(ground):
    """What linkers write into code is known of either kind of processor."""
    prog = ground.build("prog", PLAIN, "-static", compiler="aarch64-linux-gnu-gcc")
    subprocess.run(["aarch64-linux-gnu-strip", prog], check=True)
    libc = subprocess.run(["aarch64-linux-gnu-gcc", "-print-file-name=libc.a"],
                          capture_output=True, text=True).stdout.strip()
    words = doctor(ground, prog, 2, "--debug-dir", os.path.dirname(libc))
    expect("for another processor" in words and
           re.search(r"libc's malloc \(prog\): 0 of \d+ functions can be hooked, known by its code",
                     words), words)


RUST = """
#[inline(never)] fn small() -> Vec<u8> { Vec::with_capacity(1000) }
fn main() {
    let kept: Vec<Vec<u8>> = (0..300).map(|_| small()).collect();
    for _ in 0..500 { drop(std::hint::black_box(small())); }
    println!("ran");
    std::process::exit(if kept.len() == 300 { 6 } else { 1 });
}
"""


@test
def stripped_rust_musl(ground):
    if not shutil.which("rustc"):
        raise record.Skip("no rustc here")
    source = ground.scratch / "prog.rs"
    source.write_text(RUST)
    done = subprocess.run(["rustc", "-O", "-C", "strip=symbols", "--target",
                           "x86_64-unknown-linux-musl", "-o", ground.scratch / "prog", source],
                          capture_output=True, text=True)
    if done.returncode and "target may not be installed" in done.stderr:
        raise record.Excused("rustc has no musl target here, and setup.sh could get none")
    expect(not done.returncode, done.stderr)
    done = ground.record("-f", "-o", "x.tide", "--", ground.scratch / "prog")
    expect(done.status == 6 and "complete: every event" in done.stderr, done.stderr)
    report = ground.report("x.tide", "--group", "stack", "--sort", "count")
    rows = [g for g in report["groups"] if g["bytes"] == g["allocations"] * 1000]
    expect(sum(g["allocations"] for g in rows) == 800 and
           sum(g["live_blocks"] for g in rows) == 300, str(rows)[:600])


def file_offset(prog, address):
    """Of an address in the code of a program."""
    headers = subprocess.run(["readelf", "-lW", prog], capture_output=True, text=True).stdout
    for words in map(str.split, headers.splitlines()):
        if words[:1] == ["LOAD"]:
            offset, at, n = int(words[1], 16), int(words[2], 16), int(words[4], 16)
            if at <= address < at + n:
                return address - at + offset
    raise record.Failure(f"nothing is at {address:x}")


def symbol(prog, name):
    listed = subprocess.run(["nm", prog], capture_output=True, text=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", listed, re.M)[1], 16)


@test
def stripped_code_must_be_the_same(ground):
    """One byte of malloc differs, or one call in it goes elsewhere."""
    whole = ground.build("whole", PLAIN, "-static")
    at = symbol(whole, "malloc")
    code = subprocess.run(["objdump", "-d", f"--start-address={at}", f"--stop-address={at + 600}",
                           whole], capture_output=True, text=True).stdout
    call = re.search(r"^ +([0-9a-f]+):\s+e8 [^\n]*call[^\n]*<_int_malloc>", code, re.M)
    expect(call, "malloc calls no _int_malloc")
    strip(ground, whole)
    expect("known by its code" in doctor(ground, whole, 0), "the whole")
    for name, address in (("byte", at + 1), ("call", int(call[1], 16) + 1)):
        spoilt = ground.scratch / name
        shutil.copy(whole, spoilt)
        with open(spoilt, "r+b") as f:
            f.seek(file_offset(spoilt, address))
            old = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([old[0] ^ 0x10]))
        words = doctor(ground, spoilt, 1)
        expect("none that is known" in words and "only the pages" in words, f"{name}: {words}")


@test
def stripped_code_must_be_there_once(ground):
    """The same code twice: the one that libc itself calls, or neither."""
    libc = subprocess.run(["gcc", "-print-file-name=libc.a"], capture_output=True,
                          text=True).stdout.strip()
    subprocess.run(["ar", "x", libc, "malloc.o"], cwd=ground.scratch, check=True)
    subprocess.run(["objcopy", "--keep-global-symbol=none", "malloc.o", "again.o"],
                   cwd=ground.scratch, check=True)
    prog = ground.build("prog", PLAIN, "-static", "-x", "none", str(ground.scratch / "again.o"))
    done = ground.run(ground.tidemark, "doctor", strip(ground, prog))
    if done.status == 0:
        shutil.copy(ground.scratch / "debug" / "prog", prog)
        run_known(ground, prog)
    else:
        expect(done.status == 1 and "none that is known" in " ".join(done.stdout.split()),
               done.stdout)


def check_pages_alone(ground, err, n_bytes):
    words = " ".join(err.split())
    for said in ("was recorded by its pages alone", "way out: use a build of it with symbols",
                 "incomplete: ", "blocks were not seen, only pages"):
        expect(said in words, f"no {said!r} in: {words}")
    expect("complete: every" not in words and "0 allocations" not in words, words)
    report = ground.report("x.tide", "--group", "pages")
    mapped = sum(group["bytes"] for group in report["groups"])
    expect(mapped == n_bytes, f"{mapped} bytes of pages")


@test
def stripped_pages_alone(ground):
    prog = ground.build("prog", OWN, "-static")
    err = run_stripped(ground, prog)
    check_pages_alone(ground, err, 10 * PAGE)
    said = subprocess.run(["readelf", "-n", prog], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", said)[1]
    expect(f".build-id/{build_id[:2]}/{build_id[2:]}.debug" in re.sub(r"\s", "", err), err)
    words = doctor(ground, prog, 1)
    expect("only the pages that it maps" in words and build_id[2:] in words, words)


@test
def stripped_page_calls(ground):
    """Who maps pages is known by the system call that it makes, without any libc."""
    flags = ("-static", "-nostdlib", "-fno-stack-protector", "-fcf-protection=none")
    source = RAW.replace("MAP", "__attribute__((noinline))")
    tls = "static long tls[8] = {0}; tls[0] = (long)tls; call(158, 0x1002, (long)tls, 0, 0, 0, 0)"
    prog = ground.build("prog", source.replace("TLS", tls), *flags)
    check_pages_alone(ground, run_stripped(ground, prog), 5 * PAGE)
    prog = ground.build("prog", source.replace("TLS", ""), *flags)
    expect("nothing was recorded" in run_stripped(ground, prog), "without a thread pointer")
    prog = ground.build("prog", RAW.replace("MAP", "static inline").replace("TLS", ""), *flags)
    err = run_stripped(ground, prog)
    expect("nor any function that maps pages" in err and "its debug file .build-id/" in err, err)
    expect("nothing will be seen" in doctor(ground, prog, 2), "what will be seen")


@test
def stripped_debug_file(ground):
    """By build id, in a directory that is named; one of another build is not believed."""
    prog = ground.build("prog", OWN, "-static")
    said = subprocess.run(["readelf", "-n", prog], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", said)[1]
    where = ground.scratch / "named" / ".build-id" / build_id[:2]
    where.mkdir(parents=True)
    debug = where / f"{build_id[2:]}.debug"
    named = ["--debug-dir", str(ground.scratch / "named")]
    other = ground.build("other", OWN.replace("100000", "100001"), "-static")
    subprocess.run(["objcopy", "--only-keep-debug", other, debug], check=True)
    strip(ground, prog)
    expect("none that is known" in doctor(ground, prog, 1, *named), "another build's")
    subprocess.run(["objcopy", "--only-keep-debug", ground.scratch / "debug" / "prog", debug],
                   check=True)
    expect("(prog)" in doctor(ground, prog, 0, *named), "its own")
    done = ground.record("-f", "-o", "x.tide", *named, "--", prog)
    expect(done.status == 6 and "complete: every event" in done.stderr, done.stderr)
    report = ground.report("x.tide", "--group", "function", *named)
    found = {g["function"]: (g["allocations"], g["live_bytes"]) for g in report["groups"]}
    expect(found.get("small") == (100, 100 * 100000), str(found))


def count_opens(path):
    """How often the file is opened from now on; a function that says so."""
    libc = ctypes.CDLL(None, use_errno=True)
    is_open, not_blocking, event_bytes = 0x20, 0o4000, 16
    watch = libc.inotify_init1(not_blocking)
    expect(libc.inotify_add_watch(watch, os.fsencode(path), is_open) >= 0, "no inotify")

    def counted():
        try:
            return len(os.read(watch, 1 << 16)) // event_bytes
        except BlockingIOError:
            return 0
        finally:
            os.close(watch)
    return counted


@test
def stripped_is_read_once(ground):
    """A program that is started again and again is compared with an archive once, in a run."""
    prog = ground.build("prog", PLAIN, "-static")
    libc = subprocess.run(["gcc", "-print-file-name=libc.a"], capture_output=True,
                          text=True).stdout.strip()
    named = ground.scratch / "named"
    named.mkdir()
    shutil.copy(libc, named)
    strip(ground, prog)
    counted = count_opens(named / "libc.a")
    done = ground.record("-f", "-o", "x.tide", "--debug-dir", named, "--", "sh", "-c",
                         f"for i in 1 2 3 4 5 6 7 8; do {prog}; done; exit 6")
    expect(done.status == 6 and "complete: every event" in done.stderr, done.stderr)
    opens = counted()
    expect(opens == 1, f"{opens} times")
    images = [image for image in ground.report("x.tide")["images"] if image["exe"] == str(prog)]
    expect(len(images) == 8 and len({i["allocations"] for i in images}) == 1, f"{images}")


@test
def stripped_attached(ground):
    prog = strip(ground, ground.build("prog", PLAIN.replace(
        "work();", "char c; write(1, \"ready\\n\", 6); read(0, &c, 1); work(); read(0, &c, 1);"),
        "-static"))
    child = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        expect(child.stdout.readline() == b"ready\n", "it does not start")
        recording = subprocess.Popen([ground.tidemark, "attach", "-f", "-o", "x.tide",
                                      str(child.pid)], cwd=ground.scratch, env=ground.env,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = recording.stderr.readline()
        child.stdin.write(b"gq")
        child.stdin.close()
        _, more = recording.communicate(timeout=30)
        expect("libc's malloc" in said + more, said + more)
    finally:
        child.wait(timeout=30)
    subprocess.run([ground.tidemark, "symbolize", "--no-cache", "--debug-dir",
                    ground.scratch / "debug", "x.tide"], cwd=ground.scratch, env=ground.env,
                   check=True, capture_output=True)
    check_truth(ground, "x.tide")
