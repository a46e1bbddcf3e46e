// SPDX-License-Identifier: Apache-2.0
//
// Chains of calls in Rust, each ending in one allocation of a size of its own. The comments beside
// the calls are the truth; chains.py explains them.
//
// chain: plain 1201, generic 1202, closure 1203, boxed 1204, dyn 1205, asynchronous 1206
// chain: default 1207, mapped 1208, dropped 1209, method 1210, pointer 1211, thread 1212
// chain: constant 1213, sorted 1214, macro 1215, nested 1216, awaited 1217, long_name 1218
// chain: module 1219, implemented 1220
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

type Bytes = Vec<u8>;

#[inline(always)]
fn take(n: usize) -> Bytes {
    // inlined plain.0, closure.0, method.0, constant.0, module.0: chain::take
    Vec::with_capacity(n)
}

#[inline(always)]
fn pass(n: usize) -> Bytes {
    take(n) // inlined plain.1: chain::pass
}

#[inline(never)]
fn hold_plain(n: usize) {
    black_box(pass(n)); // frame plain.2: chain::hold_plain
}

#[inline(never)]
fn hold_generic<T: Default + Clone>(n: usize) {
    // frame generic.0: chain::hold_generic::<u8> | chain::hold_generic
    black_box(vec![T::default(); n]);
}

#[inline(never)]
fn hold_closure(n: usize) {
    let more = black_box(0);
    let closure = |n| take(n + more); // either closure.1: chain::hold_closure::{closure}
    black_box(closure(n)); // frame closure.2: chain::hold_closure
}

#[inline(never)]
fn hold_boxed(callback: Box<dyn Fn(usize) -> Bytes>, n: usize) {
    black_box(callback(n)); // frame boxed.1: chain::hold_boxed
}

#[inline(never)]
fn make_boxed() -> Box<dyn Fn(usize) -> Bytes> {
    let more = black_box(0);
    // either boxed.0: chain::make_boxed::{closure}
    Box::new(move |n| Vec::with_capacity(n + more))
}

trait Put {
    fn put(&self, n: usize) -> Bytes;
    #[inline(never)]
    fn put_all(&self, n: usize) {
        // frame default.1: <chain::Shed as chain::Put>::put_all | chain::Put::put_all
        black_box(self.put(n));
    }
}

struct Bin<T> {
    shape: T,
}

impl<T: Copy + Into<usize>> Put for Bin<T> {
    #[inline(never)]
    fn put(&self, n: usize) -> Bytes {
        // frame dyn.0: <chain::Bin<usize> as chain::Put>::put | <chain::Bin<T> as chain::Put>::put
        Vec::with_capacity(n + self.shape.into())
    }
}

struct Shed;

impl Put for Shed {
    #[inline(never)]
    fn put(&self, n: usize) -> Bytes {
        // frame default.0, implemented.0: <chain::Shed as chain::Put>::put
        black_box(Vec::with_capacity(n))
    }
}

#[inline(never)]
fn hold_object(place: &dyn Put, n: usize) {
    black_box(place.put(n)); // frame dyn.1: chain::hold_object
}

#[inline(never)]
fn hold_implemented(place: &impl Put, n: usize) {
    // frame implemented.1: chain::hold_implemented::<chain::Shed> | chain::hold_implemented
    black_box(place.put(n));
}

impl<T: Copy + Into<usize>> Bin<T> {
    #[inline(never)]
    fn fill(&self, n: usize) {
        // frame method.1: <chain::Bin<usize>>::fill | chain::Bin<T>::fill
        black_box(take(n + self.shape.into()));
    }
}

async fn leaf(n: usize) -> Bytes {
    let bytes = Vec::with_capacity(n); // either asynchronous.0, awaited.0: chain::leaf::{closure}
    black_box(bytes)
}

async fn middle(n: usize) -> usize {
    let bytes = leaf(n).await; // either awaited.1: chain::middle::{closure}
    black_box(bytes).capacity()
}

fn waker() -> Waker {
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(|_| RawWaker::new(std::ptr::null(), &TABLE), |_| {}, |_| {}, |_| {});
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

#[inline(never)]
fn wait_leaf(n: usize) {
    let waker = waker();
    let mut future = pin!(leaf(n));
    // frame asynchronous.1: chain::wait_leaf
    let done = future.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(done, Poll::Ready(_)));
}

#[inline(never)]
fn wait_dyn(future: std::pin::Pin<&mut dyn Future<Output = usize>>) {
    let waker = waker();
    let done = future.poll(&mut Context::from_waker(&waker)); // frame awaited.2: chain::wait_dyn
    assert!(matches!(done, Poll::Ready(_)));
}

