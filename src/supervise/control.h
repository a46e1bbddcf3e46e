// SPDX-License-Identifier: Apache-2.0
//
// How a recording is told things while it works, and asked. Whoever wants something posts it and
// collects the answer, from any thread; the watch answers on its own thread, between two rounds, so
// that nothing of what it watches needs a lock.
//
//     a thread             tide_control                     the watch
//     ────────             ────────────                     ─────────
//     post ──────────────▶ waiting (at most 64) ─ wakes ──▶ take
//     (goes on, or waits)                                   does it
//     collect ◀─────────── answered ◀────────────────────── answer
//
// Invariants:
//  1. everything posted is answered: by the watch or, when that ends, by tide_control_close();
//  2. a post neither waits nor makes the watch wait for whoever posted: an answer that nobody
//     collects any more is thrown away;
//  3. a capture that may wait (is_paced) is made when the pace allows it (pace.h), however many
//  ask.
// The lock is held for a few instructions at a time.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/capture.h"
#include "model/model.h"

// ---- drafts ----
//
// A draft: the capture so far of a run that goes on, as the bytes of a .tide file. Compact (some 12
// bytes for a stack), whole in itself and never changed, so any number of threads may share one.

struct tide_draft {
  unsigned n_users; // atomic
  uint64_t version; // 1 is a run's first, each later one has the next
  uint64_t time_ns; // what moment it is of, on the capture's clock
  struct tide_buf bytes;
};

// With one user.
enum tide_err tide_draft_new(const struct tide_capture *capture, uint64_t version,
                             struct tide_draft **ret_draft, struct tide_diag *diag);
struct tide_draft *tide_draft_share(struct tide_draft *draft);
void tide_draft_free(struct tide_draft *draft); // one user less; NULL is fine

// ---- the control ----

#define TIDE_CONTROL_MAX_WAITING 64

enum tide_ask_kind {
  TIDE_ASK_STATE,    // how it is
  TIDE_ASK_SNAPSHOT, // of every living process, now, on its timeline
  TIDE_ASK_DRAFT,    // the capture so far
  TIDE_ASK_INTERVAL, // drafts that may wait come so far apart from now on, at least
  TIDE_ASK_FINISH,   // the recording ends, as it is; the command does not
};

struct tide_ask {
  enum tide_ask_kind kind;
  bool is_paced;        // of a draft: when there is one to be had and the pace allows it
  bool is_brief;        // of a draft: what was held at earlier moments may be missing
  const char *taken;    // of a draft: it is a dump, and why; lives as long. NULL: it is none
  uint64_t interval_ns; // of TIDE_ASK_INTERVAL
  int notify_fd;        // an eventfd that is written to when it is answered; 0: none
};

struct tide_answer {
  enum tide_err err; // why not; the diag says so in words
  struct tide_diag diag;
  // The recording when it was answered, whatever was asked.
  bool is_running;          // false: it has ended, and nothing below is known
  uint64_t time_ns;         // on the capture's clock
  uint32_t n_living;        // processes that are recorded now
  uint32_t n_snapshots;     // of a snapshot: how many of them had one
  uint64_t n_cells;         // of all processes so far
  struct tide_draft *draft; // of TIDE_ASK_DRAFT: owned. NULL when err says why
};

void tide_answer_done(struct tide_answer *answer); // all zero is fine

struct tide_control;
struct tide_asked; // something that was posted

struct tide_control *tide_control_new(void);
// Nobody may post or answer any more, and everything posted was collected.
void tide_control_free(struct tide_control *control); // NULL is fine

// ---- asking, from any thread ----

// TIDE_ERR_LIMIT: too much waits already. Before the recording has begun it waits until it has;
// after its end the answer is there at once, and says so.
enum tide_err tide_control_post(struct tide_control *control, const struct tide_ask *ask,
                                struct tide_asked **ret_asked, struct tide_diag *diag);
// True: it was answered, the answer is the caller's and *asked is gone, NULL. False: not within
// wait_ms.
bool tide_control_collect(struct tide_control *control, struct tide_asked **asked, uint32_t wait_ms,
                          struct tide_answer *ret_answer);
// Nobody will collect it; *asked is gone. One that is answered this moment is thrown away then.
void tide_control_forget(struct tide_control *control, struct tide_asked **asked); // NULL is fine

// Posts, and waits for the answer; a failure of either is its err.
void tide_control_ask(struct tide_control *control, const struct tide_ask *ask, uint32_t wait_ms,
                      struct tide_answer *ret_answer);

// ---- answering, on one thread ----

// Readable when something was posted that waits; whoever answers waits for that. Owned by control:
// a thread with descriptors of its own that posts must have this one, by the same number.
int tide_control_wake_fd(const struct tide_control *control);
// Makes it unreadable again, before what waits is taken.
void tide_control_drain(struct tide_control *control);
// What was posted first and not taken yet, among the paced or among the others. NULL: nothing.
struct tide_asked *tide_control_take(struct tide_control *control, bool is_paced);
const struct tide_ask *tide_asked_ask(const struct tide_asked *asked);
bool tide_control_has_paced(struct tide_control *control);
// The answer's draft goes along. asked is gone for the caller.
void tide_control_answer(struct tide_control *control, struct tide_asked *asked,
                         const struct tide_answer *answer);
// The recording is over, or never began: all that waits is answered so.
void tide_control_close(struct tide_control *control); // NULL is fine

// ---- as a source of captures ----
//
// A recording that goes on, as a source of captures (model/capture.h): asks for a draft while
// somebody wants one, and gives it when it is there. On another thread than the recording's.

struct tide_living_options {
  struct tide_control *control; // must outlive the source
  const char *name;             // what the capture is called: the path of the file it will be in
  int notify_fd;                // an eventfd, written to when a look will give something; 0: none
  bool is_brief;                // a refresh need not give what was held at earlier moments
  // Called with each capture: to add what is known now and is not in a draft. May be NULL.
  void (*complete)(struct tide_capture *capture, const char *name);
};

struct tide_source *tide_living_new(const struct tide_living_options *options);

// The next look gives this draft, which is shared. is_last: the recording has ended, and there will
// be no other; NULL then: it is not to be had, and what was given last is all.
void tide_living_give(struct tide_source *living, struct tide_draft *draft, bool is_last);
