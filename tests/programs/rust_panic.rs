// SPDX-License-Identifier: Apache-2.0
//
// A panic that is caught: the unwinding frees what the frames held, and the program goes on.
//
// truth: site guarded: allocations>=200, live_blocks=0
// truth: site afterwards: allocations=200, live_blocks=200
use std::hint::black_box;
use std::panic;

#[inline(never)]
fn guarded(number: i32) -> i32 {
    let block = black_box(Box::new([number; 30]));
    if number >= 0 {
        panic::resume_unwind(Box::new(number));
    }
    block[0]
}

#[inline(never)]
fn afterwards() {
    std::mem::forget(black_box(Box::new(7u64)));
}

fn main() {
    for number in 0..200 {
        assert!(panic::catch_unwind(|| guarded(number)).is_err());
        afterwards();
    }
}
