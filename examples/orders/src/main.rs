// SPDX-License-Identifier: Apache-2.0
//
//! `orders ADDRESS [leaky|fixed]`: a shop's service, GET /articles/NUMBER.
//!
//! Each request has a trace, a buffer for what is worth telling about it, in a map of all that are
//! being answered. The leaky one takes it out again at the end of the handler, which a request
//! for an article that is no longer sold does not reach: it leaves by a question mark.
use axum::extract::{Path, State};
use axum::{http::StatusCode, routing::get, Router};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ARTICLES: usize = 4096;
const TRACE_BYTES: usize = 16_384;

struct Trace {
    log: Vec<u8>,
}

impl Trace {
    fn new(number: usize) -> Self {
        let mut log = Vec::with_capacity(TRACE_BYTES);
        log.extend_from_slice(format!("article {number}").as_bytes());
        Self { log }
    }
}

/// All that is being answered.
#[derive(Default)]
struct Traces {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Trace>>,
}

impl Traces {
    fn opened(&self) -> MutexGuard<'_, HashMap<u64, Trace>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn begin(&self, number: usize) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let trace = Trace::new(number);
        self.opened().insert(id, trace);
        id
    }

    fn end(&self, id: u64) -> usize {
        self.opened().remove(&id).map_or(0, |trace| trace.log.len())
    }
}

/// Ends its trace however the handler is left.
struct Ending<'a>(&'a Traces, u64);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

struct Shop {
    articles: Vec<String>,
    traces: Traces,
}

impl Shop {
    /// Read once, and held for good: 4 MiB.
    fn open() -> Self {
        let articles = (0..ARTICLES).map(|number| format!("{number:01024}")).collect();
        Self { articles, traces: Traces::default() }
    }

    fn page(&self, number: usize) -> Option<String> {
        self.articles.get(number).map(|text| format!("<p>{text}</p>\n"))
    }
}

type Answer = Result<String, StatusCode>;

async fn leaky(State(shop): State<Arc<Shop>>, Path(number): Path<usize>) -> Answer {
    let id = shop.traces.begin(number);
    let page = shop.page(number).ok_or(StatusCode::NOT_FOUND)?;
    shop.traces.end(id);
    Ok(page)
}

async fn fixed(State(shop): State<Arc<Shop>>, Path(number): Path<usize>) -> Answer {
    let _ending = Ending(&shop.traces, shop.traces.begin(number));
    shop.page(number).ok_or(StatusCode::NOT_FOUND)
}

#[cfg(feature = "jemalloc-pprof")]
mod within {
    use axum::http::StatusCode;

    #[export_name = "_rjem_malloc_conf"]
    pub static MALLOC_CONF: &[u8] = b"prof:true,prof_active:true,lg_prof_sample:19\0";

    pub async fn heap() -> Result<Vec<u8>, (StatusCode, String)> {
        let Some(control) = jemalloc_pprof::PROF_CTL.as_ref() else {
            return Err((StatusCode::FORBIDDEN, "no heap profiling".into()));
        };
        let mut control = control.lock().await;
        control.dump_pprof().map_err(|why| (StatusCode::INTERNAL_SERVER_ERROR, why.to_string()))
    }
}

async fn serve(address: String, is_fixed: bool) -> std::io::Result<()> {
    let handler = if is_fixed { get(fixed) } else { get(leaky) };
    let router = Router::new().route("/articles/{number}", handler);
    #[cfg(feature = "jemalloc-pprof")]
    let router = router.route("/debug/pprof/heap", get(within::heap));
    let router = router.with_state(Arc::new(Shop::open()));
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, router).await
}

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let address = words.next().unwrap_or("127.0.0.1:8080".into());
    let is_fixed = words.next().is_some_and(|word| word == "fixed");
    tokio::runtime::Runtime::new()?.block_on(serve(address, is_fixed))
}
