// SPDX-License-Identifier: Apache-2.0
//
// What the recorder's files tell each other: stacks to cells (intern.c), and the objects whose code
// has been met in stacks (modules.c), each recorded once with its path, build id and address range.
#pragma once
#include "record/thread.h"

struct tide_object;

// depth: keep at most so many frames of a stack; 0: all.
void tide_intern_init(uint32_t depth);

// This thread's cell of the stack f[0..n-1], outermost first, hashes filled in, below the given
// root node; the frames are told their nodes. Never NULL but when the store is full beyond even a
// shared "lost" cell.
struct tide_cell *tide_intern(struct tide_thread *t, struct tide_unwind_frame *f, uint64_t n,
                              uint32_t root);

void tide_modules_init(const char *program); // path of the program itself; kept, not copied
// For the unwinder: see unwind/host.h.
bool tide_modules_find(uint64_t pc, struct tide_object *ret_object);
void tide_modules_meet(struct tide_object *object);
// Id of the loaded module that holds pc; 0: none known.
uint32_t tide_modules_at(uint64_t pc);

void tide_modules_after_fork(void); // the same objects, but a new store
void tide_pages_after_fork(void);
uint64_t tide_pages_table(void); // address of what is known: struct tide_page_table
