// SPDX-License-Identifier: Apache-2.0
//
// Rust that allocates through its library alone. Each way of using memory has one function:
// Archive::keep holds the most at the peak and for good, `rebuild` allocates most in all, the
// Display of Word makes what is freed at once.
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

struct Word(String);

impl fmt::Display for Word {
    #[inline(never)]
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loud: Vec<String> = (0..200).map(|i| format!("{}{i}", self.0)).collect();
        (0..200).map(|i| format!("{} {i}", self.0).len()).sum::<usize>().fmt(out)?;
        out.write_str(&loud[0])
    }
}

#[derive(Default)]
struct Archive {
    by_word: HashMap<String, Vec<Box<[u8]>>>,
    sorted: BTreeMap<String, usize>,
}

impl Archive {
    #[inline(never)]
    fn keep(&mut self, word: &str) {
        let copies = self.by_word.entry(word.to_owned()).or_default();
        copies.push(word.bytes().cycle().take(8 << 10).collect());
        *self.sorted.entry(word.into()).or_insert(0) += 1;
    }
}

#[inline(never)]
fn rebuild<T: Clone>(n: usize, value: &T) -> Vec<T> {
    let mut all = Vec::new();
    for _ in 0..n {
        all.push(value.clone());
    }
    all.iter().cloned().chain(std::iter::once(value.clone())).collect()
}

trait Step: Send {
    fn take(&mut self, word: &Word) -> usize;
}

impl<F: FnMut(&Word) -> usize + Send> Step for F {
    fn take(&mut self, word: &Word) -> usize {
        self(word)
    }
}

fn steps(archive: Arc<Mutex<Archive>>) -> Vec<Box<dyn Step>> {
    vec![
        Box::new(|word: &Word| word.to_string().len()),
        Box::new(move |word: &Word| {
            archive.lock().unwrap().keep(&word.0);
            1
        }),
        Box::new(|word: &Word| rebuild(300, &[word.0.len(); 64]).len()),
    ]
}

fn main() {
    let archive = Arc::new(Mutex::new(Archive::default()));
    let (to, from) = mpsc::channel();
    let worker = thread::spawn({
        let archive = archive.clone();
        move || {
            let mut todo = steps(archive);
            for i in 0..400 {
                let word = Word(format!("word {}", i % 97));
                let sum: usize = todo.iter_mut().map(|step| step.take(&word)).sum();
                to.send(sum).unwrap();
            }
        }
    });
    let sum: usize = from.iter().sum();
    worker.join().unwrap();
    println!("{sum} {}", archive.lock().unwrap().sorted.len());
    std::mem::forget(archive); // what it holds is never freed
}
