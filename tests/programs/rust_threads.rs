// SPDX-License-Identifier: Apache-2.0
//
// Rust threads and a channel: blocks made by the senders, freed by the receiver.
//
// truth: site make_message: allocations=8*500, bytes=4000*128, frees=4000, foreign_frees=4000
// truth: site keep_forever: allocations=8, bytes=8*1000, live_blocks=8
use std::sync::mpsc;
use std::thread;

#[inline(never)]
fn make_message(sender: usize, number: usize) -> Box<[usize; 16]> {
    Box::new([sender * number; 16])
}

#[inline(never)]
fn keep_forever() {
    std::mem::forget(std::hint::black_box(vec![1u8; 1000]));
}

fn main() {
    let (to, from) = mpsc::channel::<Box<[usize; 16]>>();
    let senders: Vec<_> = (0..8)
        .map(|sender| {
            let to = to.clone();
            thread::spawn(move || {
                keep_forever();
                for number in 0..500 {
                    to.send(make_message(sender, number)).unwrap();
                }
            })
        })
        .collect();
    drop(to);
    let sum: usize = from.iter().map(|message| message[15]).sum();
    for sender in senders {
        sender.join().unwrap();
    }
    println!("sum {}", sum);
}
