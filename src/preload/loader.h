// SPDX-License-Identifier: Apache-2.0
//
// What the loader has: objects, and the symbols that they define.
#pragma once
#include "unwind/host.h"

#include <link.h>

// The program's headers, as the kernel told it; before anything is asked for.
void tide_loader_set_program(uint64_t headers, uint64_t n);

// As tide_host has them.
bool tide_loader_object_at(uint64_t pc, struct tide_object *ret_object);
void tide_loader_each_object(void (*met)(uint64_t pc));

// Is a symbol there at all? dlsym says so too, but where it is not dlsym allocates its message
// through whatever malloc the program has; and that malloc, in the program itself where we do not
// hook it, may be the very one that called us, with its locks held.
struct tide_defined_table { // of symbols, as an object has it in memory
  const Elf64_Sym *symbols;
  const char *names;
  const uint32_t *gnu;  // DT_GNU_HASH
  const uint32_t *sysv; // DT_HASH, for objects that have no other
};

// The objects after the one that holds `address`, in the order of loading, to be asked for many
// names; good until one is unloaded.
enum { TIDE_DEFINED_TABLES = 16 };
struct tide_defined_scan {
  struct tide_defined_table tables[TIDE_DEFINED_TABLES];
  uint32_t n;
  const struct link_map *rest; // from here on they are searched without
};
void tide_defined_begin(const void *address, struct tide_defined_scan *ret_scan);
// Does one of them define `name`?
bool tide_defined_after(const struct tide_defined_scan *scan, const char *name);

// Does an object before it, so that everybody finds that definition first?
bool tide_defined_before(const void *address, const char *name);

// The function of that name as the code at pc, in an object loaded with RTLD_LOCAL or a dependency
// of one, would find it: in its own object, in those loaded with or after it (what it needs is
// usually among them), in any other. NULL: nowhere. dlsym would not do: of an object that was
// loaded as a dependency it knows no scope, and ends in a fault.
void *tide_defined_near(uint64_t pc, const char *name);
