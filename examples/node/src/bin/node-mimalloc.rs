// SPDX-License-Identifier: Apache-2.0
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::io::Result<()> {
    node::run()
}
