// SPDX-License-Identifier: Apache-2.0
//
// What is said at the door (supervise/door.h), where recorders come for a store. One message from
// the recorder, one answer, and the connection is over. With one of the flags of
// TIDE_DOOR_WORD_ONLY the message is a word about a process that goes without a store, and its
// answer says that it was heard.
//
// Freestanding: included by the recorder and by the supervisor.
#pragma once
#include <stdint.h>

#define TIDE_DOOR_MAGIC 0x45444954u // "TIDE"
#define TIDE_DOOR_VERSION 1u
#define TIDE_DOOR_DIRECTORY "/tmp/" // of the door's second socket

enum tide_door_flags {
  TIDE_DOOR_FORKED = 1, // a fork child asks, which has not exec'ed
  TIDE_DOOR_ABSENT = 2, // pid becomes (or, where pid is another, is already) the program whose path
                        // follows the message, and is not recorded because of `why`; parent_pid is
                        // the teller's own
  TIDE_DOOR_STAYED = 4, // that exec has failed: pid is what it was
  TIDE_DOOR_PASSING = 8, // a fork child that has lost its parent is about to exec: remember it
  TIDE_DOOR_SPAWNS = 16, // pid is about to start a process with the program whose path follows,
                         // which the preloaded recorder does not cover because of `why`
  TIDE_DOOR_WORD_ONLY = TIDE_DOOR_ABSENT | TIDE_DOOR_STAYED | TIDE_DOOR_PASSING | TIDE_DOOR_SPAWNS,
};

struct tide_door_hello {
  uint32_t magic, version, pid, flags;
  uint64_t store_bytes;     // of a word: the number of the thread that calls exec
  uint32_t parent_pid, why; // enum tide_why
};

enum tide_door_status {
  TIDE_DOOR_GIVEN = 0, // here you are: the store's memfd is attached, sized as asked. Or: heard
  TIDE_DOOR_TURNED_AWAY = 1,    // step aside
  TIDE_DOOR_NOT_OF_THE_RUN = 2, // step aside: not a process of this run
  TIDE_DOOR_TAKEN = 3,          // heard, and somebody sees to it that the program is recorded
};

struct tide_door_answer {
  uint32_t magic, status; // enum tide_door_status
};
