// SPDX-License-Identifier: Apache-2.0
//
// One process taken through its exec and, if the preloaded recorder would not see all of it, given
// the agent before it has run an instruction. The usher is a process of its own, made for that one
// and gone when it is done: nobody stays traced, and its death harms nobody.
//
// It speaks to the supervisor through a socket, in packets: SEIZED or REFUSED first, then how it
// went. A word from there, or the other end's closing, means: let it go.
#pragma once
#include "base/err.h"
#include "store/codes.h"
#include "supervise/door.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum tide_how { TIDE_HOW_PRELOAD, TIDE_HOW_AUTO, TIDE_HOW_AGENT };

struct tide_usher_house { // the same for all of a run
  const char *agent, *library, *door;
  uint32_t depth;
  enum tide_how how;
  bool follows; // its fork children are recorded, too
};

struct tide_usher_order {
  pid_t tid;   // who is about to exec
  bool spawns; // or to start a process that will
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
  bool is_spawned;   // the order was for one who starts it
  enum tide_why why; // what it is, when preloads do not cover it
  char text[512];
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
// Where a run's ushers come from (usher.h). They are forked off by a process that was made when the
// run had one thread and no descriptors of others', and does nothing else: the nursery. What they
// say is heard by a thread.

struct tide_agents;

// Makes the nursery. Call it before any thread is started. What house points to must be there now.
enum tide_err tide_agents_new(const struct tide_usher_house *house, struct tide_agents **ret_agents,
                              struct tide_diag *diag);
// From now on there may be threads; ushers are heard.
enum tide_err tide_agents_listen(struct tide_agents *agents, tide_door_receive *receive,
                                 void *context, struct tide_diag *diag);
// Whoever is on the way is let go. NULL is fine.
void tide_agents_free(struct tide_agents *agents);

// Has a process taken through the exec that it is about to make, and waits until it is held, a
// second at most. True: it is. False: it goes on alone; *ret_why is then its reason.
bool tide_agents_take(struct tide_agents *agents, const struct tide_usher_order *order,
                      char ret_why[512]);
// Its exec has failed: it is what it was.
void tide_agents_leave(struct tide_agents *agents, pid_t tid);

// What came of the first process that was taken: waits until that is known. False: nothing was
// said.
bool tide_agents_await(struct tide_agents *agents, struct tide_usher_word *ret_word);
