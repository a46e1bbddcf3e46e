// SPDX-License-Identifier: Apache-2.0
//
// The three signs of target_check.h. What a program's file says is read once per program.
#include "supervise/target_check.h"

#include "attach/rust_shims.h"
#include "attach/signature.h"
#include "base/alloc.h"
#include "base/units.h"
#include "model/capture.h"
#include "model/pack.h"
#include "model/residence_table.h"
#include "model/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

// Below this a program's libraries and the loader weigh more than what it allocates.
#define MUCH_BYTES (INT64_C(64) << 20)

struct program {
  char *exe;
  bool is_unfit;
  enum tide_why why; // meaningless unless unfit, as is the detail
  char *detail;
  char *advice; // what would tell more of it; NULL: not asked yet
  enum { SHIMS_UNKNOWN, SHIMS_CALLED, SHIMS_INLINED } shims; // of a Rust program
  bool is_rust_read;
  struct tide_target_rust rust;
  char pages[TIDE_UNITS_MAX]; // that it mapped, in words
  char own[64];               // which memory of its own it may have, in words
};

struct tide_own_allocators {
  struct program *programs;
  size_t n, cap;
};

struct tide_own_allocators *tide_own_allocators_new(void)
{
  return tide_alloc(sizeof(struct tide_own_allocators));
}

void tide_own_allocators_free(struct tide_own_allocators *allocators)
{
  if (!allocators)
    return;
  for (size_t i = 0; i < allocators->n; i++) {
    free(allocators->programs[i].exe);
    free(allocators->programs[i].detail);
    free(allocators->programs[i].advice);
  }
  free(allocators->programs);
  free(allocators);
}

static struct program *program_of(struct tide_own_allocators *allocators, const char *exe)
{
  for (size_t i = 0; i < allocators->n; i++)
    if (strcmp(allocators->programs[i].exe, exe) == 0)
      return &allocators->programs[i];
  TIDE_GROW(allocators->programs, allocators->n, allocators->cap);
  struct program *program = &allocators->programs[allocators->n++];
  *program = (struct program){.exe = tide_strdup(exe)};
  program->is_unfit = tide_target_judge(exe, &program->why, &program->detail);
  return program;
}

const char *tide_own_allocators_detail(struct tide_own_allocators *allocators, const char *exe,
                                       enum tide_why why)
{
  if (!*exe)
    return NULL;
  const struct program *program = program_of(allocators, exe);
  return program->is_unfit && program->why == why ? program->detail : NULL;
}

struct heap_sums {
  uint64_t n_alloc, b_alloc;
};

static struct heap_sums heap_sums(const struct tide_image *image)
{
  struct heap_sums sums = {0};
  if (image->pack)
    return (struct heap_sums){image->pack->sums.n_alloc, image->pack->sums.b_alloc};
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    uint32_t root = site.stack;
    while (root && image->frames[root].parent)
      root = image->frames[root].parent;
    if (image->frames[root].flags & TIDE_FRAME_PAGES)
      continue;
    sums.n_alloc += site.n_alloc;
    sums.b_alloc += site.b_alloc;
  }
  return sums;
}

static uint64_t n_heap_events(const struct tide_image *image)
{
  return heap_sums(image).n_alloc;
}

// Freed memory that malloc keeps is no memory from elsewhere. The last table of where the memory
// was tells the two apart; one that was taken when there was much less still does where malloc has
// handed out about as much in all.
static bool is_kept_by_malloc(const struct tide_image *image, int64_t anonymous)
{
  const struct tide_residence *last =
      image->n_residences ? &image->residences[image->n_residences - 1] : NULL;
  if (!last || last->heap != TIDE_HEAP_GLIBC || !last->has_recorder)
    return false;
  struct heap_sums heap = heap_sums(image);
  uint64_t handed_out = heap.b_alloc + 16 * heap.n_alloc; // with a header each
  uint64_t own = last->sum - last->rows[TIDE_RESIDENCE_RECORDER];
  bool is_told = own / 3 >= (uint64_t)anonymous / 4;
  return last->rows[TIDE_RESIDENCE_OTHER] < own / 4 &&
         (is_told || handed_out >= (uint64_t)anonymous / 8 * 7);
}

// A fork child has its parent's memory, too, and a program's own pages are recorded as such.
static bool is_elsewhere(const struct tide_image *image, int64_t anonymous,
                         struct tide_unrecorded *row)
{
  row->why = TIDE_WHY_UNSEEN_MEMORY;
  row->detail = NULL;
  // Of a process that was seen from its beginning, whatever is freed and not known was allocated by
  // functions that nobody hooked.
  bool frees_unseen = image->by_agent && !(image->lacks & TIDE_LACK_BEFORE) &&
                      image->loss.n_unknown_free > n_heap_events(image) / 20;
  return !image->by_fork &&
         (frees_unseen ||
          (anonymous >= MUCH_BYTES && image->peak_bytes + image->page_peak_bytes < anonymous / 4 &&
           !is_kept_by_malloc(image, anonymous)));
}

