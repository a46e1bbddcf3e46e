// SPDX-License-Identifier: Apache-2.0
//
//! A service that says what it is doing, to whoever attaches to it while it runs:
//!
//! ```text
//! cargo run --example service        then, elsewhere:  tidemark attach PID
//! ```
//!
//! Every line is a request. Without a recorder nothing of this does anything.
use std::hint::black_box;
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut kept: Vec<Vec<u8>> = Vec::with_capacity(1000);
    println!("ready");
    for line in io::stdin().lock().lines() {
        let line = line?;
        let _scope = tidemark::scope!("GET /{line}");
        kept.push(black_box(vec![0; 1000]));
        tidemark::ad_hoc_event(line.len());
        let profile = tidemark::dump_pprof().map_or(0, |profile| profile.len());
        println!("{} requests, is profiled: {}", kept.len(), profile > 0);
        io::stdout().flush()?;
    }
    Ok(())
}
