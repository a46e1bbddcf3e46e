// SPDX-License-Identifier: Apache-2.0
//
// Allocates in closures, whose names have a '#' in them, and ends at its peak.
fn main() {
    let hold = |n: usize| vec![1u8; n];
    let more = |n: usize| {
        let twice = |k: usize| hold(k * 2);
        twice(n)
    };
    for i in 0..64 {
        std::mem::forget(std::hint::black_box(more(10_000 + i)));
    }
    std::process::exit(0);
}
