// SPDX-License-Identifier: Apache-2.0
//
// Image by image: set what is stored aside but for whole chains, which the naming then takes before
// it asks anybody; ask for the names of each address, and keep the better of old and new.
#define _GNU_SOURCE
#include "view/storing.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "model/stored_names.h"
#include "symbol/perfmap.h"
#include "tide/file.h"
#include "view/naming.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct worth { // of a chain: what is known of it
  size_t n_functions, n_lines, n_frames;
};

static struct worth worth_of(const struct tide_names_frame *chain, size_t n)
{
  struct worth worth = {.n_frames = n};
  for (size_t i = 0; i < n; i++) {
    worth.n_functions += chain[i].function != NULL;
    worth.n_lines += chain[i].file && chain[i].line;
  }
  return worth;
}

static bool is_whole(const struct worth *worth)
{
  return worth->n_frames && worth->n_functions == worth->n_frames &&
         worth->n_lines == worth->n_frames;
}

// Lines come with the whole chain of inlined functions; a symbol table has its outermost alone.
static bool is_better(const struct worth *a, const struct worth *b)
{
  if (a->n_lines != b->n_lines)
    return a->n_lines > b->n_lines;
  return a->n_functions > b->n_functions;
}

struct image_job {
  struct tide_image *image;
  struct tide_stored_names old; // taken from the image
  struct tide_naming *naming;
  struct tide_names_builder *builder;
  struct tide_names_frame *chain; // of the place at hand
  size_t chain_cap;
  struct tide_storing *sums;
};

static void chain_room(struct image_job *job, size_t n)
{
  if (n <= job->chain_cap)
    return;
  job->chain = tide_realloc_array(job->chain, n, sizeof *job->chain);
  job->chain_cap = n;
}

static struct worth stored_worth(struct image_job *job, uint32_t module, uint64_t addr)
{
  const struct tide_stored_frame *stored;
  size_t n = tide_stored_names_find(&job->old, module, addr, &stored);
  chain_room(job, n);
  for (size_t i = 0; i < n; i++)
    job->chain[i] = (struct tide_names_frame){tide_stored_text(&job->old, stored[i].function),
                                              tide_stored_text(&job->old, stored[i].file),
                                              stored[i].line, stored[i].inlined};
  return worth_of(job->chain, n);
}

static struct worth asked_worth(struct image_job *job, const struct tide_named_frame *frames,
                                size_t n)
{
  chain_room(job, n);
  for (size_t i = 0; i < n; i++)
    job->chain[i] = (struct tide_names_frame){frames[i].function, frames[i].file, frames[i].line,
                                              frames[i].inlined};
  return worth_of(job->chain, n);
}

static struct tide_lack *lack_of(struct tide_storing *sums, const char *path, const char *note)
{
  for (size_t i = 0; i < sums->n_lacks; i++)
    if (strcmp(sums->lacks[i].path, path) == 0 && strcmp(sums->lacks[i].note, note) == 0)
      return &sums->lacks[i];
  sums->lacks = tide_realloc_array(sums->lacks, sums->n_lacks + 1, sizeof *sums->lacks);
  struct tide_lack *lack = &sums->lacks[sums->n_lacks++];
  *lack = (struct tide_lack){.path = path, .note = tide_strdup(note)};
  return lack;
}

static void count_address(struct image_job *job, const struct tide_named_frame *frame,
                          const struct worth *worth)
{
  struct tide_storing *sums = job->sums;
  sums->n_addresses++;
  sums->n_named += worth->n_functions > 0;
  sums->n_lined += worth->n_lines > 0;
  if (worth->n_lines)
    return;
  const char *path = job->image->modules[frame->module].path;
  const char *note = tide_naming_note(job->naming, frame);
  struct tide_lack *lack = lack_of(sums, path ? path : "", note ? note : "");
  lack->n_nameless += worth->n_functions == 0;
  lack->n_lineless++;
}

struct place { // an address, and a frame that has it
  uint64_t addr;
  uint32_t module, node;
};

static int by_address(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  if (a->module != b->module)
    return a->module < b->module ? -1 : 1;
  return (a->addr > b->addr) - (a->addr < b->addr);
}

