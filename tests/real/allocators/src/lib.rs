// SPDX-License-Identifier: Apache-2.0
//
// A service that does a part of its work for each `p` on stdin: 1,000 blocks of 100 bytes that it
// gives back and 500 of 1,000 that it keeps, half of them zeroed. Answers `ok`.
use std::hint::black_box;
use std::io::{Read, Write};

#[inline(never)]
fn brief() {
    let mut waiting: [Option<Box<[u8; 100]>>; 1000] = [const { None }; 1000];
    for place in &mut waiting {
        *place = Some(black_box(Box::new([1; 100])));
    }
    black_box(&waiting);
}

#[inline(never)]
fn keep(kept: &mut Vec<Vec<u8>>) {
    for i in 0..500 {
        kept.push(black_box(if i % 2 == 0 { vec![0; 1000] } else { Vec::with_capacity(1000) }));
    }
}

pub fn serve() {
    let mut kept = Vec::with_capacity(100_000);
    let mut word = [0];
    let (mut stdin, mut stdout) = (std::io::stdin(), std::io::stdout());
    stdout.write_all(b"ready\n").unwrap();
    while stdin.read(&mut word).unwrap() == 1 && word[0] == b'p' {
        brief();
        keep(&mut kept);
        stdout.write_all(b"ok\n").unwrap();
    }
}
