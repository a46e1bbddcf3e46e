// SPDX-License-Identifier: Apache-2.0
//
// A thread sends what comes through a queue, one message at a time.
use crate::producer::{Message, Producer};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

pub struct Telegrapher {
    queue: mpsc::Sender<Message>,
    worker: JoinHandle<usize>,
}

impl Telegrapher {
    pub fn new(endpoint: SocketAddr) -> Self {
        let (queue, messages) = mpsc::channel::<Message>();
        let worker = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime");
            let mut producer = runtime.block_on(Producer::connect(endpoint)).expect("to connect");
            let mut n_sent = 0;
            while let Ok(message) = messages.recv() {
                runtime.block_on(producer.produce(&message)).expect("an answer");
                n_sent += 1;
            }
            n_sent
        });
        Self { queue, worker }
    }

    pub fn send_message(&self, data: &[u8]) {
        self.queue.send(Message { payload: data.to_vec() }).expect("a worker");
    }

    pub fn finish(self) -> usize {
        drop(self.queue);
        self.worker.join().expect("the worker")
    }
}
