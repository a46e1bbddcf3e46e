# SPDX-License-Identifier: Apache-2.0
"""Rust programs with a #[global_allocator] of their own: its blocks are seen where the compiler has
left calls of it, and where it has not nobody is told that all was seen."""
import shutil
import subprocess

import record
from command_attach import Target, attach, let_go
from ground import expect, test

# Of the arena a block is never used again: what is freed stays mapped.
ARENA = """
#[allow(unused_imports)]
use std::alloc::{GlobalAlloc, Layout, System, alloc, alloc_zeroed, dealloc, realloc};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
extern "C" {
    fn mmap(at: *mut u8, n: usize, may: i32, how: i32, fd: i32, from: i64) -> *mut u8;
    fn read(fd: i32, to: *mut u8, n: usize) -> isize;
    fn write(fd: i32, from: *const u8, n: usize) -> isize;
}
const ROOM: usize = 64 << 20;
static USED: AtomicUsize = AtomicUsize::new(0);
static BASE: AtomicUsize = AtomicUsize::new(0);
#[allow(dead_code)]
unsafe fn carve(l: Layout) -> *mut u8 {
    if BASE.load(SeqCst) == 0 {
        let at = mmap(std::ptr::null_mut(), ROOM, 3, 0x22, -1, 0);
        BASE.store(at as usize, SeqCst);
    }
    let at = USED.fetch_add((l.size() + 2 * l.align()) & !(l.align() - 1), SeqCst);
    ((BASE.load(SeqCst) + at + l.align() - 1) & !(l.align() - 1)) as *mut u8
}
const POOL: usize = 8 << 20;
static mut BYTES: [u8; POOL] = [0; POOL];
#[allow(dead_code)]
unsafe fn pooled(l: Layout) -> *mut u8 {
    let at = USED.fetch_add((l.size() + 2 * l.align()) & !(l.align() - 1), SeqCst);
    let base = std::ptr::addr_of_mut!(BYTES) as usize;
    ((base + at + l.align() - 1) & !(l.align() - 1)) as *mut u8
}
#[allow(dead_code)]
fn is_pooled(p: *mut u8) -> bool {
    (p as usize).wrapping_sub(std::ptr::addr_of_mut!(BYTES) as usize) < POOL
}
#[allow(dead_code)]
fn is_carved(p: *mut u8) -> bool { (p as usize).wrapping_sub(BASE.load(SeqCst)) < ROOM }
#[allow(dead_code)]
unsafe fn crumb() -> *mut u8 { mmap(std::ptr::null_mut(), 4096, 3, 0x22, -1, 0) }
struct Own;
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 { ALLOC }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) { FREE }
}
#[global_allocator]
static OWN: Own = Own;

fn of(n: usize) -> Layout { Layout::from_size_align(n, 8).unwrap() }
#[inline(never)] fn small() -> *mut u8 { std::hint::black_box(unsafe { alloc(of(100)) }) }
#[inline(never)] fn large() -> *mut u8 { std::hint::black_box(unsafe { alloc_zeroed(of(1000)) }) }
#[inline(never)] fn grow(p: *mut u8) -> *mut u8 {
    std::hint::black_box(unsafe { realloc(p, of(10), 5000) })
}
#[inline(never)] fn first() -> *mut u8 { std::hint::black_box(unsafe { alloc(of(10)) }) }
#[cfg(aligned)]
#[repr(align(64))]
struct Wide(#[allow(dead_code)] [u8; 640]);
fn work() {
    #[cfg(aligned)]
    std::hint::black_box(Box::new(Wide([1; 640])));
    for _ in 0..1000 { unsafe { dealloc(small(), of(100)) } }
    for _ in 0..300 { large(); }
    for _ in 0..50 { grow(first()); }
}
fn main() {
    let mut word = 0u8;
    if std::env::args().len() < 2 { work(); std::process::exit(6); }
    unsafe {
        write(1, b"ready\\n".as_ptr(), 6);
        while read(0, &mut word, 1) == 1 && word != b'q' {
            work();
            write(1, b"ok\\n".as_ptr(), 3);
        }
    }
}
"""
KINDS = {
    "arena": ("carve(l)", "let _ = (p, l);"),
    "wrapper": ("USED.fetch_add(l.size(), SeqCst); System.alloc(l)", "System.dealloc(p, l)"),
    "mixed": ("if l.size() < 500 { carve(l) } else { System.alloc(l) }",
              "if !is_carved(p) { System.dealloc(p, l) }"),
    "pool": ("if l.size() < 500 { pooled(l) } else { System.alloc(l) }",
             "if !is_pooled(p) { System.dealloc(p, l) }"),
    "crumbs": ("if l.size() == 100 { crumb() } else { System.alloc(l) }",
               "if l.size() != 100 { System.dealloc(p, l) }"),
}
SITES = {"small": (1000, 0), "large": (300, 300000), "grow": (50, 250000), "first": (50, 0)}
DEBUG, RELEASE = ("-g",), ("-O", "-C", "debuginfo=1")
LTO = ("-O", "-C", "lto=fat", "-C", "codegen-units=1", "-C", "panic=abort")
THIN = ("-O", "-C", "lto=thin")
STATIC = ("-O", "-C", "target-feature=+crt-static", "-C", "strip=symbols")
MUSL = ("--target", "x86_64-unknown-linux-musl")
NOT_TOLD = "whose file does not tell whether it has an allocator of its own"
NOT_SEEN = "whose functions the compiler may have inlined"


