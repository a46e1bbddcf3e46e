// SPDX-License-Identifier: Apache-2.0
//
//! `suite-dhat N`: N tests, each under a profiler of dhat's.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let n: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    for seed in 1..=n {
        let _profiler = dhat::Profiler::builder().testing().build();
        assert_eq!(dhat_shape::index_words(seed), 2000);
        let stats = dhat::HeapStats::get();
        dhat::assert!(stats.total_blocks > 2000);
        dhat::assert_eq!(stats.curr_blocks, 0);
    }
}
