// SPDX-License-Identifier: Apache-2.0
//
//! Writes a profile of its own heap when it ends: `profile FILE`, a capture or `.pb` for pprof.
use std::hint::black_box;

fn main() {
    let file = std::env::args().nth(1).unwrap_or("tidemark-heap.tide".into());
    let _profiler = tidemark::Profiler::builder().file_name(file).build();
    let held: Vec<_> = (0..100).map(|_| black_box(Box::new([0u8; 500]))).collect();
    drop(black_box(vec![0u8; 10_000]));
    std::mem::forget(held);
}
