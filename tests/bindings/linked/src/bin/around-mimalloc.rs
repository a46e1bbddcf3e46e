// SPDX-License-Identifier: Apache-2.0
use tidemark::Alloc;

#[global_allocator]
static ALLOCATOR: Alloc<mimalloc::MiMalloc> = Alloc::new(mimalloc::MiMalloc);

fn main() {
    linked::work();
}
