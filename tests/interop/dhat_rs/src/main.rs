// SPDX-License-Identifier: Apache-2.0
//
// Allocates the same in every run: `dhat-shape heap FILE` and `dhat-shape ad-hoc FILE` under
// dhat-rs, which writes FILE, and `dhat-shape plain` without it. The peak is in the middle,
// something is left at the end, and a vector grows by reallocation.
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[inline(never)]
fn keep(kept: &mut Vec<Box<[u8; 100]>>) {
    for i in 0..50 {
        kept.push(Box::new([i; 100]));
    }
}

#[inline(never)]
fn churn() {
    for i in 0..200u8 {
        black_box(Box::new([i; 24]));
    }
}

#[inline(never)]
fn grow() -> Vec<u64> {
    let mut numbers = Vec::new();
    for i in 0..1000 {
        numbers.push(black_box(i));
    }
    numbers
}

#[inline(never)]
fn leak() {
    std::mem::forget(black_box(vec![7u8; 4321]));
}

#[inline(never)]
fn event(weight: usize) {
    dhat::ad_hoc_event(weight);
    black_box(weight); // not a tail call
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let file = words.get(2).map(String::as_str).unwrap_or("dhat.json");
    let _profiler = match words.get(1).map(String::as_str) {
        Some("heap") => Some(dhat::Profiler::builder().file_name(file).build()),
        Some("ad-hoc") => Some(dhat::Profiler::builder().ad_hoc().file_name(file).build()),
        _ => None,
    };
    let mut kept = Vec::with_capacity(50);
    keep(&mut kept);
    drop(grow());
    churn();
    leak();
    drop(kept);
    for weight in [3, 4, 5] {
        event(weight);
    }
}