def rust(ground, kind, *flags):
    if not shutil.which("rustc"):
        raise record.Skip("no rustc here")
    source, prog = ground.scratch / "prog.rs", ground.scratch / "prog"
    alloc, free = KINDS[kind]
    source.write_text(ARENA.replace("ALLOC", alloc, 1).replace("FREE", free, 1))
    done = subprocess.run(["rustc", "--edition=2021", *flags, "-o", prog, source],
                          capture_output=True, text=True)
    if done.returncode and "target may not be installed" in done.stderr:
        raise record.Excused("rustc has no musl target here, and setup.sh could get none")
    expect(not done.returncode, done.stderr)
    return prog


def sums(ground, path):
    report = ground.report(path, "--group", "function", "--sort", "count")
    return {group["function"].split("::")[-1]: (group["allocations"], group["live_bytes"])
            for group in report["groups"] if group["function"].split("::")[-1] in SITES}


def allocators(ground, path):
    return [row["name"] for row in ground.report(path)["image"]["allocators"]]


def recorded(ground, prog, *options):
    done = ground.record("-f", "-o", "x.tide", *options, "--", prog)
    expect(done.status == 6, f"status {done.status}: {done.stderr}")
    return " ".join(done.stderr.split())


def is_recorded_as_child(ground, prog):
    """Of a program that is preloaded."""
    done = ground.record("-f", "-o", "x.tide", "--", "sh", "-c", f"{prog}; exit 6")
    expect(done.status == 6, done.stderr)
    images = [image for image in ground.report("x.tide")["images"] if image["exe"] == str(prog)]
    expect(len(images) == 1, f"{images}")
    report = ground.report("x.tide", "--process", str(images[0]["index"]))
    expect(report["totals"]["allocations"] >= 1400, f"{report['totals']}")


@test
def rust_arena(ground):
    """One that never calls malloc: every block, by run and by attach."""
    prog = rust(ground, "arena", *DEBUG)
    said = recorded(ground, prog)
    expect(sums(ground, "x.tide") == SITES, f"{sums(ground, 'x.tide')}")
    expect(" complete: every event" in said, said)
    expect("a Rust allocator of its own" in allocators(ground, "x.tide"), said)
    pages = ground.report("x.tide")["pages"]
    expect(pages["peak_bytes"] >= 64 << 20, f"{pages}")
    target = Target(ground, prog, "waits")
    for _ in range(2):
        child, line = attach(ground, target.pid)
        expect("a Rust allocator of its own" in line, line)
        target.tell("p")
        said = " ".join(let_go(child).split())
        expect(sums(ground, "x.tide") == SITES, f"{sums(ground, 'x.tide')}")
        expect(NOT_SEEN not in said, said)
        target.tell("p")
    expect(target.end() == 0, "it did not end well")
    is_recorded_as_child(ground, prog)


@test
def rust_wrapper(ground):
    """What it hands on from the system's allocator counts once, as that one's, inlined or not."""
    for flags in (DEBUG, RELEASE):
        said = recorded(ground, rust(ground, "wrapper", *flags))
        expect(sums(ground, "x.tide") == SITES, f"{flags}: {sums(ground, 'x.tide')}")
        expect(" complete: every event" in said, f"{flags}: {said}")
        expect(allocators(ground, "x.tide") == ["libc's malloc"], f"{flags}: {said}")


@test
def rust_mixed(ground):
    """Some blocks of its own, some of the system's: each once, as whose it is."""
    said = recorded(ground, rust(ground, "mixed", *DEBUG))
    expect(sums(ground, "x.tide") == SITES, f"{sums(ground, 'x.tide')}")
    expect(" complete: every event" in said, said)
    names = allocators(ground, "x.tide")
    expect(sorted(names) == ["a Rust allocator of its own", "libc's malloc"], f"{names}")
    for flags in (RELEASE, LTO, THIN):
        said = recorded(ground, rust(ground, "mixed", *flags))
        expect(NOT_SEEN in said and "incomplete" in said, f"{flags}: {said}")


