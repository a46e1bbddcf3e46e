// SPDX-License-Identifier: Apache-2.0
//
// Recording a process that runs already, until it ends, a time is over, or we are told to stop;
// then it is let go as it was. Blocks from before are not known: their frees are counted as such.
#pragma once
#include "attach/job.h"
#include "base/err.h"
#include "supervise/run.h"

// ---- candidates ----
//
// A process that is to be attached to, as /proc tells of it. Looking changes nothing.

struct tide_candidate {
  uint32_t pid;
  uint32_t inside_pid; // its number in its own pid namespace, if that is not ours; else 0
  char name[16];
  char exe[4096];  // as it calls its program; "" when that is not known
  char file[64];   // where we can open that, whatever its root
  char where[128]; // "4711 (redis-server, 12 inside its container)", for sentences
};

// Fails when there is no such process.
enum tide_err tide_candidate_read(uint32_t pid, struct tide_candidate *ret_candidate,
                                  struct tide_diag *diag);

// Has it another root directory, or other mounts? Then its paths are not ours.
bool tide_candidate_is_elsewhere(const struct tide_candidate *candidate);

// Refuses what cannot be attached to, with the way out: ended, the kernel's own, ourselves, of
// another machine, recorded already, under valgrind, with a sanitizer, or not permitted.
enum tide_err tide_candidate_check(const struct tide_candidate *candidate, struct tide_diag *diag);

// ---- attaching ----

struct tide_attach_options {
  uint32_t pid;
  const char *output;     // %p pid, %n program name, %% %; NULL: tidemark.%n.%p.tide
  const char *agent;      // absolute path of the agent
  const char *debug_dirs; // for symbols of allocators; NULL: the usual ones
  bool force;             // replace an existing output file
  bool starts_paused;     // recording is off at first
  bool redact_args;       // leave the arguments of its command line out of the capture
  uint32_t depth;         // frames kept per stack, 0: all
  uint32_t sample_bits;   // one sample for 2^n bytes (store/weight.h), 0: every event
  uint64_t for_ns;        // at most so long; 0: until told, or its end
  // Called when it is recorded. May be NULL.
  void (*attached)(void *companion, const struct tide_attached *attached,
                   const struct tide_candidate *process, const char *output_path);
  // Called with the whole capture before it is written. May be NULL.
  void (*complete)(void *companion, struct tide_capture *capture);
  struct tide_control *control;          // where we are asked things; NULL: nowhere
  const struct tide_dump_options *dumps; // NULL: none
  void *companion;
};

struct tide_attach_result {
  struct tide_run_result run;  // its capture and file; exit status and signal are not known
  struct tide_attached let_go; // how the process was let go
  enum tide_err detach_err;    // it was not as it should be: detach_diag says why
  struct tide_diag detach_diag;
  bool has_ended; // the process came to its end
};

// Call it before any thread is started. Fails when nothing could be recorded, and then the process
// is as it was.
enum tide_err tide_attach(const struct tide_attach_options *options,
                          struct tide_attach_result *ret_result, struct tide_diag *diag);
void tide_attach_result_done(struct tide_attach_result *result);
