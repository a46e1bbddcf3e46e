// SPDX-License-Identifier: Apache-2.0
//
// Where a store comes from: the supervisor hands out a memfd at its door, or, with a bare
// LD_PRELOAD, a plain file is made. No descriptor stays open either way.
#pragma once
#include "rt/base.h"

// The first message through the door, and the answer. The answer carries one descriptor.
#define TIDE_DOOR_MAGIC 0x45444954u // "TIDE"
enum { TIDE_DOOR_VERSION = 1, TIDE_DOOR_SECONDS = 5 };
// Flags: a fork child asks; and words about a process without a store (see supervise/door.h).
enum { TIDE_DOOR_FORK = 1, TIDE_DOOR_ABSENT = 2, TIDE_DOOR_STAYED = 4, TIDE_DOOR_PASSING = 8 };
enum { TIDE_DOOR_NOT_OF_THE_RUN = 2 }; // status
struct tide_door_hello {
  uint32_t magic, version, pid, flags;
  uint64_t store_bytes;
  uint32_t parent_pid, why;
};
struct tide_door_answer {
  uint32_t magic, status; // 0: here is your store; else: go on without
};

enum tide_door_outcome {
  TIDE_DOOR_SERVED,
  TIDE_DOOR_REFUSED,  // the supervisor would rather not
  TIDE_DOOR_OUTSIDE,  // the supervisor says that this is no process of its run
  TIDE_DOOR_NOBODY,   // there is no supervisor, or no descriptor to reach it with
  TIDE_DOOR_SILENT,   // it does not answer in time
  TIDE_DOOR_STRANGER, // another user answers
  TIDE_DOOR_UNSAFE,   // it gave something that could be pulled away from under us, or too little
  TIDE_DOOR_NO_ROOM,  // it gave a store, which could not be mapped
};

// Maps a store of hello->store_bytes handed out at the named door. Of a stranger nothing is taken,
// and nothing is told. NULL: not to be had, for the reason that is no service.
void *tide_door_store(const char *name, const struct tide_door_hello *hello,
                      enum tide_door_outcome *ret_outcome);

// Says a word at the door, with a path behind it, and waits until it was heard, as long.
void tide_door_tell(const char *name, const struct tide_door_hello *hello, const char *path);

// Maps a new file of that size, readable by its user alone; pattern may hold %p (pid) and %n
// (program). The name is written to name. NULL: it could not be made.
void *tide_door_file(const char *pattern, const char *program, uint64_t bytes, char *name,
                     size_t name_cap);
