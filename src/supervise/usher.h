// SPDX-License-Identifier: Apache-2.0
//
// One process taken through its exec and, if the preloaded recorder would not see all of it, given
// the agent before it has run an instruction. The usher is a process of its own, made for that one
// and gone when it is done: nobody stays traced, and its death harms nobody.
//
// It speaks to the supervisor through a socket, in packets: SEIZED or REFUSED first, then how it
// went. A word from there, or the other end's closing, means: let it go.
#pragma once
#include "store/codes.h"
#include "supervise/door.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum tide_how {
  TIDE_HOW_AUTO, // preloads, and the agent where they do not cover a program
  TIDE_HOW_PRELOAD,
  TIDE_HOW_AGENT,
};

struct tide_usher_house { // the same for all of a run
  const char *agent, *library, *door;
  const char *debug_dirs; // for symbols of allocators; NULL: the usual ones
  uint32_t depth, sample_bits;
  enum tide_how how;
  bool follows; // its fork children are recorded, too
  uint32_t pid; // the run's own process
};

struct tide_usher_order {
  pid_t tid;        // who is about to exec
  bool spawns;      // or to start a process that will
  bool is_command;  // it is what the user started
  bool looks_again; // no exec: tid has the agent, and its libraries have come or gone
  char program[64]; // the name of what it becomes, for sentences; "" where that is not needed
};

enum tide_usher_step {
  TIDE_USHER_SEIZED,
  TIDE_USHER_REFUSED,  // it may not be traced: text says why
  TIDE_USHER_ATTACHED, // it has the agent: pid_fd and store_fd are the receiver's
  TIDE_USHER_COVERED,  // the preloaded recorder sees all of it, or it is left alone as ever
  TIDE_USHER_FAILED,   // it goes without the agent: text says why
};

struct tide_usher_word {
  enum tide_usher_step step;
  uint32_t pid, parent;
  uint64_t born;
  uint32_t n_hooked, families;
  bool is_spawned;      // the order was for one who starts it
  enum tide_why why;    // what it is, when preloads do not cover it
  char program[16];     // its name
  char text[512];       // with ATTACHED: functions of an allocator that could not be hooked; ""
  int pid_fd, store_fd; // with ATTACHED alone; else -1
};

_Noreturn void tide_usher(const struct tide_usher_house *house,
                          const struct tide_usher_order *order, int words);

// Can the agent be of use where a program is unfit for the preloaded recorder?
bool tide_usher_could_help(enum tide_why why, const char *detail);

// False: there is nobody at the other end any more.
bool tide_usher_hear(int words, struct tide_usher_word *ret_word);

// ---- the nursery ----
//
// Where a run's ushers come from. They are forked off by a process that does nothing else and has
// no descriptors of others': the nursery. It is made when the first of them is needed. What they
// say is heard by a thread.

struct tide_agents;

// What house points to must be there as long as the agents. They tell `receive` whom they took.
struct tide_agents *tide_agents_new(const struct tide_usher_house *house,
                                    tide_door_receive *receive, void *context);
// Makes the nursery now: call it before any thread is started. Such a nursery is no child that the
// run waits for, whereas one that is made later is. False: errno says why.
bool tide_agents_prepare(struct tide_agents *agents);
// Whoever is on the way is let go. NULL is fine. Returns a sentence about those that the agent
// could have recorded and could not be put into, the first of them with its reason; NULL: there
// were none but the command, of which the caller knows. free().
char *tide_agents_free(struct tide_agents *agents);

// Has a process taken through the exec that it is about to make, and waits until it is held, a
// second at most. True: it is. False: it goes on alone; *ret_why is then its reason. One thread at
// a time.
bool tide_agents_take(struct tide_agents *agents, const struct tide_usher_order *order,
                      char ret_why[512]);
// A process that has the agent says that its libraries have come or gone: an usher looks. Any
// thread; does not wait.
void tide_agents_look_again(struct tide_agents *agents, uint32_t pid);
// Its exec has failed: it is what it was.
void tide_agents_leave(struct tide_agents *agents, pid_t tid);

// What came of the command: waits until that is known. False: it was not taken.
bool tide_agents_await(struct tide_agents *agents, struct tide_usher_word *ret_word);
