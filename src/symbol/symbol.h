// SPDX-License-Identifier: Apache-2.0
//
// Addresses to names. A symboliser holds opened objects and answers for (module, ELF address) with
// the chain of inlined functions at that place, innermost first. Objects are opened when first
// asked for and never more than once; nothing here prints. A symboliser and all that belongs to it
// is for one thread at a time: libdw underneath is not made for more.
#pragma once
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct tide_symbol_frame {
  const char *function; // demangled; NULL when unknown. Owned by the symboliser
  const char *file;     // full path as in the debug info; NULL when unknown
  uint32_t line;        // 0 when unknown
  bool inlined;         // inlined into the next frame of the chain
};

// What is known of one module. The C library and the loader are looked up by their symbol tables
// alone: they never have lines, and that is not worth a note.
struct tide_symbol_object {
  const char *path;
  bool opened;         // the file was found and is the one recorded
  bool has_debug_info; // line numbers can be had
  bool main_is_made;   // by rustc, around the program's own: it never has lines
  char note[320];      // why not, and what to do about it; "" when all is well
  char part_note[320]; // the same, for code that lacks lines where other code of the file has them
  // For whoever keeps answers beyond a run: a number for what they depend on besides the build id.
  // 0 when they must not be kept: no build id, or some of what belongs to the file is missing,
  // which may show with any answer.
  uint64_t inputs;
};

// Told of each download, as those may take long. step is called several times a second; it says
// whether to go on. Once it says no, nothing is downloaded any more.
struct tide_symbol_watch {
  void *context;
  void (*begin)(void *context, const char *file);
  bool (*step)(void *context, uint64_t n_bytes, uint64_t total_bytes); // total 0: not known
  void (*end)(void *context);
};

// Where to look for what a file does not have itself.
struct tide_symbol_sources {
  const char *debug_dirs; // separated by colons, searched before /usr/lib/debug; NULL: none
  bool download;          // from the servers that DEBUGINFOD_URLS names, if it does
  const struct tide_symbol_watch *watch; // NULL: nobody
  tide_hint_words *hints; // how the reader names more of them; NULL: notes do not say
};

struct tide_symboliser;

struct tide_symboliser *tide_symboliser_new(void);
// To be set before the first question; NULL is fine. What it points to must outlive the symboliser.
void tide_symboliser_set_sources(struct tide_symboliser *s,
                                 const struct tide_symbol_sources *sources);
void tide_symboliser_free(struct tide_symboliser *s);

// Announces a module; the returned id is what the look-ups take. Path and build id are copied. A
// file whose build id differs from the recorded one is not used (and its note says so). Paths that
// are not absolute stand for no file, and have no names, but for "[vdso]": that is the kernel's, if
// the running one is that of the build id. " (deleted)" at the end is understood.
uint32_t tide_symboliser_add(struct tide_symboliser *s, const char *path, const uint8_t *build_id,
                             uint32_t build_id_len);

// The frames at ELF address addr (for a return address: the caller has subtracted 1). Returns how
// many were written to out, innermost first; 0 when nothing is known. The strings live as long as
// the symboliser. At most max frames are written, the outermost always among them.
size_t tide_symboliser_lookup(struct tide_symboliser *s, uint32_t module, uint64_t addr,
                              struct tide_symbol_frame *out, size_t max);

// Opens the module if need be. Lives as long as the symboliser; NULL for an id it never gave.
const struct tide_symbol_object *tide_symboliser_object(struct tide_symboliser *s, uint32_t module);

// Demangles a C++, D or Rust (v0 and legacy) name; gives back an owned copy of the input when it is
// not mangled. Never cuts.
char *tide_demangle(const char *name);

// For names that another tool wrote down: mangled ones, and those of Rust's legacy scheme that were
// taken for C++ ("alloc::vec::Vec$LT$T$GT$::push::h0123456789abcdef"). NULL when the name is fine
// as it is.
char *tide_demangle_told(const char *name);