// The distinct addresses of an image, owned by the caller; *ret_n of them.
static struct place *places_of(const struct tide_image *image, size_t *ret_n)
{
  struct place *places = tide_alloc_array(image->n_frames, sizeof *places);
  size_t n = 0, n_distinct = 0;
  for (uint32_t node = 1; node < image->n_frames; node++) {
    const struct tide_frame *frame = &image->frames[node];
    if (frame->flags & (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST | TIDE_FRAME_SCOPE))
      continue;
    uint64_t pc = frame->flags & TIDE_FRAME_IS_EXACT ? frame->pc : frame->pc - 1;
    places[n++] = (struct place){pc - image->modules[frame->module].bias, frame->module, node};
  }
  qsort(places, n, sizeof *places, by_address);
  for (size_t i = 0; i < n; i++)
    if (n_distinct == 0 || by_address(&places[n_distinct - 1], &places[i]) != 0)
      places[n_distinct++] = places[i];
  *ret_n = n_distinct;
  return places;
}

static void do_place(struct image_job *job, const struct place *place)
{
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(job->naming, place->node, &n);
  struct worth stored = stored_worth(job, place->module, place->addr);
  struct worth found = asked_worth(job, frames, n);
  bool better = is_better(&found, &stored);
  if (better) {
    tide_names_builder_add(job->builder, place->module, place->addr, job->chain, n);
    job->sums->n_new++;
  }
  count_address(job, frames, better ? &found : &stored);
}

// Leaves in the image those of the old chains that need not be asked for.
static bool keep_whole_chains(struct image_job *job)
{
  for (size_t i = 0; i < job->old.n_places; i++) {
    const struct tide_stored_place *place = &job->old.places[i];
    struct worth worth = stored_worth(job, place->module, place->addr);
    if (is_whole(&worth))
      tide_names_builder_add(job->builder, place->module, place->addr, job->chain, place->n_frames);
  }
  return tide_names_builder_finish(job->builder, job->image);
}

static bool do_image(struct image_job *job, struct tide_resolver *resolver)
{
  if (!keep_whole_chains(job))
    return false;
  tide_names_builder_add_all(job->builder, &job->old);
  job->naming = tide_naming_new_with(job->image, resolver);
  size_t n;
  TIDE_CLEANUP_FREE struct place *places = places_of(job->image, &n);
  for (size_t i = 0; i < n; i++)
    do_place(job, &places[i]);
  tide_naming_free(job->naming);
  return tide_names_builder_finish(job->builder, job->image);
}

static int by_lack(const void *left, const void *right)
{
  const struct tide_lack *a = left, *b = right;
  if (a->n_lineless != b->n_lineless)
    return a->n_lineless > b->n_lineless ? -1 : 1;
  return strcmp(a->path, b->path);
}

enum tide_err tide_storing_run(struct tide_capture *capture, struct tide_resolver *resolver,
                               struct tide_storing *ret_storing, struct tide_diag *diag)
{
  struct tide_storing sums = {0};
  bool good = true;
  for (size_t i = 0; i < capture->n_images && good; i++) {
    struct tide_image *image = &capture->images[i];
    struct image_job job = {.image = image, .old = image->names, .sums = &sums};
    image->names = (struct tide_stored_names){0};
    job.builder = tide_names_builder_new();
    good = do_image(&job, resolver);
    tide_names_builder_free(job.builder);
    tide_stored_names_done(&job.old);
    free(job.chain);
  }
  if (!good) {
    tide_storing_done(&sums);
    return tide_fail(diag, TIDE_ERR_LIMIT, "the names are more than a capture can hold");
  }
  if (sums.n_lacks)
    qsort(sums.lacks, sums.n_lacks, sizeof *sums.lacks, by_lack);
  *ret_storing = sums;
  return TIDE_ERR_OK;
}

void tide_storing_done(struct tide_storing *storing)
{
  for (size_t i = 0; i < storing->n_lacks; i++)
    free(storing->lacks[i].note);
  free(storing->lacks);
  *storing = (struct tide_storing){0};
}

// ---- code made at run time ----
//
// Anybody may leave a file of that name, and process ids come round. A map is believed if it is a
// plain file of ours or root's (anybody's for root, who records for everybody), last written while
// the program ran.

#define SLACK_NS ((uint64_t)2000000000) // clocks of files are coarse, and a run's end is seen late
#define MAP_BYTES_MAX ((uint64_t)4 << 30)