#[inline(never)]
fn hold_awaited(n: usize) {
    let future = pin!(middle(n));
    wait_dyn(future); // frame awaited.3: chain::hold_awaited
    black_box(());
}

#[inline(never)]
fn hold_mapped(n: usize) {
    let all: Vec<Bytes> = (0..black_box(1))
        .map(|_| Vec::with_capacity(n)) // either mapped.0: chain::hold_mapped::{closure}
        .collect(); // frame mapped.1: chain::hold_mapped
    black_box(all);
}

struct Guard(usize);

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        // frame dropped.0: <chain::Guard as core::ops::drop::Drop>::drop
        black_box::<Bytes>(Vec::with_capacity(self.0));
    }
}

#[inline(never)]
fn hold_dropped(n: usize) {
    let guard = Guard(n);
    black_box(&guard);
} // frame dropped.1: chain::hold_dropped

#[inline(never)]
fn hold_thread(n: usize) {
    // either thread.0: chain::hold_thread::{closure}
    let worker = std::thread::spawn(move || black_box::<Bytes>(Vec::with_capacity(n)).capacity());
    worker.join().unwrap();
}

#[inline(never)]
fn hold_constant<const N: usize>() {
    // frame constant.1: chain::hold_constant::<1213> | chain::hold_constant
    black_box(take(N));
}

#[inline(never)]
fn hold_sorted(n: usize) {
    let mut numbers = [2, 1];
    numbers.sort_by(|a, b| { // either sorted.1: chain::hold_sorted
        black_box::<Bytes>(Vec::with_capacity(n)); // either sorted.0: chain::hold_sorted::{closure}
        a.cmp(b)
    });
    black_box(numbers);
}

macro_rules! take_here {
    ($n:expr) => {
        black_box::<Bytes>(Vec::with_capacity($n)) // frame macro.0: chain::hold_macro
    };
}

#[inline(never)]
fn hold_macro(n: usize) {
    take_here!(n);
}

#[inline(never)]
fn hold_nested(n: usize) {
    let outer = |n: usize| {
        let inner = |n: usize| -> Bytes {
            Vec::with_capacity(n) // either nested.0: chain::hold_nested::{closure}::{closure}
        };
        inner(n) // either nested.1: chain::hold_nested::{closure}
    };
    black_box(outer(n)); // frame nested.2: chain::hold_nested
}

mod yard {
    pub mod corner {
        #[inline(never)]
        pub fn hold(n: usize) {
            std::hint::black_box(crate::take(n)); // frame module.1: chain::yard::corner::hold
        }
    }
}

// Each level doubles the name: it has more than 10,000 characters.
type T2<T> = (T, T);
type T16<T> = T2<T2<T2<T2<T>>>>;
type Long = T16<T16<T2<Option<Result<[Bin<u128>; 3], std::collections::BTreeMap<u8, String>>>>>>;

#[inline(never)]
fn hold_long_name<T>(n: usize) {
    // frame long_name.0: chain::hold_long_name::<...> | chain::hold_long_name
    black_box::<Bytes>(Vec::with_capacity(n));
}

#[inline(never)]
fn hold_pointer(n: usize) -> Bytes {
    black_box(Vec::with_capacity(n)) // frame pointer.0: chain::hold_pointer
}

fn main() {
    hold_plain(1201); // frame plain.3: chain::main
    hold_generic::<u8>(1202); // frame generic.1: chain::main
    hold_closure(1203); // frame closure.3: chain::main
    hold_boxed(make_boxed(), 1204); // frame boxed.2: chain::main
    hold_object(black_box(&Bin { shape: 0usize }), 1205); // frame dyn.2: chain::main
    wait_leaf(1206); // frame asynchronous.2: chain::main
    Shed.put_all(1207); // frame default.2: chain::main
    hold_mapped(1208); // frame mapped.2: chain::main
    hold_dropped(1209); // frame dropped.2: chain::main
    Bin { shape: 0usize }.fill(1210); // frame method.2: chain::main
    let pointer: fn(usize) -> Bytes = black_box(hold_pointer);
    black_box(pointer(1211)); // frame pointer.1: chain::main
    hold_thread(1212);
    hold_constant::<1213>(); // frame constant.2: chain::main
    hold_sorted(1214); // frame sorted.2: chain::main
    hold_macro(1215); // frame macro.1: chain::main
    hold_nested(1216); // frame nested.3: chain::main
    hold_awaited(1217); // frame awaited.4: chain::main
    hold_long_name::<Long>(1218); // frame long_name.1: chain::main
    yard::corner::hold(1219); // frame module.2: chain::main
    hold_implemented(&Shed, 1220); // frame implemented.2: chain::main
    black_box(());
}
