// SPDX-License-Identifier: Apache-2.0
use dhat_shape::{work, Table};
use stats_alloc::{Region, StatsAlloc, INSTRUMENTED_SYSTEM};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let mut table = Table::default();
    let region = Region::new(ALLOCATOR);
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
    table.print();
}
