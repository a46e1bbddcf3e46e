// SPDX-License-Identifier: Apache-2.0
//
// A capture as a whole: its roll, and what its reader need not know. Making and freeing one is in
// model.h, with the structs.
#pragma once
#include "base/err.h"
#include "model/model.h"
#include "store/codes.h"

#include <stdbool.h>

// ---- the roll ----
//
// The roll of a run: which programs ran unrecorded, gathered by program and reason, so that a build
// of ten thousand processes has a short one.

#define TIDE_ROLL_MAX_ROWS 256u // further programs share one row without a name

// Adds one process (n_processes may be more) to the row of its program and reason, or makes that.
// What the row points to stays the caller's.
void tide_roll_add(struct tide_roll *roll, const struct tide_unrecorded *row);
// Adds all of another roll. What is not known of one is not known of both.
void tide_roll_join(struct tide_roll *roll, const struct tide_roll *other);
void tide_roll_copy(struct tide_roll *roll, const struct tide_roll *from);
void tide_roll_done(struct tide_roll *roll);

// Largest first: the command, then by RSS, number and name.
void tide_roll_sort(struct tide_roll *roll);

// Processes on the roll, in all.
uint64_t tide_roll_processes(const struct tide_roll *roll);

// ---- what a reader need not know ----
//
// Taking out of a capture what its reader need not know. Command lines hold what people type:
// passwords, tokens, names of customers.

// Of a command line, the program and how many arguments it had: "[3 arguments left out]" stands in
// their place. Paths of programs, libraries and sources stay, as does the host's name. Gives
// whether there were any; doing it again changes nothing.
bool tide_image_redact_args(struct tide_image *image);
bool tide_capture_redact_args(struct tide_capture *capture);

// ---- where captures come from ----
//
// Where a capture comes from that somebody looks at again and again: a file that may be replaced
// (serve/exhibit.h), or a recording that goes on (supervise/control.h). Whoever looks neither
// knows nor cares which. One thread at a time.

struct tide_source {
  const struct tide_source_kind *kind;
  char *name; // what it is called in front of people: the file's path. Owned
};

struct tide_source_kind {
  // Never waits for anybody. *ret_capture is another capture than the one given before, the
  // caller's now, or NULL: that is still it. A failure says in a whole sentence why the latest
  // cannot be had, once. is_wanted: somebody will look at it; what costs something is done then.
  enum tide_err (*look)(struct tide_source *source, bool is_wanted,
                        struct tide_capture **ret_capture, struct tide_diag *diag);
  // The same as it is at this moment, waited for, at most so many milliseconds. A failure says why
  // it is not to be had; what was given before may still be looked at.
  enum tide_err (*refresh)(struct tide_source *source, uint32_t wait_ms,
                           struct tide_capture **ret_capture, struct tide_diag *diag);
  // Will there be others? As far as can be seen. shown is the one given last.
  bool (*is_live)(const struct tide_source *source, const struct tide_capture *shown);
  void (*free)(struct tide_source *source);
};

static inline void tide_source_free(struct tide_source *source) // NULL is fine
{
  if (source)
    source->kind->free(source);
}

// ---- why programs ran unrecorded ----
//
// Why a program is not recorded, in words: one list for what is said before a run, in reports, in
// JSON and on the page.

// "is statically linked, so the recorder cannot be preloaded", to follow a program's name.
// detail is the allocator's, loader's or sanitizer's name, NULL or "" when not known. free().
char *tide_why_sentence(enum tide_why why, const char *detail);

// The same in two or three words: "static", "jemalloc linked in". free().
char *tide_why_brief(enum tide_why why, const char *detail);

// What to do about it: a clause, or NULL where nothing can be done. An allocator that profiles
// itself is named with the file of its that tidemark reads. free().
char *tide_why_way_out(enum tide_why why, const char *detail);

// For machines: "static", "allocator" and so on.
const char *tide_why_tag(enum tide_why why);

// Whether the recorder was loaded all the same, so that it saw what went through libc's allocator
// and which programs the process started.
bool tide_why_is_partial(enum tide_why why);

// Is the allocator that a reason names Go's, which has no functions to hook? NULL is none.
bool tide_why_is_go(const char *detail);

// Is all of the heap known to be glibc's malloc's?
bool tide_image_is_glibc(const struct tide_image *image);
