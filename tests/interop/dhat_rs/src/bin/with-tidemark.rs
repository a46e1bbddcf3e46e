// SPDX-License-Identifier: Apache-2.0
//
//! `with-tidemark dhat|dhat-thread|stats|stats-thread|ad-hoc FILE`: as which of the others, of
//! which threads.
use dhat_shape::{events, work, Table};
use tidemark::{AdHocStats, HeapStats, Profiler, Region};

fn main() {
    let way = std::env::args().nth(1).unwrap_or_default();
    let mut table = Table::default();
    if let Some(file) = std::env::args().nth(2) {
        let profiler = Profiler::builder().ad_hoc().file_name(file).build();
        events(tidemark::ad_hoc_event, |name| {
            let s = AdHocStats::get();
            table.add(name, [s.total_events.into(), s.total_units.into(), 0, 0, 0, 0]);
        });
        drop(profiler);
        table.print();
        return;
    }
    let builder = Profiler::builder().testing();
    if way.starts_with("dhat") {
        let profiler = match way.as_str() {
            "dhat" => builder.build(),
            _ => builder.thread().build(),
        };
        work(|name| {
            let s = HeapStats::get();
            table.add(
                name,
                [
                    s.total_blocks.into(),
                    s.total_bytes.into(),
                    s.curr_blocks as i128,
                    s.curr_bytes as i128,
                    s.max_blocks as i128,
                    s.max_bytes as i128,
                ],
            );
        });
        drop(profiler);
    } else {
        let region = if way == "stats" { Region::new() } else { Region::thread() };
        work(|name| {
            let s = region.change();
            table.add(
                name,
                [
                    s.allocations as i128,
                    s.deallocations as i128,
                    s.reallocations as i128,
                    s.bytes_allocated as i128,
                    s.bytes_deallocated as i128,
                    s.bytes_reallocated as i128,
                ],
            );
        });
    }
    table.print();
}
