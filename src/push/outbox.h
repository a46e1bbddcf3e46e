// SPDX-License-Identifier: Apache-2.0
//
// What waits to be sent to one server, and the thread that sends it. Whoever makes profiles never
// waits for a server:
//
//     the maker               outbox                      its thread
//     ─────────               ──────                      ──────────
//     has_room ─ no ─▶ take_back (the newest is gone)
//     put ───────────▶ at most 8 requests, 16 MiB ──────▶ the oldest, again and again
//                                                         with longer and longer waits, until
//                                                         it is taken or refused for good
//
//  1. Requests arrive in the order in which they were put.
//  2. When there is no room the newest request is taken back, for the maker to put one in its place
//     that has what was in both: no difference is lost, moments between are.
//  3. Everything put is counted as taken, refused, taken back or, at the end, left over.
//  4. The end waits for a server so long as is said, and no longer.
#pragma once
#include "push/push_target.h"

struct tide_outbox;

struct tide_outbox_counts {
  uint64_t n_put, n_taken; // n_put: without what was taken back
  uint64_t n_thinned;      // taken back: moments that are missing there
  uint64_t n_refused;      // for good
  uint64_t n_left;         // at the end, never taken
  uint64_t n_failures;     // requests that failed, also if the next one did not
  char why[320];           // of the latest failure; "": there was none
};

struct tide_outbox_options {
  struct tide_push_target target; // taken over
  const char *token;              // must outlive it; NULL: none
  const char *tenant;             // likewise: X-Scope-OrgID
  // Called once, from the thread, at the first failure. May be NULL.
  void (*failed)(const char *shown, const char *why);
};

// NULL: there can be no thread. The target is taken over in either case.
struct tide_outbox *tide_outbox_new(const struct tide_outbox_options *options);

const struct tide_push_target *tide_outbox_target(const struct tide_outbox *outbox);

bool tide_outbox_has_room(struct tide_outbox *outbox);
// The newest that waits and is not being sent; false: there is none.
bool tide_outbox_take_back(struct tide_outbox *outbox);
// Takes the bytes over.
void tide_outbox_put(struct tide_outbox *outbox, struct tide_buf *request);

void tide_outbox_counts(struct tide_outbox *outbox, struct tide_outbox_counts *ret_counts);

// Nothing more will be put; what waits is tried for at most so long. Several can be ended at once:
// first all of them, then each is waited for. Frees it, unless its thread cannot be had to stop.
void tide_outbox_end(struct tide_outbox *outbox, uint32_t within_ms);
void tide_outbox_finish(struct tide_outbox *outbox, struct tide_outbox_counts *ret_counts);
