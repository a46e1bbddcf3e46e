// SPDX-License-Identifier: Apache-2.0
//
//! `axum-heap ADDRESS`: a service that keeps what it is asked for, and tells its heap:
//!
//!     tidemark run -- axum-heap 127.0.0.1:8080
//!     go tool pprof http://127.0.0.1:8080/debug/pprof/heap
use axum::extract::Path;
use axum::{http::StatusCode, routing::get, Router};
use std::sync::Mutex;

static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

async fn keep(Path(bytes): Path<usize>) -> String {
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    kept.push(vec![1; bytes.min(1 << 24)]);
    format!("{} kept\n", kept.len())
}

async fn heap() -> Result<Vec<u8>, (StatusCode, String)> {
    tidemark::dump_pprof().map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
}

async fn serve(address: String) -> std::io::Result<()> {
    let router =
        Router::new().route("/keep/{bytes}", get(keep)).route("/debug/pprof/heap", get(heap));
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, router).await
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    tokio::runtime::Runtime::new()?.block_on(serve(address))
}
