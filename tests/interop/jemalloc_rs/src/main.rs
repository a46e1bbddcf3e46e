// SPDX-License-Identifier: Apache-2.0
//
// Writes what it holds to FILE, by jemalloc_pprof: `jemalloc-shape FILE`. jemalloc keeps a note of
// every allocation (lg_prof_sample:0), so the numbers are those below: 4,000 blocks of 1,024 bytes
// and 7 of 262,144 are held, both of them sizes of jemalloc's own; what churn() had is gone.
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[export_name = "_rjem_malloc_conf"]
pub static CONF: &[u8] = b"prof:true,prof_active:true,lg_prof_sample:0\0";

#[inline(never)]
fn small(kept: &mut Vec<Vec<u8>>) {
    for _ in 0..4000 {
        kept.push(black_box(Vec::with_capacity(1024)));
    }
}

#[inline(never)]
fn large(kept: &mut Vec<Vec<u8>>) {
    for _ in 0..7 {
        kept.push(black_box(Vec::with_capacity(262144)));
    }
}

#[inline(never)]
fn churn() {
    for _ in 0..3000 {
        drop(black_box(Vec::<u8>::with_capacity(2048)));
    }
}

fn main() {
    let file = std::env::args().nth(1).expect("a file to write");
    let mut kept = Vec::with_capacity(5000);
    small(&mut kept);
    churn();
    large(&mut kept);
    let control = jemalloc_pprof::PROF_CTL.as_ref().expect("a jemalloc that profiles");
    let profile = control.blocking_lock().dump_pprof().expect("a profile");
    std::fs::write(file, profile).expect("a file");
    black_box(&kept);
}
