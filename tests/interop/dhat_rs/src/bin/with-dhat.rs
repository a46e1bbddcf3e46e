// SPDX-License-Identifier: Apache-2.0
use dhat_shape::{work, Table};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let mut table = Table::default();
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
