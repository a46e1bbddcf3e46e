// SPDX-License-Identifier: Apache-2.0
//
// What waits to be sent to one server, and the thread that sends it. Whoever makes profiles never
// waits for a server:
//
//     the maker               outbox                      its thread
//     ─────────               ──────                      ──────────
//     put ───────────▶ at most 8 requests, 16 MiB ──────▶ the oldest, again and again
//                        │                                with longer and longer waits, until
//                        ▼                                it is taken or refused for good
//                      the oldest is dropped,
//                      where there is no room
//
//  1. Requests arrive in the order in which they were put.
//  2. When there is no room the oldest that is not being sent is dropped: whoever comes back after
//     an outage wants to know how things are. What was allocated in its time is missing from the
//     server's sums, so it is counted in bytes, too.
//  3. Every profile put is counted as taken, refused, dropped or, at the end, left over. Of a
//     request that is refused in part nobody says which: as many count as can be meant at most.
//  4. The end waits for a server so long as is said, and no longer.
#pragma once
#include "push/push_target.h"

struct tide_outbox;

struct tide_outbox_request {
  struct tide_buf body; // owned
  uint32_t n_profiles;
  uint64_t allocated_bytes; // of what was allocated since the request before, so much is in here
};

struct tide_outbox_counts { // of profiles
  uint64_t n_put, n_taken;
  uint64_t n_dropped;                                   // to make room
  uint64_t n_refused;                                   // for good
  uint64_t n_left;                                      // at the end, never taken
  uint64_t lost_bytes;                                  // that were allocated, of all but the taken
  uint64_t n_in_part;                                   // requests that were refused in part
  uint64_t n_files_sent, n_files_there, n_files_failed; // offered files
  uint64_t n_files_left;                                // at the end
  uint64_t n_failures; // requests that failed, also if the next one did not
  char why[320];       // of the latest failure; "": there was none
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

// Takes the bytes over.
void tide_outbox_put(struct tide_outbox *outbox, struct tide_outbox_request *request);

// Of a request that could not be made: it counts as refused.
void tide_outbox_miss(struct tide_outbox *outbox, const struct tide_outbox_request *request,
                      const char *why);

// A file with the names of a build id, for a Parca that lacks it: brought when nothing else waits,
// and looked at then. Each build id once, and at most 1,024 of them. Both are copied.
void tide_outbox_offer(struct tide_outbox *outbox, const char *build_id, const char *path);
bool tide_outbox_was_offered(struct tide_outbox *outbox, const char *build_id);

void tide_outbox_counts(struct tide_outbox *outbox, struct tide_outbox_counts *ret_counts);

// Nothing more will be put; what waits is tried for at most so long. Several can be ended at once:
// first all of them, then each is waited for. Frees it, unless its thread cannot be had to stop.
void tide_outbox_end(struct tide_outbox *outbox, uint32_t within_ms);
void tide_outbox_finish(struct tide_outbox *outbox, struct tide_outbox_counts *ret_counts);
