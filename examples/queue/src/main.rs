// SPDX-License-Identifier: Apache-2.0
//
// A library that sends messages to a service for callers who are not async: as it was first
// written, and as it was mended.
//
//   telegraph before|after MESSAGES
//
// Messages are of 1 KiB. The service is a thread behind a socket of this machine (service.rs).
mod after;
mod before;
mod producer;
mod service;

#[cfg(feature = "dhat")]
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[cfg(feature = "stats_alloc")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

const PAYLOAD: [u8; 1024] = [b'.'; 1024];

#[cfg(feature = "stats_alloc")]
fn watch() {
    std::thread::spawn(|| {
        let started = std::time::Instant::now();
        let mut most = 0;
        loop {
            let now = ALLOCATOR.stats();
            let live = now.bytes_allocated - now.bytes_deallocated;
            if live > most {
                most = live;
                eprintln!("stats_alloc: {} ms, {live} bytes", started.elapsed().as_millis());
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
}

fn main() {
    #[cfg(feature = "dhat")]
    let _profiler = dhat::Profiler::new_heap();
    #[cfg(feature = "stats_alloc")]
    watch();
    let words: Vec<String> = std::env::args().collect();
    let n_messages: usize = words[2].parse().expect("a number of messages");
    let (endpoint, service) = service::start();
    let n_sent = if words[1] == "before" {
        let telegrapher = before::Telegrapher::new(endpoint);
        for _ in 0..n_messages {
            telegrapher.send_message(&PAYLOAD);
        }
        println!("{n_messages} messages passed on");
        telegrapher.finish()
    } else {
        let telegrapher = after::Telegrapher::new(endpoint, 128, 64);
        for _ in 0..n_messages {
            telegrapher.send_message(&PAYLOAD);
        }
        telegrapher.finish()
    };
    service.join().expect("the service");
    println!("{n_sent} messages sent");
}
