// SPDX-License-Identifier: Apache-2.0
//
// Allocators by the names of their functions (families.def). A linker drops what nobody calls, so
// that any one function that only this allocator has is enough to know it by. Names may have a
// prefix that the allocator's builder chose: _rjem_ of the Rust crate, je_ of others.
#pragma once
#include "attach/loaded.h"
#include "store/agent_face.h"
#include "store/codes.h"

// A function of an allocator in a process.
struct tide_hookable {
  const struct tide_loaded *loaded;
  char name[64];
  enum tide_family family;
  enum tide_role role;
  uint64_t at, bytes;
};

struct tide_hookables {
  struct tide_hookable *all;
  size_t n, cap;
};

// Finds functions of programs without symbols by their code. dirs: as tide_loaded_list_make has it.
void tide_hookables_sign(struct tide_loaded_list *list, const char *debug_dirs);

// The entries of every allocator in the objects, each address once. The list must outlive them.
void tide_hookables_find(const struct tide_loaded_list *list, struct tide_hookables *ret_entries);
// Where the process becomes another program: execve, by which libc does all of it.
void tide_hookables_find_exec(const struct tide_loaded_list *list,
                              struct tide_hookables *ret_entries);
// Where it may put a filter on itself: prctl and syscall.
void tide_hookables_find_vows(const struct tide_loaded_list *list,
                              struct tide_hookables *ret_entries);
// Where the loader says that libraries have come or gone: _dl_debug_state.
void tide_hookables_find_loads(const struct tide_loaded_list *list,
                               struct tide_hookables *ret_entries);
// Where programs and libraries ask their recorder (tidemark.h): added to the entries (doors.c).
void tide_hookables_find_doors(const struct tide_loaded_list *list, struct tide_hookables *entries);
void tide_hookables_done(struct tide_hookables *entries);
