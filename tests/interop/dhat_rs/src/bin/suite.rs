// SPDX-License-Identifier: Apache-2.0
//
//! `suite N [profiler]`: N tests, each under a profiler of ours if it is asked for.
use tidemark::{HeapStats, Profiler};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let n: usize = words.get(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    for seed in 1..=n {
        if words.len() < 3 {
            assert_eq!(dhat_shape::index_words(seed), 2000);
            continue;
        }
        assert!(tidemark::is_recorded());
        let _profiler = Profiler::builder().testing().thread().build();
        assert_eq!(dhat_shape::index_words(seed), 2000);
        let stats = HeapStats::get();
        tidemark::assert!(stats.total_blocks > 2000);
        tidemark::assert_eq!(stats.curr_blocks, 0);
    }
}
