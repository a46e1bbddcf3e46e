// SPDX-License-Identifier: Apache-2.0
//
// What a tracer and the agent that it puts into a process tell each other. The tracer fills it in
// before the first jump is written; from then on it only reads.
//
// Freestanding: included by the agent and by the tracer.
#pragma once
#include "store/roles.h"

#include <stdint.h>

#define TIDE_AGENT_MAGIC UINT64_C(0x746e656761656474) // "tdeagent"
#define TIDE_AGENT_VERSION 1u

enum { TIDE_AGENT_HOOKS = 256, TIDE_AGENT_PATH_BYTES = 1024, TIDE_AGENT_COMMAND_BYTES = 4096 };

struct tide_agent_hook {
  uint64_t real; // what the patch has displaced
  uint32_t role; // enum tide_role
  uint32_t family;
};

struct tide_agent_face {
  uint64_t store_at; // by the agent: where the store is mapped; 0: not yet
  // The rest by the tracer.
  uint64_t magic;
  uint32_t version, n_hooks;
  // The store: a descriptor of the process's, which the agent closes.
  int32_t store_fd;
  uint32_t depth_limit;
  uint64_t store_bytes;
  // The process, as its auxiliary vector and its threads tell.
  uint64_t page_bytes, vdso, stack_top, stack_origin;
  uint32_t tracer_pid, tracer_born; // who attached, and when in clock ticks: see proc(5)
  uint32_t tid_offset; // from the thread pointer, where libc keeps the thread's number; 0: nowhere
  uint32_t command_bytes;
  struct tide_agent_hook hooks[TIDE_AGENT_HOOKS];
  char program[TIDE_AGENT_PATH_BYTES];
  char allocator[TIDE_AGENT_PATH_BYTES];
  char command[TIDE_AGENT_COMMAND_BYTES]; // arguments, each with its NUL
};

enum { TIDE_AGENT_SEAT_BITS = 14, TIDE_AGENT_SEATS = 1 << TIDE_AGENT_SEAT_BITS };
enum { TIDE_AGENT_SEAT_BYTES = 64 }; // the place, and what is the agent's alone

// One of the agent's threads, by thread pointer. Of each the tracer looks at `inside`.
struct tide_agent_place {
  uint64_t thread_pointer; // 0: free
  uint32_t tid;
  uint32_t inside; // hooks that the thread is in: what an allocator calls by itself is not counted
};
