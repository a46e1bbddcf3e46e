// SPDX-License-Identifier: Apache-2.0
//
//! A program with a budget of its own: `budget KIB` reads so many KiB, and may hold 64 of them.
use std::hint::black_box;
use tidemark::{HeapStats, Profiler};

fn read(kib: usize) -> Vec<Vec<u8>> {
    (0..kib).map(|_| black_box(vec![1; 1024])).collect()
}

fn main() {
    let kib = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let _profiler = Profiler::builder().testing().file_name("budget.tide").build();
    let rows = read(kib.unwrap_or(10));
    let stats = HeapStats::get();
    tidemark::assert!(stats.max_bytes <= 64 << 10, "{} bytes at once", stats.max_bytes);
    println!("{} KiB held", rows.len());
}
