// SPDX-License-Identifier: Apache-2.0
//
//! What a node does with memory, a piece of work for each word:
//!
//!     node allocate                  42 MiB and 666 MiB
//!     node follow none|256 N         N look-ups through a cache with a limit or none
//!     node export at-once|in-pieces  11 MiB
//!     node sync FOLDER               headers of 65,536 blocks, and the tables of FOLDER
use lru::LruCache;
use memmap2::Mmap;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

const MIB: usize = 1 << 20;

fn allocate_memory(mib: usize) -> Vec<u8> {
    vec![0; mib * MIB]
}

fn allocate() {
    let small = black_box(allocate_memory(42));
    let large = black_box(allocate_memory(666));
    println!("{} bytes", small.len() + large.len());
}

/// What the database has of a block.
fn read(name: &str) -> Vec<u8> {
    vec![name.len() as u8; 1024]
}

/// The headers of the five blocks of one height.
struct Tipset {
    headers: Vec<u8>,
}

impl Tipset {
    fn load(epoch: u64) -> Self {
        let mut headers = Vec::with_capacity(4096);
        for block in 0..5 {
            let encoded = read(&format!("{epoch}/{block}"));
            headers.extend_from_slice(&encoded[..800]);
        }
        Self { headers }
    }
}

struct Chain {
    cache: LruCache<u64, Arc<Tipset>>,
}

impl Chain {
    fn new(limit: Option<usize>) -> Self {
        let cache = match limit.and_then(NonZeroUsize::new) {
            Some(limit) => LruCache::new(limit),
            None => LruCache::unbounded(),
        };
        Self { cache }
    }

    fn load_tipset(&mut self, epoch: u64) -> Arc<Tipset> {
        if let Some(known) = self.cache.get(&epoch) {
            return known.clone();
        }
        let tipset = Arc::new(Tipset::load(epoch));
        self.cache.put(epoch, tipset.clone());
        tipset
    }
}

/// Goes up the chain: each tipset is looked at again when its child is.
fn follow(limit: Option<usize>, n: u64) {
    let mut chain = Chain::new(limit);
    let mut longer = 0;
    for epoch in 0..n {
        let tipset = chain.load_tipset(epoch);
        let parent = chain.load_tipset(epoch.saturating_sub(1));
        longer += usize::from(tipset.headers[0] > parent.headers[0]);
        if epoch % 4 == 3 {
            // The next ones come by the network.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    println!("{n} tipsets, {longer} of longer names, {} in the cache", chain.cache.len());
}

const BLOCKS: usize = 65_536;

/// The body of a block as it came, and what is kept of it.
fn receive(number: usize) -> Vec<u8> {
    vec![number as u8; 3064]
}

fn header_of(body: &[u8]) -> Box<[u8]> {
    body[..1016].into()
}

/// Bodies are dropped when all are checked; of each, its header stays.
fn sync() -> Vec<Box<[u8]>> {
    let mut headers = Vec::with_capacity(BLOCKS);
    let mut bodies = Vec::with_capacity(BLOCKS);
    for number in 0..BLOCKS {
        let body = receive(number);
        headers.push(header_of(&body));
        bodies.push(body);
    }
    headers
}

/// The tables of a folder, all of their pages looked at.
fn tables(folder: &Path) -> io::Result<Vec<Mmap>> {
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        // SAFETY: nobody else writes to the files of the node.
        let table = unsafe { Mmap::map(&File::open(entry?.path())?)? };
        black_box(table.iter().step_by(4096).map(|&byte| byte as usize).sum::<usize>());
        tables.push(table);
    }
    Ok(tables)
}

/// Says that it is ready, and stays until its input ends.
fn wait() -> io::Result<()> {
    io::stdout().write_all(b"ready\n")?;
    io::stdout().flush()?;
    io::stdin().read_exact(&mut [0]).or(Ok(()))
}

/// The work of a command line.
pub fn run() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["allocate"] => allocate(),
        ["follow", limit, n] => follow(limit.parse().ok(), n.parse().unwrap_or(10_000)),
        ["sync", folder] => {
            let held = (sync(), tables(Path::new(folder))?);
            wait()?;
            drop(black_box(held));
        }
        ["export", "at-once"] => export_at_once(&mut io::sink())?,
        ["export", "in-pieces"] => export_in_pieces(&mut io::sink())?,
        _ => {
            return Err(io::Error::other(
                "usage: node allocate | follow LIMIT N | export HOW | sync FOLDER",
            ))
        }
    }
    Ok(())
}

/// A snapshot of the chain, as a whole.
pub fn export_at_once(out: &mut impl Write) -> io::Result<()> {
    let mut snapshot = allocate_memory(11);
    for (number, piece) in snapshot.chunks_mut(64 << 10).enumerate() {
        piece.fill(number as u8);
    }
    out.write_all(&snapshot)
}

/// The same, 64 KiB at a time.
pub fn export_in_pieces(out: &mut impl Write) -> io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    for number in 0..11 * MIB / piece.len() {
        piece.fill(number as u8);
        out.write_all(&piece)?;
    }
    Ok(())
}
