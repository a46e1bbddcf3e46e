// SPDX-License-Identifier: Apache-2.0
//
// Watching every image of a run: who came through the door, who replaced whom by exec, who ended;
// sampling the living, turning the ended into plain data at once (a configure script has thousands
// of them: neither descriptors nor memory may grow with their number), and writing checkpoints, so
// that a supervisor that is killed leaves a readable file.
//
// Threads: the door's thread only appends to a list under a lock, and so does whoever asks
// something (control.h). Everything else happens on the watch's own thread, and after
// tide_watch_stop() on the caller's.
#pragma once
#include "base/err.h"
#include "observe/clock.h"
#include "supervise/control.h"
#include "supervise/door.h"
#include "supervise/dumps.h"
#include "supervise/kin.h"
#include "model/model.h"

#define TIDE_WATCH_MAX_IMAGES 256   // kept one by one: those with the largest peaks
#define TIDE_WATCH_MAX_DRAFTED 4096 // of those that live, in what is asked for meanwhile

struct tide_watch_options {
  uint32_t root_pid;       // of the command
  struct tide_kin *kin;    // must outlive the watch
  const char *library;     // path of the recorder
  bool root_only;          // turn away everybody else
  bool is_attached;        // the process ran before, and goes on when it is let go
  bool starts_paused;      // recording is off at first
  bool redact_args;        // no argument of a command line comes into the capture
  const char *output_path; // for checkpoints; NULL: none. Must outlive the watch
  struct tide_clock_reading start;
  struct tide_control *control; // where we are asked things; NULL: nowhere. Must outlive the watch
  struct tide_dumps *dumps;     // NULL: none. Likewise
  // Libraries of a process have come or gone (heart.h). May be NULL.
  void (*objects_changed)(void *context, uint32_t pid);
  void *objects_context;
  int finish_fd; // an eventfd: written to when we are told that the recording shall end
};

// How the command ended.
struct tide_watch_end {
  enum tide_end_kind kind;
  int32_t value;
  uint64_t time_ns;               // CLOCK_MONOTONIC
  uint64_t max_rss_bytes, cpu_ns; // 0: not known
  uint64_t ceiling_bytes;         // of its RSS, perhaps others' too; 0: not known
};

struct tide_watch;

struct tide_watch *tide_watch_new(const struct tide_watch_options *options);
void tide_watch_free(struct tide_watch *watch);

// The command itself cannot be recorded, or not as a whole: before it starts.
void tide_watch_unfit_command(struct tide_watch *watch, const char *exe, enum tide_why why,
                              const char *detail);

bool tide_watch_receive(void *watch, const struct tide_door_visit *visit); // a tide_door_receive
enum tide_err tide_watch_start(struct tide_watch *watch, struct tide_diag *diag);

// The command has ended, and others that came of it are watched on.
void tide_watch_root_ended(struct tide_watch *watch, const struct tide_watch_end *end);

// A dump is wanted now; nothing where there are none.
void tide_watch_dump(struct tide_watch *watch);

// Ends the watching: images that still run are taken as they are now and counted in n_running, and
// whoever asks something is told that it is over. The door must be closed. The capture is the
// caller's; without images if none was recorded.
struct tide_capture *tide_watch_stop(struct tide_watch *watch, const struct tide_watch_end *end,
                                     uint32_t *ret_n_running);

// Is recording off for now? From any thread.
bool tide_watch_is_paused(struct tide_watch *watch);

// Did anybody come through the door at all?
bool tide_watch_was_visited(const struct tide_watch *watch);
// Why somebody who came could not be given a store; 0: nobody.
int tide_watch_store_errno(const struct tide_watch *watch);
