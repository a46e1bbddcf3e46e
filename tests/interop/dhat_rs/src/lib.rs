// SPDX-License-Identifier: Apache-2.0
//
//! Work that allocates the same in every run, and a table of numbers that allocates nothing until
//! the work is done. What is counted was allocated by the work itself: the crates differ in what
//! they make of older blocks.
use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;

pub const MOST_ROWS: usize = 64;

/// Rows of numbers, filled without allocating.
pub struct Table<const N: usize> {
    rows: [(&'static str, [i128; N]); MOST_ROWS],
    n: usize,
}

impl<const N: usize> Default for Table<N> {
    fn default() -> Self {
        Self { rows: [("", [0; N]); MOST_ROWS], n: 0 }
    }
}

impl<const N: usize> Table<N> {
    pub fn add(&mut self, name: &'static str, numbers: [i128; N]) {
        self.rows[self.n] = (name, numbers);
        self.n += 1;
    }

    pub fn print(&self) {
        for (name, numbers) in &self.rows[..self.n] {
            println!("{name} {numbers:?}");
        }
    }
}

fn grown() -> Vec<u64> {
    let mut numbers = Vec::new();
    for i in 0..10_000 {
        numbers.push(black_box(i));
    }
    numbers
}

fn cut(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.truncate(100);
    numbers.shrink_to_fit();
    numbers
}

fn words() -> BTreeMap<String, Vec<u32>> {
    let mut map = BTreeMap::new();
    for i in 0..500u32 {
        let word: &mut Vec<u32> = map.entry(format!("word {}", i % 97)).or_default();
        word.push(i);
    }
    map
}

fn queue() -> usize {
    let mut queue = VecDeque::new();
    let mut n = 0;
    for i in 0..1000usize {
        queue.push_back(vec![0u8; i % 50 + 1]);
        if i % 3 == 0 {
            n += queue.pop_front().map_or(0, |block| block.len());
        }
    }
    n
}

fn unwound() -> bool {
    std::panic::catch_unwind(|| {
        let _kept = black_box(vec![1u8; 5000]);
        std::panic::resume_unwind(Box::new(7u32));
    })
    .is_err()
}

/// Calls `now` after each piece of the work.
pub fn work(mut now: impl FnMut(&'static str)) {
    now("begin");
    let numbers = grown();
    now("grown");
    let numbers = cut(numbers);
    now("cut");
    let map = words();
    now("words");
    black_box(queue());
    now("queue");
    drop(map);
    now("dropped");
    black_box(unwound());
    now("unwound");
    for i in 0..100u8 {
        black_box(Box::new([i; 24]));
    }
    now("churn");
    std::mem::forget(black_box(vec![7u8; 4321]));
    drop(numbers);
    now("end");
}

/// Events of several places and threads; `now` as of `work`, after each piece.
pub fn events(event: fn(usize), mut now: impl FnMut(&'static str)) {
    now("begin");
    one(event, 7);
    now("one");
    (0..1000).for_each(|i| one(event, i));
    now("many");
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(move || several(event))).collect();
    for thread in threads {
        black_box(thread.join().is_ok());
    }
    now("threads");
    let unwound = std::panic::catch_unwind(|| {
        one(event, 0);
        std::panic::resume_unwind(Box::new(7u32));
    });
    black_box(unwound.is_err());
    now("end");
}

#[inline(never)]
fn one(event: fn(usize), weight: usize) {
    event(weight);
    black_box(weight);
}

#[inline(never)]
fn several(event: fn(usize)) {
    for weight in 0..100 {
        event(weight);
        one(event, 3);
    }
}

/// One of many tests of a suite (bench/suites.py): an index of words, some 3,500 allocations.
#[inline(never)]
pub fn index_words(seed: usize) -> usize {
    let mut index: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for i in 0..2000 {
        index.entry(format!("word {}", i * seed % 500)).or_default().push(i);
    }
    index.values().map(Vec::len).sum()
}
