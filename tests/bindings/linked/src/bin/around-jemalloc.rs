// SPDX-License-Identifier: Apache-2.0
use tidemark::Alloc;

#[global_allocator]
static ALLOCATOR: Alloc<tikv_jemallocator::Jemalloc> = Alloc::new(tikv_jemallocator::Jemalloc);

fn main() {
    linked::work();
}
