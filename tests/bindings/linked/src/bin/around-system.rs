// SPDX-License-Identifier: Apache-2.0
use tidemark::Alloc;

#[global_allocator]
static ALLOCATOR: Alloc<std::alloc::System> = Alloc::new(std::alloc::System);

fn main() {
    linked::work();
}
