// SPDX-License-Identifier: Apache-2.0
//
//! As dhat-rs wants it: its allocator in place of the program's, and a profiler in main.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() -> std::io::Result<()> {
    let _profiler = dhat::Profiler::new_heap();
    node::run()
}
