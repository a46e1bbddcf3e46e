// SPDX-License-Identifier: Apache-2.0
//
// A Rust program of the shape of an asynchronous server: a pool of workers takes tasks from one
// queue, each task sends its answer through a channel of its own, and some tasks start others.
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

type Task = Box<dyn FnOnce(&Pool) + Send>;

struct Pool {
    tasks: Mutex<(VecDeque<Task>, bool)>,
    awake: Condvar,
}

impl Pool {
    fn spawn(&self, task: impl FnOnce(&Pool) + Send + 'static) {
        self.tasks.lock().unwrap().0.push_back(Box::new(task));
        self.awake.notify_one();
    }

    fn work(&self) {
        loop {
            let mut guard = self.tasks.lock().unwrap();
            while guard.0.is_empty() && !guard.1 {
                guard = self.awake.wait(guard).unwrap();
            }
            match guard.0.pop_front() {
                Some(task) => {
                    drop(guard);
                    task(self)
                }
                None => return,
            }
        }
    }
}

fn count_words(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_string()).or_insert(0) += 1;
    }
    counts
}

fn serve(number: usize, answer: Sender<(usize, usize)>) -> impl FnOnce(&Pool) + Send {
    move |pool| {
        let text: String = (0..200).map(|i| format!("word{} ", (i * number) % 37)).collect();
        let counts = count_words(&text);
        if number % 3 == 0 {
            let again = answer.clone();
            pool.spawn(move |_| again.send((number, counts.len())).unwrap());
        } else {
            answer.send((number, counts.len())).unwrap();
        }
    }
}

fn main() {
    let tasks = Mutex::new((VecDeque::new(), false));
    let pool = Arc::new(Pool { tasks, awake: Condvar::new() });
    let workers: Vec<_> = (0..6)
        .map(|i| {
            let pool = pool.clone();
            thread::Builder::new().name(format!("worker-{i}")).spawn(move || pool.work()).unwrap()
        })
        .collect();
    let (send, receive) = channel();
    for number in 0..2000 {
        pool.spawn(serve(number, send.clone()));
    }
    drop(send);
    let mut sum = 0;
    for (number, n_words) in receive {
        sum += number * n_words;
    }
    pool.tasks.lock().unwrap().1 = true;
    pool.awake.notify_all();
    for worker in workers {
        worker.join().unwrap();
    }
    println!("sum {sum}");
}
