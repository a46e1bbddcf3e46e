// SPDX-License-Identifier: Apache-2.0
//
// Who is in which region of the live map, and how to wait for them.
//
// A rebuild waits for whoever is in the region. A thread that stays there for long was stopped, or
// killed, or a signal handler of it never returned: then its table is left to it for good, what it
// still does there is lost, and the loss is counted. A table that stays closed for long is given
// up: what is allocated there is counted as lost, what is freed as unknown.
#pragma once
#include "store/live_map.h"

void tide_stations_init(void);
void tide_stations_after_fork(void);
void tide_live_station_add(struct tide_station *s);
// From now on no system call will be needed to rebuild a table.
void tide_live_confine(void);

// Waits until a table is open again, or gone. False: it stays closed.
bool tide_live_wait_for_table(uint64_t *region);

// Everybody has left; somebody stays; it cannot be told.
enum tide_quiet { TIDE_QUIET, TIDE_HELD_UP, TIDE_BLIND };

// Waits until nobody but self is in a region whose table is closed.
enum tide_quiet tide_live_quieten(const struct tide_station *self, const uint64_t *region);
