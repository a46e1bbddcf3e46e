// SPDX-License-Identifier: Apache-2.0
//
//! A snapshot is exported with at most 10 MiB of heap: `cargo tidemark test`.
use tidemark::{HeapStats, Profiler};

fn within_ten_mib(export: fn(&mut std::io::Sink) -> std::io::Result<()>) {
    let _profiler = Profiler::builder().testing().thread().build();
    export(&mut std::io::sink()).unwrap();
    let stats = HeapStats::get();
    tidemark::assert!(stats.max_bytes <= 10 << 20, "{} bytes at once", stats.max_bytes);
}

#[test]
fn export_in_pieces() {
    within_ten_mib(node::export_in_pieces);
}

/// As it was before: `cargo tidemark test -- --ignored`.
#[test]
#[ignore = "takes 11 MiB"]
fn export_at_once() {
    within_ten_mib(node::export_at_once);
}
