// SPDX-License-Identifier: Apache-2.0
//
// Heap profiles as services give them over HTTP: ours, Go's net/http/pprof, jemalloc's for Rust,
// gperftools'. An address without a path is asked for /debug/pprof/heap and, where there is no such
// thing, for gperftools' /pprof/heap.
#pragma once
#include "remote/exchange.h"

struct tide_endpoint_ask {
  const char *address; // "host:6060", "http://host:6060/TOKEN/", "https://host/debug/pprof/heap"
  const char *token;   // NULL: none
  uint32_t timeout_s;  // beyond what the address itself asks to wait ("?seconds=30")
  uint64_t max_bytes;
};

// Is this meant as an address, and not as the name of a file? One without http:// is so if it has a
// port, and no file is called that.
bool tide_address_is(const char *word);

// What is asked for first; owned. *ret_is_open: the path was left to us.
char *tide_address_complete(const char *address, bool *ret_is_open);

// The bytes of a profile, and from where. Whatever is none (an error, a page for people, nothing)
// is a failure that says what to do.
enum tide_err tide_endpoint_fetch(const struct tide_endpoint_ask *ask,
                                  struct tide_exchange *ret_exchange, struct tide_diag *diag);

// Is the answer a profile, by its status and its first bytes?
enum tide_err tide_endpoint_judge(const struct tide_exchange *exchange, bool has_token,
                                  struct tide_diag *diag);
