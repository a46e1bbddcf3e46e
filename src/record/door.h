// SPDX-License-Identifier: Apache-2.0
//
// Where a store comes from: the supervisor hands out a memfd at its door, or, with a bare
// LD_PRELOAD, a plain file is made. No descriptor stays open either way.
#pragma once
#include "rt/base.h"
#include "store/door_words.h"

enum { TIDE_DOOR_SECONDS = 5 }; // to wait for an answer

enum tide_door_outcome {
  TIDE_DOOR_SERVED,
  TIDE_DOOR_REFUSED,  // the supervisor would rather not
  TIDE_DOOR_OUTSIDE,  // the supervisor says that this is no process of its run
  TIDE_DOOR_NOBODY,   // there is no supervisor, or no descriptor to reach it with
  TIDE_DOOR_SILENT,   // it does not answer in time
  TIDE_DOOR_STRANGER, // another user answers
  TIDE_DOOR_UNSAFE,   // it gave something that could be pulled away from under us, or too little
  TIDE_DOOR_NO_ROOM,  // it gave a store, which could not be mapped
  TIDE_DOOR_SEEN_TO,  // a word was heard, and the program it was about will be recorded
};

// Maps a store of hello->store_bytes handed out at the named door. Of a stranger nothing is taken,
// and nothing is told. NULL: not to be had, for the reason that is no service.
void *tide_door_store(const char *name, const struct tide_door_hello *hello,
                      enum tide_door_outcome *ret_outcome);

// Maps a store that is there already, a descriptor of which is taken over; NULL: it could be pulled
// away from under us, or there is no room.
void *tide_door_adopt(long memory, uint64_t bytes);

// Says a word at the door, with a path behind it, and waits until it was heard, as long. With
// `traced` the supervisor may trace this process, also where only ancestors may.
enum tide_door_outcome tide_door_tell(const char *name, const struct tide_door_hello *hello,
                                      const char *path, bool traced);

// One packet to whoever listens at an abstract name, and one back, within so many seconds: its
// bytes, or -errno; -EACCES: a stranger. A descriptor that comes along is the caller's to close;
// -1: none.
struct tide_packet {
  const void *out;
  void *in;
  size_t out_bytes, in_bytes;
};
long tide_door_exchange(const char *name, size_t name_bytes, const struct tide_packet *packet,
                        long seconds, long *ret_fd);

// Maps a new file of that size, readable by its user alone; pattern may hold %p (pid) and %n
// (program). The name is written to name. NULL: it could not be made.
void *tide_door_file(const char *pattern, const char *program, uint64_t bytes, char *name,
                     size_t name_cap);
