// SPDX-License-Identifier: Apache-2.0
//
//! Exact under a recorder, 0 without one. The tests run in parallel: those of a thread's own
//! numbers see nothing of each other.
use std::hint::black_box;
use std::panic;
use tidemark::{AdHocStats, HeapStats, Profiler, Region, Stats};

/// What a test wants, or 0 without a recorder.
fn wanted<T: Default>(value: T) -> T {
    if tidemark::is_recorded() {
        value
    } else {
        T::default()
    }
}

fn block(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

#[test]
fn a_region_counts_calls_and_bytes() {
    let region = Region::thread();
    let kept = block(1000);
    drop(block(24));
    let change = region.change();
    assert_eq!(
        change,
        wanted(Stats {
            allocations: 2,
            deallocations: 1,
            bytes_allocated: 1024,
            bytes_deallocated: 24,
            ..Stats::default()
        })
    );
    let heap = region.heap();
    assert_eq!((heap.total_blocks, heap.total_bytes), wanted((2, 1024)));
    assert_eq!((heap.curr_blocks, heap.curr_bytes), wanted((1, 1000)));
    assert_eq!((heap.max_blocks, heap.max_bytes), wanted((2, 1024)));
    drop(kept);
    assert_eq!(region.heap().curr_bytes, 0);
}

#[test]
fn a_resize_is_counted_as_stats_alloc_and_as_dhat_do() {
    let mut grown = block(100);
    let region = Region::thread();
    grown.reserve_exact(300);
    grown.shrink_to(50);
    let change = region.change();
    assert_eq!(
        change,
        wanted(Stats {
            reallocations: 2,
            bytes_allocated: 200,
            bytes_deallocated: 250,
            bytes_reallocated: -50,
            ..Stats::default()
        })
    );
    let heap = region.heap();
    assert_eq!((heap.total_blocks, heap.total_bytes), wanted((2, 350)));
    assert_eq!(heap.max_bytes, wanted(200));
}

#[test]
fn a_region_knows_what_was_before_it() {
    let mut region = Region::thread();
    let before = region.initial();
    let kept = block(10);
    assert_eq!(region.initial(), before);
    let change = region.change();
    assert_eq!(change.bytes_allocated, wanted(10));
    region.reset();
    assert_eq!(region.initial(), before + change);
    drop(kept);
}

#[test]
fn a_region_that_is_asked_late_knows_nothing_before_it() {
    let region = Region::thread();
    let kept = block(10);
    assert_eq!(region.initial(), Stats::default());
    let later = Region::thread();
    let more = block(20);
    assert_eq!(region.initial(), Stats::default());
    assert_eq!(later.initial(), Stats::default());
    let last = Region::thread();
    assert_eq!(last.initial().bytes_allocated, wanted(20));
    drop((kept, more));
}

#[test]
fn a_region_begins_anew() {
    let mut region = Region::thread();
    drop(block(10));
    assert_eq!(region.change_and_reset().bytes_allocated, wanted(10));
    drop(block(20));
    assert_eq!(region.change().bytes_allocated, wanted(20));
    region.reset();
    assert_eq!(region.change(), Stats::default());
    region.restart();
    assert_eq!(region.heap(), HeapStats::default());
}

#[test]
fn regions_lie_within_one_another() {
    let outer = Region::thread();
    let first = block(100);
    {
        let inner = Region::thread();
        drop(block(1000));
        assert_eq!(inner.heap().max_bytes, wanted(1000));
        assert_eq!(inner.change().allocations, wanted(1));
    }
    drop(first);
    assert_eq!(outer.heap().max_bytes, wanted(1100));
    assert_eq!(outer.change().allocations, wanted(2));
}

#[test]
fn threads_see_nothing_of_one_another() {
    let threads: Vec<_> = (1..=64usize)
        .map(|n| {
            std::thread::spawn(move || {
                let region = Region::thread();
                let blocks: Vec<_> = (0..50).map(|_| block(n)).collect();
                let most = region.heap();
                drop(blocks);
                (most.max_bytes, region.change().allocations, region.heap().curr_bytes)
            })
        })
        .collect();
    for (n, thread) in (1..=64).zip(threads) {
        let of_vector = 50 * std::mem::size_of::<Vec<u8>>();
        assert_eq!(thread.join().unwrap(), wanted((50 * n + of_vector, 51, 0)), "thread {n}");
    }
}

#[test]
fn a_panic_within_a_region_leaves_the_others_right() {
    let outer = Region::thread();
    let caught = panic::catch_unwind(|| {
        let _inner = Region::thread();
        let _kept = block(500);
        panic::resume_unwind(Box::new(())); // which takes no memory of its own
    });
    assert!(caught.is_err());
    let (change, heap) = (outer.change(), outer.heap());
    assert!(change.bytes_allocated >= wanted(500), "{change:?}");
    assert_eq!(change.bytes_allocated, change.bytes_deallocated);
    assert_eq!(heap.curr_blocks, 0);
}

#[test]
fn a_profiler_of_a_thread_counts_from_0() {
    let before = block(77);
    let _profiler = Profiler::builder().testing().thread().build();
    let kept = block(1000);
    drop(before); // older than the profiler
    let stats = HeapStats::get();
    tidemark::assert_eq!(stats.total_bytes, 1000);
    tidemark::assert_eq!(stats.max_bytes, 1000, "of {stats:?}");
    tidemark::assert_ne!(stats.total_blocks, 0);
    tidemark::assert!(stats.max_blocks == 1, "{} blocks", stats.max_blocks);
    drop(kept);
}

#[test]
fn a_thread_has_one_profiler_of_its_own() {
    let _profiler = Profiler::builder().testing().thread().build();
    let second = panic::catch_unwind(|| {
        let _second = Profiler::builder().testing().thread().build();
    });
    let said = *second.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("already running") && said.contains("builder().thread()"), "{said}");
    assert_eq!(HeapStats::get().curr_bytes, HeapStats::get().curr_bytes); // it runs on
}

