// SPDX-License-Identifier: Apache-2.0
//
// The beat: a counter in each living store that rises every millisecond, so that a recorder need
// not read the clock at every event to know that time has passed (record/clock.h). The one thing
// the supervisor writes into a store. A thread of its own, asleep while there is nothing to beat
// for.
#pragma once
#include <stdint.h>

struct tide_heart;

struct tide_heart *tide_heart_new(void);
void tide_heart_free(struct tide_heart *heart); // NULL is fine

// Beats for the store behind fd until removed; the descriptor may be closed meanwhile. NULL: it
// could not be mapped, and the store goes without.
uint32_t *tide_heart_add(struct tide_heart *heart, int fd);
void tide_heart_remove(struct tide_heart *heart, uint32_t *beat); // NULL is fine
