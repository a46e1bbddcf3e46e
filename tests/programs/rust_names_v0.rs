// SPDX-License-Identifier: Apache-2.0
//
// Generic functions and methods, mangled the v0 way, shown as they are written.
//
// build: -C symbol-mangling-version=v0
// truth: site hold_generic: allocations=20, live_blocks=20
// truth: site Shelf<T>>::fill|Shelf<T>::fill|Shelf<u64>>::fill|Shelf<u64>::fill: allocations=10
// truth: names: no-mangled
use std::hint::black_box;

struct Shelf<T> {
    room: Vec<T>,
}

impl<T: Clone> Shelf<T> {
    #[inline(never)]
    fn fill(&mut self, what: T) {
        self.room = vec![what; 10];
    }
}

#[inline(never)]
fn hold_generic<T: Default + Clone>() {
    std::mem::forget(black_box(vec![T::default(); 5]));
}

fn main() {
    for _ in 0..10 {
        hold_generic::<u32>();
        hold_generic::<String>();
        let mut shelf = Shelf { room: Vec::new() };
        shelf.fill(black_box(7u64));
        std::mem::forget(black_box(shelf));
    }
}
