// SPDX-License-Identifier: Apache-2.0
//
// The calling thread, known by its thread pointer: the agent has no thread-local storage of its
// own. glibc gives a dead thread's pointer to the next one, musl never does, so each place says
// whose it is by the thread's number, too, and those of threads that have ended are given away. A
// fork child has its parent's places, and takes them over one by one.
#pragma once
#include "record/thread.h"
#include "store/agent_face.h"

extern struct tide_agent_face tide_agent_face;

struct tide_agent_seat {
  struct tide_agent_place place;
  struct tide_seat seat;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct tide_agent_seat) == TIDE_AGENT_SEAT_BYTES, "as the tracer has it");

extern struct tide_agent_seat tide_agent_seats[TIDE_AGENT_SEATS];

struct tide_agent_seat *tide_agent_seat_slowly(uint64_t thread_pointer);

TIDE_HOT uint32_t tide_agent_home(uint64_t thread_pointer)
{
  return (uint32_t)(tide_mix64(thread_pointer) >> (64 - TIDE_AGENT_SEAT_BITS));
}

// Is the place still that of the thread that took it?
TIDE_HOT bool tide_agent_is_of(const struct tide_agent_place *place, uint64_t thread_pointer)
{
  int64_t offset = tide_agent_face.tid_offset;
  return place->thread_pointer == thread_pointer &&
         (!offset || *(const uint32_t *)(thread_pointer + (uint64_t)offset) == place->tid);
}

// NULL: there is no place for it.
TIDE_HOT struct tide_agent_seat *tide_agent_seat(void)
{
  uint64_t tp = (uint64_t)__builtin_thread_pointer();
  struct tide_agent_seat *seat = &tide_agent_seats[tide_agent_home(tp)];
  return TIDE_LIKELY(tide_agent_is_of(&seat->place, tp)) ? seat : tide_agent_seat_slowly(tp);
}
