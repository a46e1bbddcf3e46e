// SPDX-License-Identifier: Apache-2.0
//
// What was found of programs without symbols (signature.h), kept for the processes that are forked
// off afterwards: a program that is started a hundred times is compared with the archives once.
// Theirs is the same memory, so whatever one of them finds the next has. Room is bounded; what
// finds none is found again.
#pragma once
#include "attach/loaded.h"

// Makes the shelf. Without one nothing is kept.
void tide_shelf_make(void);

// Gives loaded the functions that were found of the same file, if they were: not changed since, and
// with the same directories. False: they are not known.
bool tide_shelf_take(struct tide_loaded *loaded, const char *dirs);
// Keeps those that loaded has.
void tide_shelf_put(const struct tide_loaded *loaded, const char *dirs);