// The agent sees every allocator that has functions; Go's has none, and what it calls of C's is all
// that was recorded.
static bool is_part_of_go(struct tide_own_allocators *allocators, const struct tide_image *image,
                          struct tide_unrecorded *row)
{
  const struct program *program = program_of(allocators, image->exe);
  row->why = TIDE_WHY_OWN_ALLOCATOR;
  row->detail = program->detail;
  return program->is_unfit && tide_why_is_go(program->detail);
}

static bool has_blocks_of(const struct tide_image *image, uint32_t family)
{
  for (size_t i = 0; i < image->n_allocators; i++)
    if (image->allocators[i].family == family)
      return true;
  return false;
}

// ---- Rust ----

// Measured on 28 programs of Debian and rustup (41 runs, 1 to 18 threads): each thread has mapped
// one stack for its handler, of 12 or 16 KiB (handler_bytes() here: 16), and nothing else but
// files. Their .bss is of 280 to 2,384 bytes, and 22 KiB with much C in it; libc adds to that of a
// static one.
enum { STATIC_BYTES = 32 << 10, LIBC_STATIC_BYTES = 32 << 10, HANDLER_BYTES = 8 << 10 };
#define GAP_BYTES (INT64_C(4) << 20)
// Data of a program and its libraries that the loader has relocated is private memory, too: some
// MiB in a large one (rustup).
#define UNSEEN_BYTES (INT64_C(16) << 20)

// The stack of a handler, of which every thread of Rust's has one, with its guard.
static uint64_t handler_bytes(void)
{
  uint64_t least = getauxval(AT_MINSIGSTKSZ), page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t stack = least > HANDLER_BYTES ? least : HANDLER_BYTES;
  return (stack + page + page - 1) & -page;
}

static bool is_static(const struct program *program)
{
  return program->is_unfit && program->why == TIDE_WHY_STATIC;
}

// Has it mapped more than a handler's stack for each thread? In a static program the stacks of
// threads are mapped by the same function: as many as were alive together, at least. From a pack
// sites are not to be had.
static bool has_mapped(const struct program *program, const struct tide_image *image)
{
  uint64_t handler = handler_bytes(), n_handlers = 0, n_others = 0;
  uint64_t n_stacks =
      is_static(program) && image->max_live_threads ? image->max_live_threads - 1 : 0;
  if (image->pack)
    return image->page_peak_bytes >=
           (is_static(program) ? GAP_BYTES : (int64_t)((image->n_threads + 1) * handler));
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    uint32_t root = site.stack;
    while (root && image->frames[root].parent)
      root = image->frames[root].parent;
    if (!(image->frames[root].flags & TIDE_FRAME_PAGES) || !site.n_alloc)
      continue;
    if (site.b_alloc / site.n_alloc <= handler)
      n_handlers += site.n_alloc;
    else
      n_others += site.n_alloc;
  }
  return n_others > n_stacks || n_handlers > image->n_threads;
}

// An allocator has its memory from somewhere. True: this one's may have it from elsewhere than
// libc's malloc, and program->own says from where. (From malloc it would be on record.)
static bool has_memory_of_its_own(struct program *program, const struct tide_image *image,
                                  int64_t anonymous)
{
  char much[TIDE_UNITS_MAX];
  struct tide_style plain = {0};
  if (image->by_fork) // what it inherited is its parent's, who is judged, too
    return false;
  if (has_mapped(program, image))
    snprintf(program->own, sizeof program->own, "mapped %s of pages by itself",
             tide_units_bytes(much, tide_exact(image->page_peak_bytes), plain));
  else if (image->lacks & TIDE_LACK_BEFORE)
    snprintf(program->own, sizeof program->own, "may have mapped memory before it was attached to");
  else if (program->rust.static_bytes >=
           STATIC_BYTES + (is_static(program) ? (uint64_t)LIBC_STATIC_BYTES : 0))
    snprintf(program->own, sizeof program->own, "has %s of static memory",
             tide_units_bytes(much, tide_exact((int64_t)program->rust.static_bytes), plain));
  else if (anonymous >= UNSEEN_BYTES &&
           image->peak_bytes + image->page_peak_bytes < anonymous / 2 &&
           !is_kept_by_malloc(image, anonymous))
    snprintf(program->own, sizeof program->own, "has memory that was not seen");
  else
    return false;
  return true;
}

static struct program *rust_program_of(struct tide_own_allocators *allocators, const char *exe)
{
  struct program *program = program_of(allocators, exe);
  if (!program->is_rust_read)
    program->rust = tide_target_rust(exe);
  program->is_rust_read = true;
  return program;
}

// Its file does not say whose allocator it has: nobody can call it complete if it has memory that
// one of its own may be in.
static bool is_perhaps_rusts(struct tide_own_allocators *allocators, const struct tide_image *image,
                             int64_t anonymous, struct tide_unrecorded *row)
{
  struct program *program = rust_program_of(allocators, image->exe);
  row->why = TIDE_WHY_UNTOLD;
  row->detail = program->own;
  return program->rust.kind == TIDE_RUST_UNTOLD && has_memory_of_its_own(program, image, anonymous);
}

