// SPDX-License-Identifier: Apache-2.0
//
// A producer whose queue has no limit: every byte is allocated by a parser from crates.io, and one
// line of this file is to blame.
use serde_json::Value;

#[inline(never)]
fn decode(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[inline(never)]
fn producer(queue: &mut Vec<Value>, n: usize) {
    for i in 0..n {
        let line = format!("{{\"id\":{i},\"name\":\"customer {i}\",\"tags\":[\"a\",\"bb\"]}}");
        queue.push(decode(&line));
    }
}

fn main() {
    let mut queue = Vec::new();
    producer(&mut queue, 2000);
    println!("{}", queue.len());
}
