// SPDX-License-Identifier: Apache-2.0
//
// As healthy.c, in Rust.
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::mpsc;
use std::time::Duration;

fn nap(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

fn main() {
    match std::env::args().nth(1).unwrap_or_default().as_str() {
        "rust_bounded_channel" => {
            let (to, from) = mpsc::sync_channel(16);
            let consumer = std::thread::spawn(move || {
                for message in from {
                    black_box::<Vec<u8>>(message);
                    nap(200);
                }
            });
            for i in 0..1500 {
                to.send(vec![i as u8; 2000]).unwrap();
            }
            drop(to);
            consumer.join().unwrap();
        }
        "rust_retained_map" => {
            let mut seen = HashMap::new();
            for i in 0..1200u32 {
                seen.insert(i, vec![1u8; 600]);
                if i % 64 == 0 {
                    seen.retain(|&key, _| key + 128 > i);
                }
                nap(300);
            }
            black_box(&seen);
        }
        _ => std::process::exit(2),
    }
}