// Of a Rust program's own allocator the agent sees what the compiler has left as calls. Where it
// saw no block of it, all were another's that it hands on, and that one's functions are hooked,
// too; unless it is known to have no other, or has memory that those not seen may be in.
static bool is_part_of_rust(struct tide_own_allocators *allocators, const struct tide_image *image,
                            int64_t anonymous, struct tide_unrecorded *row)
{
  struct program *program = rust_program_of(allocators, image->exe);
  if (program->rust.kind != TIDE_RUST_OF_ITS_OWN)
    return is_perhaps_rusts(allocators, image, anonymous, row);
  tide_units_bytes(program->pages, tide_exact(image->page_peak_bytes), (struct tide_style){0});
  row->why = TIDE_WHY_INLINED;
  row->detail = program->pages;
  if (program->shims == SHIMS_UNKNOWN)
    program->shims = tide_rust_shims_are_called(image->exe, NULL) ? SHIMS_CALLED : SHIMS_INLINED;
  bool is_used = has_blocks_of(image, TIDE_FAMILY_RUST) || !program->rust.uses_libc ||
                 has_memory_of_its_own(program, image, anonymous);
  return is_used && program->shims == SHIMS_INLINED;
}

// Said by the tracer that tried, or it was never answered.
static bool is_missed_later(const struct tide_image *image, struct tide_unrecorded *row)
{
  row->why = TIDE_WHY_LOADED_LATER;
  row->detail = image->missed_later;
  return image->missed_later;
}

// Said by the tracer, when it put the agent there.
static bool is_unhooked(const struct tide_image *image, struct tide_unrecorded *row)
{
  row->why = TIDE_WHY_UNHOOKED;
  row->detail = image->unhooked;
  return image->unhooked;
}

// The agent found no allocator, and names none: what it recorded are pages.
static bool is_pages_alone(struct tide_own_allocators *allocators, const struct tide_image *image,
                           struct tide_unrecorded *row)
{
  struct tide_loaded loaded;
  struct tide_diag ignored;
  if (!image->allocator || *image->allocator)
    return false;
  struct program *program = program_of(allocators, image->exe);
  if (!program->advice && !tide_loaded_open_file(image->exe, NULL, &loaded, &ignored)) {
    program->advice = tide_signature_advice(&loaded);
    tide_loaded_done(&loaded);
  }
  row->why = TIDE_WHY_PAGES_ONLY;
  row->detail = program->advice;
  row->recorded_bytes = image->page_peak_bytes > 0 ? (uint64_t)image->page_peak_bytes : 0;
  return true;
}

static const char *file_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// A library that was met in stacks, is known for an allocator and is not the one whose malloc was
// next to ours: somebody calls it by names of its own, which the preloaded library does not have.
static bool is_beside(struct tide_own_allocators *allocators, const struct tide_image *image,
                      struct tide_unrecorded *row)
{
  const char *own = file_name(image->allocator ? image->allocator : "");
  for (size_t i = 0; i < image->n_modules; i++) {
    const char *path = image->modules[i].path;
    if (!path || !strstr(file_name(path), "malloc") || !strcmp(file_name(path), own))
      continue;
    row->detail = program_of(allocators, path)->detail;
    row->why = TIDE_WHY_OWN_ALLOCATOR;
    if (row->detail && *row->detail)
      return true;
  }
  row->detail = NULL;
  return false;
}

bool tide_own_allocator_judge(struct tide_own_allocators *allocators,
                              const struct tide_image *image, uint64_t max_anonymous_bytes,
                              struct tide_unrecorded *row)
{
  if (!image->exe || !*image->exe)
    return false;
  if (image->n_pauses) // how much was recorded tells nothing then
    return image->by_agent && (is_unhooked(image, row) || is_missed_later(image, row));
  if (image->by_agent)
    return is_unhooked(image, row) || is_missed_later(image, row) ||
           is_pages_alone(allocators, image, row) || is_part_of_go(allocators, image, row) ||
           is_part_of_rust(allocators, image, (int64_t)max_anonymous_bytes, row) ||
           is_elsewhere(image, (int64_t)max_anonymous_bytes, row);
  int64_t anonymous = (int64_t)max_anonymous_bytes, heap = image->peak_bytes;
  bool is_first = image->allocator && strcmp(image->allocator, image->exe) == 0;
  bool is_small_part = heap < anonymous / 2 || !anonymous;
  // Its file is large, and read only where the answer depends on it.
  bool matters = is_first ? !n_heap_events(image) || heap < anonymous / 4 : is_small_part;
  row->why = TIDE_WHY_OWN_ALLOCATOR;
  row->detail =
      matters ? (char *)tide_own_allocators_detail(allocators, image->exe, TIDE_WHY_OWN_ALLOCATOR)
              : NULL;
  if (matters && (is_first || row->detail))
    return true;
  if (is_beside(allocators, image, row) || is_perhaps_rusts(allocators, image, anonymous, row))
    return true;
  return is_elsewhere(image, anonymous, row);
}
