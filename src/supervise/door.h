// SPDX-License-Identifier: Apache-2.0
//
// The door: where recorders come for a store. An abstract socket with a name of 128 random bits,
// told through the environment, so that a target in another root directory still finds it; and a
// second one of that name in /tmp, for targets in a network namespace of their own, which abstract
// names do not reach. What is said there is in store/door_words.h.
//
// Served are the run's own processes (supervise/kin.h). The door is served by a thread of its own:
// a target that starts a process must never wait for anything else the supervisor does.
#pragma once
#include "base/err.h"
#include "store/codes.h"
#include "store/door_words.h"
#include "supervise/kin.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TIDE_DOOR_MAX_STORE_BYTES (UINT64_C(64) << 40)
#define TIDE_DOOR_NAME_BYTES 64
#define TIDE_DOOR_PATH_BYTES 1024

// Somebody came. The visitor's own words (told_*) may be of another pid namespace; pid is how we
// see it, 0 when we cannot.
struct tide_door_visit {
  uint32_t pid, told_pid, told_parent_pid, flags;
  int pid_fd;   // tells when it ends; -1 when that cannot be had. Owned by whoever takes the visit
  int store_fd; // the memfd; likewise. -1: the visitor has gone without
  int store_errno;  // why none could be made; 0: it did not wait for it
  uint64_t time_ns; // CLOCK_MONOTONIC
  // Either tells an exec from a new process with a used pid; 0: not known.
  uint64_t identity; // of pidfd.h
  uint64_t born;     // the process's start, on a clock of the kernel's
  bool has_agent;    // it was given its store with the agent, at its beginning, and may be over
  // Of a word about a process without a store:
  enum tide_why why;
  const char *exe;     // valid during the call
  pid_t tid;           // the thread that calls exec; 0: not known
  uint32_t teller_pid; // who said so: the process itself, or the one that started it
};

// Called on the door's thread. True: the visit was taken, with its descriptors, or the program that
// a word is about is seen to; false: refused, as a visit without a store always is.
typedef bool tide_door_receive(void *context, const struct tide_door_visit *visit);

struct tide_door;

// Listens, and clears away what dead doors left; nobody is served before tide_door_serve(), but
// whoever comes meanwhile waits. The name is what goes into the recorder's options.
enum tide_err tide_door_open(struct tide_door **ret_door, struct tide_diag *diag);
const char *tide_door_name(const struct tide_door *door);
// kin must outlive the door.
enum tide_err tide_door_serve(struct tide_door *door, struct tide_kin *kin,
                              tide_door_receive *receive, void *context, struct tide_diag *diag);
// Stops serving, at once; whoever comes later finds nobody. Accepts NULL.
void tide_door_close(struct tide_door *door);

// Removes the sockets that killed supervisors of this user left in a directory ("…/").
void tide_door_sweep(const char *directory);

// A sparse memfd of the given size that its users cannot shrink; -1 and errno on failure.
int tide_door_make_store(uint64_t bytes);
