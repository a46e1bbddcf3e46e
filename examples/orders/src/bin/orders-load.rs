// SPDX-License-Identifier: Apache-2.0
//
//! `orders-load ADDRESS REQUESTS [CONNECTIONS [PER_SECOND]]`: asks for articles one after another,
//! for one that is no longer sold every 50th time, and says how fast that went.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ARTICLES: usize = 4096;

/// Status and time of one request. What comes back is read and dropped.
fn ask(stream: &mut BufReader<TcpStream>, number: usize) -> std::io::Result<(u16, f64)> {
    let began = Instant::now();
    let request = format!("GET /articles/{number} HTTP/1.1\r\nhost: shop\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    let (mut line, mut status, mut length) = (String::new(), 0, 0);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if let Some(told) = text.strip_prefix("http/1.1 ") {
            status = told[..3].parse().unwrap_or(0);
        } else if let Some(told) = text.strip_prefix("content-length:") {
            length = told.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut stream.by_ref().take(length), &mut std::io::sink())?;
    Ok((status, began.elapsed().as_secs_f64()))
}

struct Plan<'a> {
    address: &'a str,
    n: usize,
    connections: usize,
    per_second: usize, // 0: as fast as it goes
    began: Instant,
}

/// (gone, times) of every CONNECTIONSth request from `first` on.
fn work(plan: &Plan, first: usize) -> std::io::Result<(usize, Vec<f64>)> {
    let stream = TcpStream::connect(plan.address)?;
    stream.set_nodelay(true)?;
    let (mut stream, mut gone, mut times) = (BufReader::new(stream), 0, Vec::new());
    for i in (first..plan.n).step_by(plan.connections) {
        if plan.per_second > 0 {
            let due = Duration::from_secs_f64(i as f64 / plan.per_second as f64);
            std::thread::sleep(due.saturating_sub(plan.began.elapsed()));
        }
        let number = if i % 50 == 49 { ARTICLES + i } else { i * 7919 % ARTICLES };
        let (status, seconds) = ask(&mut stream, number)?;
        gone += usize::from(status == 404);
        times.push(seconds);
    }
    Ok((gone, times))
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number =
        |at: usize, or: usize| words.get(at).map_or(or, |word| word.parse().expect("how many"));
    let plan = Plan {
        address: words.get(1).expect("an address"),
        n: number(2, 1000),
        connections: number(3, 4),
        per_second: number(4, 0),
        began: Instant::now(),
    };
    let (mut gone, mut times) = (0, Vec::new());
    std::thread::scope(|scope| {
        let plan = &plan;
        let all: Vec<_> =
            (0..plan.connections).map(|first| scope.spawn(move || work(plan, first))).collect();
        for one in all {
            let (none, took) = one.join().expect("a thread").expect("an answer");
            gone += none;
            times.extend(took);
        }
    });
    let rate = times.len() as f64 / plan.began.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| 1e3 * times[((times.len() - 1) as f64 * share) as usize];
    let (middle, slow) = (at(0.5), at(0.99));
    println!(
        "{} requests, {gone} not found; {rate:.0} a second, {middle:.2} ms in the median, \
              {slow:.2} ms at the 99th of 100",
        times.len()
    );
}
