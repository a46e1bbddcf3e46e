// SPDX-License-Identifier: Apache-2.0
//
// The beat: milliseconds counted in each living store, so that a recorder need not read the clock
// at every event to know that time has passed (record/clock.h). The one thing the supervisor writes
// into a store. A thread of its own, slower while nobody looks, asleep while there is no store.
#pragma once
#include <stdint.h>

struct tide_heart;

struct tide_heart *tide_heart_new(void);
void tide_heart_free(struct tide_heart *heart); // NULL is fine

// Beats for the store behind fd until removed; the descriptor may be closed meanwhile. NULL: it
// could not be mapped, and the store goes without.
uint32_t *tide_heart_add(struct tide_heart *heart, int fd);
void tide_heart_remove(struct tide_heart *heart, uint32_t *beat); // NULL is fine
