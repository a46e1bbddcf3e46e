// SPDX-License-Identifier: Apache-2.0
//
// What the process was started with: what lies on its initial stack (the first hook call may come
// before libc has set up environ), the options among it, and the filters it is under.
#pragma once
#include "rt/base.h"

struct tide_environment {
  const char *const *argv; // as on the initial stack
  uint64_t argc;
  const char *options;         // value of TIDEMARK_OPTIONS; "" when not set
  const char *preload;         // value of LD_PRELOAD; ""
  uint64_t vdso;               // start of the vDSO; 0: none
  uint64_t headers, n_headers; // of the program; 0: not told
  uint64_t loader; // where the kernel put it; 0: it was run itself, and given the program to load
  uint64_t stack_top;    // of the main thread
  uint64_t stack_origin; // its stack pointer when the process began
};

void tide_environment_read(struct tide_environment *ret_environment);

// TIDEMARK_OPTIONS="key=value,…". Unknown keys are reported once, never fatal.
struct tide_options {
  char door[108];       // socket=NAME: the supervisor's door, an abstract socket
  char output[1024];    // out=PATTERN: the store file without a supervisor; %p pid, %n program
  uint32_t depth;       // depth=N: keep at most N frames per stack; 0: all
  bool paused;          // paused: recording is off at first
  uint32_t sample_bits; // sample=N: record one block for 2^N bytes; 0: all
  uint64_t sample_seed; // seed=N: of the samples; 0: another one each time
  uint32_t filters; // filters=N: seccomp filters that the supervisor is under; UINT32_MAX: not said
  bool follow;      // follow=0: leave fork children and exec successors alone
  char unknown[64]; // the first key we do not know; "" when all is well
};

void tide_options_parse(const char *text, struct tide_options *ret_options);

// Was a filter put on this process after the run began, before this image did? Told by
// /proc/self/status, which takes only calls that the loader has made already. run_filters: how many
// the supervisor itself is under; UINT32_MAX: not known, and the ancestors are asked instead.
bool tide_sandbox_inherited(uint32_t run_filters);

// ---- what is kept of it ----
//
// What is kept of a process's start, by start.c and exec_env.c. Together, for most of it is empty:
// each page of its own would cost every process a fault, and every fork its copy.

struct tide_start_texts {
  char program[1024]; // its path
  char library[1024]; // path of this library
  struct tide_options options;
  char options_entry[4096]; // "TIDEMARK_OPTIONS=…"
};

extern struct tide_start_texts tide_start_texts;
