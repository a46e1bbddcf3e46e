// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of one thread of a process, by /proc, whether it is stopped or not.
#pragma once
#include "attach/stopped_regs.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

bool tide_thread_has_ended(pid_t pid, pid_t tid);
bool tide_threads_have_ended(pid_t pid); // all of them, whether anybody has waited for it or not

pid_t tide_thread_tracer(pid_t pid, pid_t tid); // who traces it; 0: nobody

// Will a handler of the program run when the thread goes on? For a pending signal, or for `signal`
// (0: none), which it is stopped with.
bool tide_thread_expects_handler(pid_t pid, pid_t tid, int signal);

// The call that it waits in. One that runs is in none.
struct tide_waiting tide_thread_waiting(pid_t pid, pid_t tid);

// Does it wait for a child to end or to become another program? It cannot be stopped until then.
bool tide_thread_waits_for_vfork(pid_t pid, pid_t tid);
bool tide_threads_wait_for_vfork(pid_t pid); // any of them

// Has it children of its own? False where the kernel does not tell (CONFIG_PROC_CHILDREN).
bool tide_thread_has_children(pid_t pid, pid_t tid);

// How often it has run; it counts up.
uint64_t tide_thread_runs(pid_t pid, pid_t tid);

// Its number as it knows it itself: in the innermost of its namespaces.
uint32_t tide_thread_own_number(pid_t pid, pid_t tid);