def check_untold(ground, prog, memory, what):
    said = recorded(ground, prog)
    expect(NOT_TOLD in said and memory in said and " complete: every event" not in said,
           f"{what}: {said}")
    run = ground.report("x.tide")["capture"]["run"]
    expect([row["reason"] for row in run["unrecorded"]] == ["untold"], f"{what}: {run}")


def hide_compiler(prog):
    """As in Debian's packages: no comment of the compiler's, and its library built elsewhere."""
    subprocess.run(["objcopy", "-R", ".comment", prog], check=True)
    prog.write_bytes(prog.read_bytes().replace(b"/rustc/", b"/elses/"))


@test
def rust_untold(ground):
    """Without symbols nothing tells whose allocator it is: never complete where it has memory that
    one of its own may be in, and complete where it has none."""
    for target in ((), MUSL):
        static = (*STATIC, *target)
        for kind, memory in (("mixed", "it mapped 64.0 MiB of pages by itself"),
                             ("pool", "it has 8.0 MiB of static memory")):
            check_untold(ground, rust(ground, kind, *static), memory, (kind, target))
        prog = rust(ground, "crumbs", *static)  # of a page each
        check_untold(ground, prog, "it mapped 3.9 MiB of pages by itself", (target, "a page"))
        hide_compiler(prog)
        check_untold(ground, prog, "it mapped 3.9 MiB of pages by itself", (target, "packaged"))
        said = recorded(ground, rust(ground, "wrapper", *static))
        expect(" complete: every event" in said, said)
        expect(sum(row["allocations"] for row in ground.report("x.tide")["image"]["allocators"])
               >= 1400, said)
    prog = rust(ground, "mixed", *LTO, "-C", "strip=symbols", "--cfg", "aligned")
    check_untold(ground, prog, "it mapped 64.0 MiB of pages by itself", "LTO")
    done = ground.run(ground.tidemark, "doctor", prog)
    expect("whose file does not tell" in " ".join(done.stdout.split()), done.stdout)
    target = Target(ground, prog, "waits")
    target.tell("p")  # maps its arena
    child, _ = attach(ground, target.pid)
    target.tell("p")
    said = " ".join(let_go(child).split())
    expect(NOT_TOLD in said and "before it was attached to" in said, said)
    expect(target.end() == 0, "it did not end well")


@test
def rust_threads_untold(ground):
    """In a static program the stacks of threads are mapped by the function that arenas are."""
    if not shutil.which("rustc"):
        raise record.Skip("no rustc here")
    source, prog = ground.scratch / "prog.rs", ground.scratch / "prog"
    source.write_text("""
fn main() {
    let meet = std::sync::Arc::new(std::sync::Barrier::new(3)); // all of them live together
    let one = |i: usize| {
        let meet = meet.clone();
        std::thread::spawn(move || {
            let block = vec![1u8; 1000 + i];
            meet.wait();
            block.len()
        })
    };
    let all: Vec<_> = (0..3).map(one).collect();
    let sum: usize = all.into_iter().map(|one| one.join().unwrap()).sum();
    std::process::exit(if sum == 3003 { 6 } else { 1 });
}
""")
    done = ground.run("rustc", *STATIC, "-o", prog, source)
    expect(done.status == 0, done.stderr)
    said = recorded(ground, prog)
    expect(" complete: every event" in said, said)


@test
def rust_inlined(ground):
    """Optimized, its functions are parts of others. Nobody says complete, and its pages show."""
    for flags in (RELEASE, LTO, None):
        prog = rust(ground, "arena", *flags) if flags else prog
        if not flags:
            subprocess.run(["strip", prog], check=True)
        said = recorded(ground, prog)
        expect(NOT_SEEN in said and "mapped 64.0 MiB of pages" in said, f"{flags}: {said}")
        expect(" complete: every event" not in said and "without optimization" in said, said)
        report = ground.report("x.tide")
        expect(not report["capture"]["complete"], f"{flags}: {report['capture']}")
        said = recorded(ground, prog, "--how", "preload")
        expect("incomplete" in said and "which the preloaded recorder cannot see into" in said,
               f"{flags}: {said}")
    target = Target(ground, prog, "waits")
    child, _ = attach(ground, target.pid)
    target.tell("p")
    said = " ".join(let_go(child).split())
    expect(NOT_SEEN in said and "complete: every event" not in said, said)
    expect(target.end() == 0, "it did not end well")
