// SPDX-License-Identifier: Apache-2.0
//
// What is said at the desk of a recording (supervise/desk.h): one packet there, one back.
#pragma once
#include <stdint.h>

#define TIDE_DESK_NAME "tidemark-desk-" // what follows is the supervisor's pid and a random number
#define TIDE_DESK_MAGIC 0x4b534544u     // "DESK"
#define TIDE_DESK_VERSION 1u
enum { TIDE_DESK_NAME_BYTES = 64, TIDE_DESK_TEXT_BYTES = 512 };

enum tide_desk_verb {
  TIDE_DESK_STATE,
  TIDE_DESK_OFF,
  TIDE_DESK_ON,
  TIDE_DESK_MARK,   // name
  TIDE_DESK_SAMPLE, // sample_bits
  TIDE_DESK_DUMP,   // the answer comes with a memfd, the bytes of a .tide file
  TIDE_DESK_SNAPSHOT,
  TIDE_DESK_RESET,
};

struct tide_desk_ask {
  uint32_t magic, version;
  uint32_t pid; // a process of the recording, or the supervisor itself; 0: the one that asks
  uint32_t verb;
  uint32_t sample_bits; // one sample for 2^n bytes
  char name[TIDE_DESK_NAME_BYTES];
};

enum tide_desk_status {
  TIDE_DESK_DONE,
  TIDE_DESK_NOT_HERE, // the process is another's
  TIDE_DESK_DENIED,   // it is here, and who asks is of another user
  TIDE_DESK_FAILED,   // text says why
};

struct tide_desk_answer {
  uint32_t magic, version, status;
  uint32_t n_processes;  // that are recorded now
  uint32_t n_changed;    // of these, to whom it made a difference
  uint32_t is_paused;    // recording is off
  uint64_t sample_bytes; // 0: every event is recorded
  char text[TIDE_DESK_TEXT_BYTES];
};
