// SPDX-License-Identifier: Apache-2.0
//
// A process by its descriptor: whose child it is, and how it ended. What is found in /proc costs
// ten times as much, and is asked where the kernel is too old for this.
#pragma once
#include "model/model.h"

// The process at the other end of a connection, from the moment it connected on; -1: the kernel
// cannot tell (before 6.5). The caller's to close.
int tide_pid_fd_of_peer(int connection);

struct tide_pid_origin {
  uint32_t parent;   // as we see it; 0: not to be seen
  uint64_t identity; // one process's alone as long as the machine runs, whatever it executes
};

// False: the kernel cannot tell (before 6.13), the process has ended, or it is not that one.
bool tide_pid_origin(int pid_fd, uint32_t pid, struct tide_pid_origin *ret_origin);

// How a process ended that is not our child, and so not ours to wait for.
//
// Asks the kernel by pidfd (since 6.15 it remembers after the parent has waited), and the zombie
// before. EXITED with the value -1 when nobody knows any more. True: the pidfd told, so that there
// is no hurry to ask on this kernel.
bool tide_pid_end(int pid_fd, uint32_t pid, enum tide_end_kind *ret_kind, int32_t *ret_value);
