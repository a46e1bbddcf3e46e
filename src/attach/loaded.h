// SPDX-License-Identifier: Apache-2.0
//
// An ELF file that a process has loaded: where, its functions by name and by extent. Addresses are
// the process's unless they are said to be the file's.
#pragma once
#include "attach/outside.h"
#include "symbol/elf.h"

struct tide_extent { // of a function, by the unwind information: complete in stripped files, too
  uint64_t lo, hi;
  uint64_t frame; // address of its description
};

// Found by its code (attach/signature.h).
struct tide_signed_function {
  char *name;         // owned
  uint64_t at, bytes; // the file's address
};

struct tide_loaded {
  char *path;                  // as the process calls it
  struct tide_elf *elf;        // the file, as it is now
  struct tide_elf *debug;      // a separate file with its symbols; NULL: none
  uint64_t bias;               // process's address − file's
  uint64_t code_lo, code_hi;   // its code, as far as it comes from the file
  struct tide_extent *extents; // sorted, from the file's unwind information
  size_t n_extents, extents_cap;
  struct tide_signed_function *signed_functions;
  size_t n_signed, signed_cap;
  char *signed_by; // the archive that has the same code; NULL: none
};

struct tide_loaded_list {
  struct tide_loaded *all;
  size_t n, cap;
  struct { // what is mapped as code and cannot be looked into
    char *path;
    char *reason;
  } * unread;
  size_t n_unread, unread_cap;
};

// Every object that has code in the process. debug_dirs: as tide_debugfile_open has it.
void tide_loaded_list_make(const struct tide_outside *outside, const char *debug_dirs,
                           struct tide_loaded_list *ret_list);
// Of those alone that `is_wanted` says; a mapping of code each.
void tide_loaded_list_make_of(const struct tide_outside *outside, const char *debug_dirs,
                              bool (*is_wanted)(void *context, const struct tide_mapping *mapping),
                              void *context, struct tide_loaded_list *ret_list);
void tide_loaded_list_done(struct tide_loaded_list *list);

// One of them, from a file that nobody has loaded: everything as if its bias were 0.
enum tide_err tide_loaded_open_file(const char *path, const char *debug_dirs,
                                    struct tide_loaded *ret_loaded, struct tide_diag *diag);
void tide_loaded_done(struct tide_loaded *loaded);

struct tide_function {
  const char *name; // without a version
  uint64_t at, bytes;
};

// Calls each for every function that one of its symbol tables defines, or that is known by
// its code; some come twice.
void tide_loaded_each_function(const struct tide_loaded *loaded,
                               void (*each)(void *context, const struct tide_function *function),
                               void *context);

// Bytes of its code as they are in the file, also behind it on its last page; false: not there.
bool tide_loaded_read(const struct tide_loaded *loaded, uint64_t at, void *to, size_t n);

// The extent that an address is in; false: not known.
bool tide_loaded_extent(const struct tide_loaded *loaded, uint64_t address,
                        struct tide_extent *ret_extent);
// Has it a table to search its unwind information by? Static programs mostly have none.
bool tide_loaded_has_table(const struct tide_loaded *loaded);
// Calls each for every gap between functions in [lo, hi).
void tide_loaded_each_gap(const struct tide_loaded *loaded, uint64_t lo, uint64_t hi,
                          bool (*each)(void *context, struct tide_extent gap), void *context);

// ---- tables of unwind information ----
//
// A table to search an object's unwind information by, where the linker has made none: static
// programs have .eh_frame and no .eh_frame_hdr. Ours is of the same form.

struct tide_frame_table {
  const struct tide_loaded *of;
  uint64_t at; // in the process, within reach of the object
  uint8_t *bytes;
  size_t n_bytes;
};

// Makes one of table->of, and claims a place for it; bytes are the caller's. False: there is
// nothing to make it of, or no place.
bool tide_frame_table_make(struct tide_outside *outside, struct tide_frame_table *table);
