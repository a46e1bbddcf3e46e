// SPDX-License-Identifier: Apache-2.0
//
// The same with a queue that has a limit, at which the caller waits, and messages sent as many at a
// time as there are, up to another limit.
use crate::producer::{Message, Producer};
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc;

pub struct Telegrapher {
    queue: mpsc::Sender<Message>,
    worker: JoinHandle<usize>,
}

impl Telegrapher {
    pub fn new(endpoint: SocketAddr, queue_limit: usize, batch_limit: usize) -> Self {
        let (queue, messages) = mpsc::channel::<Message>(queue_limit);
        let worker = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(send_all(endpoint, messages, batch_limit))
        });
        Self { queue, worker }
    }

    pub fn send_message(&self, data: &[u8]) {
        self.queue.blocking_send(Message { payload: data.to_vec() }).ok().expect("a worker");
    }

    pub fn finish(self) -> usize {
        drop(self.queue);
        self.worker.join().expect("the worker")
    }
}

async fn send_all(
    endpoint: SocketAddr,
    mut messages: mpsc::Receiver<Message>,
    batch_limit: usize,
) -> usize {
    let mut producer = Producer::connect(endpoint).await.expect("to connect");
    let mut batch = Vec::with_capacity(batch_limit);
    let mut n_sent = 0;
    while messages.recv_many(&mut batch, batch_limit).await > 0 {
        producer.produce_batch(&batch).await.expect("an answer");
        n_sent += batch.len();
        batch.clear();
    }
    n_sent
}
