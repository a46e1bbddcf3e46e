// SPDX-License-Identifier: Apache-2.0
//
//! The standard library's allocator is libc's, which is recorded as it is.
fn main() {
    linked::work();
}
