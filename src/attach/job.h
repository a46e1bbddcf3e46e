// SPDX-License-Identifier: Apache-2.0
//
// One attach from beginning to end, as the helper does it: look, plan, put on, take off.
#pragma once
#include "attach/families.h"

#include <sys/types.h>

// Of a store: sparse, and as large as any recorder asks for.
#define TIDE_JOB_STORE_BYTES (UINT64_C(16) << 40)

struct tide_job_options {
  uint32_t pid;             // whose
  const char *agent;        // path of the agent's file
  const char *debug_dirs;   // for symbols; NULL: the usual ones
  uint64_t store_bytes;     // of the store to be made
  uint32_t depth_limit;     // frames of a stack; 0: all
  uint32_t sample_bits;     // one sample for 2^n bytes; 0: every event
  bool starts_paused;       // recording is off at first
  uint32_t families_hooked; // a bit for each family that is wanted; 0: all
  pid_t held;               // its only thread, which the caller holds at its beginning; 0: it runs
  const char *door;         // where its fork children ask for stores; NULL: they do not
  const char *library;      // the recorder that programs preload which it becomes; with a run
  uint32_t recorder_pid;    // the run, which records it to its end; 0: the caller does
};

// What came of it.
struct tide_attached {
  int store_fd; // the memfd, the caller's; -1: it was detached
  uint32_t n_hooked, n_refused;
  uint32_t families;       // a bit for each that is hooked
  uint64_t one_stopped_ns; // the longest that a single thread stood still
  uint64_t all_stopped_ns; // and the longest that all did
  uint64_t left_bytes;     // mapped in the process and left there
  bool was_replaced;       // it has become another program meanwhile
  uint64_t held_back;      // signals that came for the thread that is held: a bit each, from 1 on
  char refused[512];       // functions that could not be hooked, with reasons; ""
  char unhooked[512];      // those of an allocator that has no other way in (plan.h); ""
};

struct tide_job;

enum tide_err tide_job_attach(const struct tide_job_options *options, struct tide_job **ret_job,
                              struct tide_attached *ret_attached, struct tide_diag *diag);
// A process that has ended meanwhile is no failure.
enum tide_err tide_job_detach(struct tide_job *job, struct tide_attached *ret_attached,
                              struct tide_diag *diag);

// Is there nothing to detach any more? Another tidemark has taken it off, or the process has become
// another program. Not if it has ended.
bool tide_job_is_over(const struct tide_job *job);

// Libraries have come or gone since. Hooks the allocators among them, as those before; what cannot
// be is written into the store for the report. Whoever attached may be gone; if it is the caller,
// then job is what it has, else NULL. Ends with an answer in the store, for which a thread may
// wait.
void tide_job_look_again(const struct tide_job_options *options, struct tide_job *job);

// Takes off whatever tidemark has put on the process, whoever did, but a run that lives.
enum tide_err tide_job_clear(const struct tide_job_options *options, bool *ret_found,
                             struct tide_diag *diag);

// ---- in a process of its own ----
//
// The tracer as a process of its own, urgent while somebody stands still: attaches, waits to be
// told to detach, does so and ends. ptrace lets go of everything that a tracer leaves when it dies,
// so that its end harms nobody, whenever it comes.

struct tide_helper;

// Attaches. Call it before any thread is started. On success the helper waits to be told.
enum tide_err tide_helper_start(const struct tide_job_options *options,
                                struct tide_helper **ret_helper, struct tide_attached *ret_attached,
                                struct tide_diag *diag);
// Libraries have come or gone: the helper looks (tide_job_look_again). Any thread.
void tide_helper_look_again(struct tide_helper *helper);
// Readable once the helper has ended by itself: as there was nothing to detach any more; or it was
// killed, and what it put on goes on recording.
int tide_helper_fd(const struct tide_helper *helper);
bool tide_helper_has_let_go(const struct tide_helper *helper);
// Detaches, and ends the helper. If the process has ended meanwhile, that is fine, too.
enum tide_err tide_helper_detach(struct tide_helper *helper, struct tide_attached *ret_attached,
                                 struct tide_diag *diag);
// Takes off whatever tidemark has put on the process, whoever did, but a run that lives.
enum tide_err tide_helper_clear(const struct tide_job_options *options, bool *ret_found,
                                struct tide_diag *diag);
void tide_helper_free(struct tide_helper *helper); // NULL is fine
