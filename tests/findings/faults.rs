// SPDX-License-Identifier: Apache-2.0
//
// As faults.c, in Rust.
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::mpsc;
use std::time::Duration;

const STEPS: usize = 1200;

fn nap(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

#[inline(never)]
fn step_work(step: usize) {
    let words: Vec<String> = (0..6).map(|i| "w".repeat(40 + (step * 7 + i * 31) % 200)).collect();
    black_box(&words);
    nap(300);
}

#[inline(never)]
fn forget_one(step: usize) {
    let block = vec![step as u8; 900]; // fault: rust_leak_forget leak
    std::mem::forget(black_box(block));
}

#[inline(never)]
fn remember(seen: &mut HashMap<usize, Box<[u8; 1200]>>, step: usize) {
    seen.insert(step, Box::new([step as u8; 1200])); // fault: rust_growth_map growth
}

#[inline(never)]
fn produce(to: mpsc::Sender<Vec<u8>>) {
    for i in 0..1000 {
        to.send(vec![i as u8; 2000]).unwrap(); // fault: rust_backlog_channel backlog
    }
}

#[inline(never)]
fn collect(n: usize) -> usize {
    let mut numbers = Vec::new();
    for i in 0..n {
        numbers.push(i as u64); // fault: rust_reserve reserve
    }
    black_box(&numbers).len()
}

#[inline(never)]
fn lower(word: &str) -> usize {
    let key = word.to_string(); // fault: rust_temporary_string temporary
    black_box(&key).len()
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "rust_leak_forget" => {
            for i in 0..STEPS {
                step_work(i);
                forget_one(i);
            }
        }
        "rust_growth_map" => {
            let mut seen = HashMap::new();
            for i in 0..STEPS {
                step_work(i);
                remember(&mut seen, i);
            }
        }
        "rust_backlog_channel" => {
            let (to, from) = mpsc::channel();
            let consumer = std::thread::spawn(move || {
                for message in from {
                    black_box(&message);
                    nap(350);
                }
            });
            produce(to);
            consumer.join().unwrap();
        }
        "rust_reserve" => {
            for _ in 0..2500 {
                black_box(collect(600));
            }
        }
        "rust_temporary_string" => {
            for _ in 0..400_000 {
                black_box(lower("a word that goes to the heap"));
            }
        }
        _ => std::process::exit(2),
    }
}
