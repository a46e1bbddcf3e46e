// SPDX-License-Identifier: Apache-2.0
//
//! An arena that tells of what it hands out: the report then names who took it, and not the arena.
//! Every line's words are kept, until an empty line.
//!
//! ```text
//! printf 'to be or\nnot to be\n' | cargo tidemark run --example arena
//! ```
use std::io::{self, BufRead, Write};
use tidemark::PoolWork;

const CHUNK: usize = 1 << 20;

struct Arena {
    chunk: Vec<u8>,
    used: usize,
}

impl Arena {
    fn new() -> Self {
        let _work = PoolWork::begin();
        Self { chunk: vec![0; CHUNK], used: 0 }
    }

    /// Whether it was recorded.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let block = &mut self.chunk[self.used..][..bytes.len()];
        self.used += bytes.len();
        block.copy_from_slice(bytes);
        tidemark::block_alloc(block.as_ptr(), bytes.len())
    }

    fn reset(&mut self) -> bool {
        self.used = 0;
        tidemark::blocks_free(self.chunk.as_ptr(), CHUNK)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.reset();
        let _work = PoolWork::begin();
        self.chunk = Vec::new();
    }
}

#[inline(never)]
fn keep_words(arena: &mut Arena, line: &str) -> usize {
    line.split_whitespace().filter(|word| arena.take(word.as_bytes())).count()
}

fn main() -> io::Result<()> {
    let mut arena = Arena::new();
    println!("ready");
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.is_empty() {
            println!("all gone, recorded: {}", arena.reset());
        } else {
            println!("{} of its words recorded", keep_words(&mut arena, &line));
        }
        io::stdout().flush()?;
    }
    Ok(())
}
