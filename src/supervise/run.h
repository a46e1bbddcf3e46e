// SPDX-License-Identifier: Apache-2.0
//
// Running a command under the recorder. The supervisor starts the command with the recorder
// preloaded, hands every process image that comes of it a store, watches the stores without
// stopping anybody, and at the end has one capture of them all, written to a file as well.
//
// The command is as it would be without us: its file descriptors, signal mask and dispositions,
// process group, working directory, output and exit status. A terminal's Ctrl-C reaches it from the
// kernel; signals that another process sends to the supervisor are passed on to it.
#pragma once
#include "base/err.h"
#include "model/model.h"
#include "store/weight.h" // how often is sampled
#include "supervise/control.h"
#include "supervise/dumps.h"
#include "supervise/usher.h"

struct tide_run_options {
  char *const *argv;      // the command, NULL-terminated; argv[0] is looked up as execvp does
  const char *output;     // %p pid, %n program name, %% %; NULL: tidemark.%n.%p.tide
  const char *library;    // absolute path of libtidemark.so
  const char *agent;      // of libtidemark-agent.so; NULL: preloads only
  const char *debug_dirs; // for symbols of allocators; NULL: the usual ones
  enum tide_how how;      // AUTO: the agent where preloads do not see everything
  bool force;             // replace an existing output file
  bool redact_args;       // leave the arguments of all command lines out of the capture
  bool starts_paused;     // recording is off at first
  bool no_follow;         // record the command itself alone, not the processes it starts
  bool wait;              // record to their end also the processes that the command leaves behind
  bool finds_left;        // tell of those that it leaves behind and that have not allocated yet
  uint32_t depth;         // frames kept per stack, 0: all
  uint32_t sample_bits;   // one sample for 2^n bytes (store/weight.h), 0: every event
  const int *stdio; // the command's input, output and errors, each ours or above 2; NULL: ours
  // Called with one sentence, no newline, about what cannot be recorded and the way out, before the
  // command starts. May be NULL.
  void (*say)(void *say_context, const char *sentence);
  void *say_context;
  // Called when the command has ended and what it left behind is waited for. May be NULL.
  void (*waiting)(const char *command);
  // Called with the whole capture before it is written: to add what is known now and not later. May
  // be NULL.
  void (*complete)(struct tide_capture *capture);
  // Where the recording is told things and asked, from its start to its end: see control.h. NULL:
  // nowhere. Closed when tide_run() returns, whatever it returns.
  struct tide_control *control;
  const struct tide_dump_options *dumps; // NULL: none
  // For a companion that lives beside the recording, such as one who shows it. All may be NULL.
  void *companion;
  // Called on the caller's thread when the command has started: from now on there may be threads.
  void (*started)(void *companion, const char *output_path);
  // Processor time of the companion's so far, which is not what the recording costs.
  uint64_t (*spent_ns)(void *companion);
};

struct tide_run_result {
  struct tide_capture *capture; // never NULL; nothing was recorded (see note) when it has no
                                // image, or one that tide_image_is_unrecorded()
  char *output_path;            // the capture's file; NULL when none was written
  uint64_t output_bytes;        // its size
  char *note;                   // one sentence: why nothing was recorded; NULL when all is well
  char *agent_note;       // one sentence: whom of its children the agent could not record, and
                          // why; NULL: nobody needed it, or all had it
  char *dumps_note;       // what there is of dumps, and what was left out; NULL: none were wanted
  enum tide_err save_err; // the capture could not be saved: save_diag says why
  struct tide_diag save_diag;
  uint32_t pid;       // of the command
  int exit_status;    // 0..255, when term_signal is 0
  int term_signal;    // the signal that ended the command; the caller raises it again at its end
  bool core_dumped;   // … and left a core: disable our own before raising it again
  uint64_t wall_ns;   // from start to end of the command, or of the recording if that was earlier
  uint32_t n_running; // recorded processes that were still running when the recording ended
};

// Runs the command to its end. Fails only when it could not be started: TIDE_ERR_NOT_FOUND and
// TIDE_ERR_UNSUPPORTED are about the command (no such program; not executable), anything else
// about ourselves, TIDE_ERR_EXISTS about the output file. Call it before any thread is started.
// It blocks signals while it runs and restores them. Free the result with tide_run_result_done().
enum tide_err tide_run(const struct tide_run_options *options, struct tide_run_result *ret_result,
                       struct tide_diag *diag);

void tide_run_result_done(struct tide_run_result *result);

// The exit status for a failure of tide_run(): 127 not found, 126 not executable, 125 ourselves.
int tide_run_error_status(enum tide_err err);

// Ends this process by the signal that ended the command, without leaving a core of our own.
// Returns only if the signal does not end a process.
void tide_run_raise(int signal);