#[test]
fn nothing_is_asked_of_a_profiler_that_is_not_there() {
    let said = panic::catch_unwind(HeapStats::get).unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert_eq!(said, "tidemark: getting heap stats when no profiler is running");
    let said = panic::catch_unwind(|| tidemark::assert!(true)).unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert_eq!(said, "tidemark: asserting when no profiler is running");
}

#[test]
fn a_profile_is_of_the_process() {
    let held = block(123_457);
    match tidemark::dump_pprof() {
        Ok(profile) => assert!(profile.len() > 100 && tidemark::is_recorded()),
        Err(error) => {
            assert!(!tidemark::is_recorded(), "{error}");
            assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        }
    }
    drop(held);
}

#[test]
fn the_process_has_all_threads() {
    let before = Stats::get();
    std::thread::spawn(|| drop(block(1_000_000))).join().unwrap();
    let change = Stats::get() - before; // others run meanwhile
    assert!(change.bytes_allocated >= wanted(1_000_000), "{change:?}");
    tidemark::mark!("{} threads", 1);
}

#[test]
fn events_are_counted_by_the_ad_hoc_profiler_of_a_thread() {
    let profiler = Profiler::builder().testing().thread().ad_hoc().build();
    assert_eq!(AdHocStats::get(), AdHocStats::default());
    for weight in [3, 4, 5] {
        tidemark::ad_hoc_event(weight);
    }
    let elsewhere = std::thread::spawn(|| tidemark::ad_hoc_event(1000));
    elsewhere.join().unwrap();
    let stats = AdHocStats::get();
    assert_eq!((stats.total_events, stats.total_units), wanted((3, 12)));
    tidemark::assert_eq!(stats.total_units, 12);
    assert!(panic::catch_unwind(HeapStats::get).is_err());
    drop(profiler);
    tidemark::ad_hoc_event(7); // nobody counts it
    assert!(panic::catch_unwind(AdHocStats::get).is_err());
}

#[test]
fn scopes_end_when_they_are_dropped() {
    let region = Region::thread();
    let outer = tidemark::scope!("outer {}", 1);
    let kept = block(100);
    let unwound = panic::catch_unwind(|| {
        let _inner = tidemark::scope!("inner");
        panic::resume_unwind(Box::new(block(50)));
    });
    drop(tidemark::Scope::new(""));
    drop((unwound, outer, kept));
    assert_eq!(region.change().bytes_deallocated, region.change().bytes_allocated);
}