static int by_value(const void *left, const void *right)
{
  const uint64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

// The distinct addresses in unknown code that have no name yet, owned; NULL when there are none.
static uint64_t *nameless(const struct tide_image *image, size_t *ret_n)
{
  const uint16_t no_frame = TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST;
  uint64_t *addrs = NULL;
  size_t n = 0, cap = 0, n_distinct = 0;
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    const struct tide_stored_frame *stored;
    uint64_t addr = frame->flags & TIDE_FRAME_IS_EXACT ? frame->pc : frame->pc - 1;
    if (frame->module || (frame->flags & no_frame) ||
        tide_stored_names_find(&image->names, 0, addr, &stored))
      continue;
    TIDE_GROW(addrs, n, cap);
    addrs[n++] = addr;
  }
  if (n)
    qsort(addrs, n, sizeof *addrs, by_value);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || addrs[i] != addrs[n_distinct - 1])
      addrs[n_distinct++] = addrs[i];
  *ret_n = n_distinct;
  return addrs;
}

// Anybody may have left a file of that name, and names are shown. As root we record processes of
// others: theirs is believed while it can be seen whose the process is.
static bool is_of_target(const struct stat *map, uint32_t pid)
{
  char path[32];
  struct stat process;
  uid_t we = geteuid();
  if (!S_ISREG(map->st_mode) || map->st_mode & S_IWOTH)
    return false;
  if (map->st_uid == we || map->st_uid == 0)
    return true;
  snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
  return we == 0 && stat(path, &process) == 0 && process.st_uid == map->st_uid;
}

static bool is_of_run(const struct stat *st, const struct tide_capture *capture,
                      const struct tide_image *image)
{
  uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
  uint64_t start_ns = capture->start_realtime_ns + image->start_ns;
  uint64_t end_ns = capture->start_realtime_ns + image->end_ns;
  return is_of_target(st, image->pid) && capture->start_realtime_ns > SLACK_NS &&
         written_ns >= start_ns - SLACK_NS && written_ns <= end_ns + SLACK_NS;
}

// False when there is no map to be believed.
static bool read_map(const struct tide_capture *capture, const struct tide_image *image,
                     const char *dir, struct tide_perfmap *map)
{
  TIDE_CLEANUP_FREE char *path = tide_sprintf("%s/perf-%" PRIu32 ".map", dir, image->pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || !is_of_run(&st, capture, image)) {
    if (fd >= 0)
      close(fd);
    return false;
  }
  size_t room = 1 << 16;
  TIDE_CLEANUP_FREE char *piece = tide_alloc(room);
  uint64_t n_read = 0;
  for (ssize_t n; n_read < MAP_BYTES_MAX && (n = read(fd, piece, room)) > 0; n_read += (uint64_t)n)
    tide_perfmap_feed(map, piece, (size_t)n);
  tide_perfmap_end(map);
  close(fd);
  return true;
}

// Gives how many of the addresses have a name in the map.
static size_t store_names(struct tide_image *image, const struct tide_perfmap *map,
                          const uint64_t *addrs, size_t n)
{
  struct tide_names_builder *builder = tide_names_builder_new();
  size_t n_named = 0;
  tide_names_builder_add_all(builder, &image->names);
  for (size_t i = 0; i < n; i++) {
    const char *name = tide_perfmap_name(map, addrs[i]);
    if (!name)
      continue;
    struct tide_perfmap_place place;
    tide_perfmap_split(name, &place);
    struct tide_names_frame frame = {
        .function = place.function, .file = place.file, .line = place.line};
    tide_names_builder_add(builder, 0, addrs[i], &frame, 1);
    tide_perfmap_place_done(&place);
    n_named++;
  }
  if (n_named && !tide_names_builder_finish(builder, image))
    n_named = 0;
  tide_names_builder_free(builder);
  return n_named;
}

size_t tide_jit_names_add(struct tide_capture *capture, const char *dir)
{
  size_t n_named = 0;
  for (size_t i = 0; i < capture->n_images; i++) {
    struct tide_image *image = &capture->images[i];
    size_t n;
    if (image->pack && (!image->pack->has_nameless || tide_image_unpack(image, NULL)))
      continue;
    TIDE_CLEANUP_FREE uint64_t *addrs = nameless(image, &n);
    if (n == 0)
      continue;
    struct tide_perfmap *map = tide_perfmap_new(addrs, n);
    if (read_map(capture, image, dir, map))
      n_named += store_names(image, map, addrs, n);
    tide_perfmap_free(map);
  }
  return n_named;
}
