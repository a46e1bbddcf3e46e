// SPDX-License-Identifier: Apache-2.0
//
// The door: where recorders come for a store. An abstract socket with a name of 128 random bits,
// told through the environment, so that a target in another root directory still finds it; and a
// second one of that name in /tmp, for targets in a network namespace of their own, which abstract
// names do not reach. One message from the recorder, one answer with a memfd, and the connection is
// over:
//
//   recorder  -> u32 magic 'TIDE', u32 version 1, u32 pid, u32 flags, u64 store bytes,
//                u32 parent pid, u32 0
//   supervisor -> u32 magic 'TIDE', u32 status (0: here you are, else: step aside), with the memfd
//                 attached, sized as asked
//
// The door is served by a thread of its own: a target that starts a process must never wait for
// anything else the supervisor does.
#pragma once
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TIDE_DOOR_MAGIC 0x45444954u // "TIDE"
#define TIDE_DOOR_VERSION 1u
#define TIDE_DOOR_MAX_STORE_BYTES (UINT64_C(64) << 40)
#define TIDE_DOOR_NAME_BYTES 64
#define TIDE_DOOR_DIRECTORY "/tmp/" // as the recorder knows it, too

enum { TIDE_DOOR_FORKED = 1 }; // flags: a fork child that has not exec'ed

struct tide_door_request {
  uint32_t magic, version, pid, flags;
  uint64_t store_bytes;
  uint32_t parent_pid, reserved;
};

struct tide_door_answer {
  uint32_t magic, status;
};

// Somebody came. The visitor's own words (told_*) may be of another pid namespace; pid is how we
// see it, 0 when we cannot.
struct tide_door_visit {
  uint32_t pid, told_pid, told_parent_pid, flags;
  int pid_fd;   // tells when it ends; -1 when that cannot be had. Owned by whoever takes the visit
  int store_fd; // the memfd; likewise. -1: the visitor has gone without
  int store_errno;  // why none could be made; 0: it did not wait for it
  uint64_t time_ns; // CLOCK_MONOTONIC
  uint64_t born;    // the process's start, on a clock of the kernel's; 0: not known. Tells an exec
                    // from a new process with a used pid
};

// Called on the door's thread. True: the visit was taken, with its descriptors; false: refused, as
// a visit without a store always is.
typedef bool tide_door_receive(void *context, const struct tide_door_visit *visit);

struct tide_door;

// Listens, and clears away what dead doors left; nobody is served before tide_door_serve(), but
// whoever comes meanwhile waits. The name is what goes into the recorder's options.
enum tide_err tide_door_open(struct tide_door **ret_door, struct tide_diag *diag);
const char *tide_door_name(const struct tide_door *door);
enum tide_err tide_door_serve(struct tide_door *door, tide_door_receive *receive, void *context,
                              struct tide_diag *diag);
// Stops serving, at once; whoever comes later finds nobody. Accepts NULL.
void tide_door_close(struct tide_door *door);

// Removes the sockets that killed supervisors of this user left in a directory ("…/").
void tide_door_sweep(const char *directory);

// A sparse memfd of the given size that its users cannot shrink; -1 and errno on failure.
int tide_door_make_store(uint64_t bytes);
