// SPDX-License-Identifier: Apache-2.0
//
// Rust's standard containers with known requests: boxes, a vector that grows by doubling, strings,
// a map of reserved room. The sites are the program's own functions.
//
// truth: site hold_boxes: allocations=100, bytes=100*64, live_blocks=100
// truth: site grow_vector: allocations=9, resizes=8, bytes=8*(4+8+16+32+64+128+256+512+1024)
// truth: site grow_vector: frees=9, live_blocks=0
// truth: site make_strings: allocations=50, bytes=50*37, frees=50
// truth: site fill_map: allocations=1, frees=1
// truth: site zeroed: allocations=1, bytes=100000, frees=1
use std::collections::HashMap;
use std::hint::black_box;

#[inline(never)]
fn hold_boxes() {
    for i in 0..100u64 {
        std::mem::forget(black_box(Box::new([i; 8])));
    }
}

#[inline(never)]
fn grow_vector() -> u64 {
    let mut numbers: Vec<u64> = Vec::new();
    for i in 0..1000 {
        numbers.push(black_box(i));
    }
    numbers.iter().sum()
}

#[inline(never)]
fn make_strings() -> usize {
    (0..50).map(|_| black_box("x".repeat(37)).len()).sum()
}

#[inline(never)]
fn fill_map() -> usize {
    let mut map: HashMap<u32, u32> = HashMap::with_capacity(100);
    for i in 0..100 {
        map.insert(i, i);
    }
    black_box(&map).len()
}

#[inline(never)]
fn zeroed() -> u8 {
    let block = black_box(vec![0u8; 100_000]);
    block[99_999]
}

fn main() {
    hold_boxes();
    assert_eq!(grow_vector(), 499_500);
    assert_eq!(make_strings(), 50 * 37);
    assert_eq!(fill_map(), 100);
    assert_eq!(zeroed(), 0);
    println!("rust says hello");
}
