// SPDX-License-Identifier: Apache-2.0
//
// Functions of modules, generics and impls, inlined into one another.
use std::ffi::{c_char, CStr};

extern "C" {
    fn mark(tag: *const c_char);
}

fn tell(tag: &'static CStr) -> *const c_char {
    tag.as_ptr()
}

mod inner {
    #[inline(always)]
    pub fn c(n: u32) -> u32 {
        unsafe { super::mark(super::tell(c"chain")) }; // at c
        std::hint::black_box(n)
    }

    #[inline(always)]
    pub fn b(n: u32) -> u32 {
        c(n + 1) + 1 // at b
    }
}

struct Tank<T> {
    level: T,
}

impl<T: Copy> Tank<T> {
    #[inline(never)]
    fn fill(&mut self, to: T) {
        self.level = to;
        unsafe { mark(tell(c"method")) }; // at fill
        std::hint::black_box(());
    }
}

#[inline(never)]
fn outer(n: u32) -> u32 {
    let sum = inner::b(n); // at outer
    std::hint::black_box(sum)
}

fn main() {
    outer(1);
    let mut tank = Tank { level: 0u64 };
    tank.fill(7);
    std::hint::black_box(tank.level);
}
