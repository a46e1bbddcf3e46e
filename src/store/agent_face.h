// SPDX-License-Identifier: Apache-2.0
//
// What a tracer and the agent that it puts into a process tell each other. The tracer fills it in
// before the first jump is written; from then on it only reads, until a library with another
// allocator is loaded: then it adds that one's hooks before the jumps to them.
//
// Freestanding: included by the agent and by the tracer.
#pragma once
#include "rt/base.h"
#include "store/codes.h"

#include <stdint.h>

#define TIDE_AGENT_MAGIC UINT64_C(0x746e656761656474) // "tdeagent"
#define TIDE_AGENT_VERSION 12u
#define TIDE_AGENT_STORE_NAME "tidemark-agent-store"
#define TIDE_AGENT_MARK UINT64_C(0x316b72616d656474) // "tdemark1"

// At the very beginning of the agent's code, from the moment that it is mapped: by this, another
// tracer finds what one that was killed has left.
struct tide_agent_mark {
  uint64_t magic;
  uint32_t version;
  uint32_t tracer_pid, tracer_born; // whose recording it is, and its birth in clock ticks: proc(5)
  uint32_t target_pid;              // a fork child has its parent's
  uint64_t base, code_bytes, n_bytes, face;
};

enum { TIDE_AGENT_RANGES = 64, TIDE_AGENT_OBJECTS = 1024, TIDE_AGENT_TABLES = 16 };
enum {
  TIDE_AGENT_HOOKS = 256,
  TIDE_AGENT_PATH_BYTES = 1024,
  TIDE_AGENT_COMMAND_BYTES = 4096,
  TIDE_AGENT_DOOR_BYTES = 128,
  TIDE_AGENT_UNHOOKED_BYTES = 128,
  TIDE_AGENT_REFUSED_BYTES = 256,
};

struct tide_agent_hook {
  uint64_t real;    // what the patch has displaced
  uint64_t nothrow; // of an operator new that throws: the same of one that gives NULL; 0: none
  uint32_t role;    // enum tide_role
  uint32_t family;
  uint64_t tag;               // family and call, where a stack's first address has them
  uint64_t own_lo, own_bytes; // code that is not the program's when it calls this; 0 bytes: none
  uint32_t is_later;          // it came when blocks were known to be apart: its own may not be
};

enum { TIDE_AGENT_TAG_SHIFT = 57 };

// Where islands lead callers that keep to the calling convention; 0: where they lead all.
struct tide_agent_quick {
  uint64_t alloc, malloc, free, ask;
};

// Unwind information of an object that has no table of it to search in.
struct tide_agent_table {
  uint64_t code;      // an address in the object
  uint64_t at, bytes; // as .eh_frame_hdr would be
};

struct tide_agent_face {
  // By the agent.
  uint64_t store_at;   // where the store is mapped; 0: not yet
  uint64_t own_ranges; // a table of what else it has mapped (rt/sys.h); 0: nothing yet
  uint32_t n_seatless; // threads that are in a hook and have no place
  uint64_t apart_at;   // a byte, whether it counts on blocks_are_apart; 0: not yet
  // The rest by the tracer.
  uint64_t magic;
  uint32_t version, n_hooks;
  // The store: mapped already, or else a descriptor of the process's, which the agent closes.
  uint64_t store_given; // where; 0: it is not
  int32_t store_fd;
  uint32_t depth_limit;
  uint32_t sample_bits; // one sample for 2^n bytes; 0: all events
  uint64_t store_bytes;
  // The process, as its auxiliary vector and its threads tell.
  uint64_t page_bytes, vdso, stack_top, stack_origin;
  uint32_t blocks_are_apart; // begin at least 32 bytes apart: glibc's malloc, and no other
  int32_t tid_offset; // from the thread pointer, where libc keeps the thread's number; 0: nowhere
  uint32_t tid_mask;  // all ones, or 0 where it is nowhere
  uint32_t command_bytes;
  // What the tracer maps for it: code, data, then islands.
  uint32_t n_ranges;
  struct tide_range ranges[TIDE_AGENT_RANGES];
  uint64_t maps_at, maps_bytes; // what /proc/self/maps said, where the process sees none; 0
  uint32_t n_tables;
  struct tide_agent_table tables[TIDE_AGENT_TABLES];
  uint64_t enter, enter_new; // where islands lead
  struct tide_agent_quick quick;
  uint64_t loader_state; // an int of the loader's, 0 when all that it maps is there; 0: nowhere
  uint64_t objects[TIDE_AGENT_OBJECTS]; // what was looked at, a number each; 0: none
  uint64_t seats; // of struct tide_agent_place and more, TIDE_AGENT_SEAT_BYTES each
  struct tide_agent_hook hooks[TIDE_AGENT_HOOKS];
  char door[TIDE_AGENT_DOOR_BYTES];    // where fork children ask for stores; "": they do not
  char library[TIDE_AGENT_PATH_BYTES]; // what programs that it becomes or starts preload; ""
  char program[TIDE_AGENT_PATH_BYTES];
  char allocator[TIDE_AGENT_PATH_BYTES];
  char command[TIDE_AGENT_COMMAND_BYTES]; // arguments, each with its NUL
  // Functions that could not be hooked, of an allocator that has no other way in, and why; "".
  char unhooked[TIDE_AGENT_UNHOOKED_BYTES];
  char refused[TIDE_AGENT_REFUSED_BYTES]; // all functions of allocators that could not be; ""
};

enum { TIDE_AGENT_SEAT_BITS = 14, TIDE_AGENT_SEATS = 1 << TIDE_AGENT_SEAT_BITS };
enum { TIDE_AGENT_SEAT_SHIFT = 7 };
enum {
  TIDE_AGENT_SEAT_BYTES = 1 << TIDE_AGENT_SEAT_SHIFT
}; // the place, and what is the agent's alone

// One of the agent's threads, by thread pointer. Of each the tracer looks at `inside`.
struct tide_agent_place {
  uint64_t thread_pointer; // 0: free
  uint32_t tid;
  uint32_t inside; // hooks that the thread is in: what an allocator calls by itself is not counted
  uint32_t mark;   // of the outermost of them: its caller's stack pointer, the lower half
  uint32_t inner_tag; // the agent's own
};

enum { TIDE_AGENT_STACK_BYTES = 64 << 20 };

// A thread that has jumped out of a hook is above it on the same stack, and stays inside of it to
// the end of its days. sp: its stack pointer now.
static inline int tide_agent_is_above(const struct tide_agent_place *place, uint64_t sp)
{
  return (uint32_t)sp - place->mark < TIDE_AGENT_STACK_BYTES;
}
