// SPDX-License-Identifier: Apache-2.0
//
// The objects whose code has been met in stacks, each recorded once with its path, build id and
// address range; and what happens when one goes and another comes to the same addresses.
#pragma once
#include "rt/base.h"

struct tide_object;

void tide_modules_init(const char *program); // path of the program itself; copied
void tide_modules_after_fork(void);          // the same objects, but a new store
// For the unwinder: see unwind/host.h.
bool tide_modules_find(uint64_t pc, struct tide_object *ret_object);
void tide_modules_meet(struct tide_object *object);

// Id of the loaded module that holds pc; 0: none known.
uint32_t tide_modules_at(uint64_t pc);
// Meets every loaded object: later there may be no way to. Takes the loader's lock, so it is called
// on behalf of the program's own calls alone.
void tide_modules_meet_all(void);
// Code was unloaded: find out whose.
void tide_modules_unloaded(void);
