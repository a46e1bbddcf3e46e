// SPDX-License-Identifier: Apache-2.0
//
// The beat: milliseconds counted in each living store, so that a recorder need not read the clock
// at every event to know that time has passed (record/clock.h). The one thing the supervisor writes
// into a store. A thread of its own, slower while nobody looks, asleep while there is no store.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct tide_heart;

// A process with the agent says that libraries have come or gone. By the heart's thread; must not
// wait.
typedef void tide_heart_heard(void *context, uint32_t pid);

struct tide_heart *tide_heart_new(tide_heart_heard *heard, void *context); // heard may be NULL
void tide_heart_free(struct tide_heart *heart);                            // NULL is fine

// Beats for the store behind fd until removed; the descriptor may be closed meanwhile. has_agent:
// its process may have the agent, and tell of libraries. NULL: it could not be mapped, and the
// store goes without.
uint32_t *tide_heart_add(struct tide_heart *heart, int fd, uint32_t pid, bool has_agent);
void tide_heart_remove(struct tide_heart *heart, uint32_t *beat); // NULL is fine
