// SPDX-License-Identifier: Apache-2.0
//
// Clients send words over loopback, sessions count and keep them. Each way of using memory has one
// function: `archive` holds the most at the peak and for good, `deliver` allocates most in all,
// `greet` makes what is freed at once.
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, Mutex};

const CLIENTS: usize = 8;
const WORDS: usize = 400;

#[derive(Default)]
struct Archive {
    by_word: HashMap<String, Vec<Vec<u8>>>,
}

impl Archive {
    // 8 KiB per word and never given back.
    fn archive(&mut self, word: &str) {
        let copies = self.by_word.entry(word.to_string()).or_default();
        copies.push(word.bytes().cycle().take(8 << 10).collect());
    }
}

trait Filter: Send + Sync {
    fn pass<'a>(&'a self, word: &'a str) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
}

struct NotEmpty;

impl Filter for NotEmpty {
    fn pass<'a>(&'a self, word: &'a str) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(async move { !word.is_empty() })
    }
}

// Many small strings, each gone before the next.
#[inline(never)]
fn greet(word: &str) -> usize {
    (0..200).map(|i| format!("{word} {i}").len()).sum()
}

// The messages in flight: large, soon freed.
async fn deliver(word: &str, to: &mpsc::Sender<Vec<u8>>) {
    let mut message = Vec::new();
    for _ in 0..16 {
        message.extend_from_slice(word.as_bytes());
        message.resize(message.len() + (4 << 10), b' ');
    }
    to.send(message).await.expect("the sink ended early");
}

async fn session(
    socket: TcpStream,
    archive: Arc<Mutex<Archive>>,
    filter: Arc<dyn Filter>,
    sink: mpsc::Sender<Vec<u8>>,
) -> usize {
    let mut lines = BufReader::new(socket).lines();
    let mut letters = 0;
    while let Some(line) = lines.next_line().await.expect("a line") {
        if filter.pass(&line).await {
            letters += greet(&line);
            archive.lock().await.archive(&line);
            deliver(&line, &sink).await;
        }
    }
    letters
}

async fn client(address: std::net::SocketAddr, id: usize) {
    let mut socket = TcpStream::connect(address).await.expect("to connect");
    for i in 0..WORDS {
        let line = format!("word{}\n", (i * 31 + id) % 97);
        socket.write_all(line.as_bytes()).await.expect("to write");
        if i % 100 == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 3)]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("to bind");
    let address = listener.local_addr().expect("an address");
    let archive = Arc::new(Mutex::new(Archive::default()));
    let filter: Arc<dyn Filter> = Arc::new(NotEmpty);
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(4);
    let sink = tokio::spawn(async move {
        let mut bytes = 0;
        while let Some(message) = receiver.recv().await {
            bytes += message.len();
        }
        bytes
    });
    let clients: FuturesUnordered<_> =
        (0..CLIENTS).map(|id| tokio::spawn(client(address, id))).collect();
    let mut sessions = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let (socket, _) = listener.accept().await.expect("a client");
        sessions.spawn(session(socket, archive.clone(), filter.clone(), sender.clone()));
    }
    drop(sender);
    clients.for_each(|ended| async move { ended.expect("a client") }).await;
    let mut letters = 0;
    while let Some(done) = sessions.join_next().await {
        letters += done.expect("a session");
    }
    let words = archive.lock().await.by_word.len();
    let sent = sink.await.expect("the sink");
    let parsed = tokio::task::spawn_blocking(move || letters.to_string().repeat(3)).await;
    println!("{words} words, {sent} bytes sent, {}", parsed.expect("a string").len());
    std::mem::forget(archive); // what it holds is never freed
}
