// SPDX-License-Identifier: Apache-2.0
//
// Where a run's ushers come from (usher.h). They are forked off by a process that was made when the
// run had one thread and no descriptors of others', and does nothing else: the nursery. What they
// say is heard by a thread.
#pragma once
#include "base/err.h"
#include "supervise/door.h"
#include "supervise/usher.h"

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
