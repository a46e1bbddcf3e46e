// SPDX-License-Identifier: Apache-2.0
//
//! Every function of an allocator, in threads whose first event it is, and in a fork child; says
//! what was counted, which is the same whatever allocator lies within.
use std::hint::black_box;
use std::thread;
use tidemark::{Region, Stats};

extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

#[repr(align(256))]
struct Aligned([u8; 512]);

#[inline(never)]
pub fn keep() -> Vec<Box<[u8; 1000]>> {
    let mut kept = Vec::with_capacity(100);
    for _ in 0..100 {
        kept.push(black_box(Box::new([1; 1000])));
    }
    kept
}

#[inline(never)]
pub fn churn(n: usize) {
    for i in 0..n {
        let zeroed = black_box(vec![0u8; 100 + i % 3]);
        let mut grown: Vec<u8> = black_box(Vec::with_capacity(10));
        grown.reserve_exact(5000);
        grown.push(zeroed[0]);
        grown.shrink_to_fit();
        black_box(&black_box(Box::new(Aligned([0; 512]))).0);
    }
}

fn in_a_child() {
    // SAFETY: no other thread runs.
    match unsafe { fork() } {
        0 => {
            let block = black_box(Box::new([0u8; 77]));
            let first = Stats::get();
            let told = (first.allocations, first.bytes_allocated) == (1, 77);
            drop(block);
            let gone = Stats::get().deallocations == 1;
            unsafe { _exit(i32::from(!(told && gone))) }
        }
        child => {
            let mut status = -1;
            // SAFETY: it is our child, and has room to say how it ended.
            unsafe { waitpid(child, &mut status, 0) };
            println!("child {status}");
        }
    }
}

pub fn work() {
    let region = Region::thread();
    churn(10);
    println!("{:?}", region.change());
    let kept = keep();
    println!("{:?}", region.heap());
    drop(region);
    for n in 1..=4 {
        thread::spawn(move || churn(n)).join().unwrap();
    }
    let all = Region::new();
    let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| churn(100))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{}", all.change().reallocations);
    drop(all);
    in_a_child();
    println!("{:?}", Stats::get());
    std::mem::forget(kept);
}
