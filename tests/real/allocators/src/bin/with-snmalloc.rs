// SPDX-License-Identifier: Apache-2.0
#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

fn main() {
    allocators::serve();
}
