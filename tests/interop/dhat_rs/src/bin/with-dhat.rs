// SPDX-License-Identifier: Apache-2.0
//
//! `with-dhat [ad-hoc FILE]`: the numbers of its heap, or of its events.
use dhat_shape::{events, work, Table};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut table = Table::default();
    if let [_, _, file] = &words[..] {
        let profiler = dhat::Profiler::builder().ad_hoc().file_name(file).build();
        events(dhat::ad_hoc_event, |name| {
            let s = dhat::AdHocStats::get();
            table.add(name, [s.total_events.into(), s.total_units.into(), 0, 0, 0, 0]);
        });
        drop(profiler);
        table.print();
        return;
    }
    let profiler = dhat::Profiler::builder().testing().build();
    work(|name| {
        let s = dhat::HeapStats::get();
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
    table.print();
}
