// SPDX-License-Identifier: Apache-2.0
//
// Anybody may leave a file of that name, and process ids come round. A map is believed if it is a
// plain file of ours or root's (anybody's for root, who records for everybody), last written while
// the program ran.
#define _GNU_SOURCE
#include "view/jit_names.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "model/stored_names.h"
#include "symbol/perfmap.h"
#include "tide/unpack.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool is_of_run(const struct stat *st, const struct tide_capture *capture,
                      const struct tide_image *image)
{
  uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
  uint64_t start_ns = capture->start_realtime_ns + image->start_ns;
  uint64_t end_ns = capture->start_realtime_ns + image->end_ns;
  uid_t we = geteuid();
  return S_ISREG(st->st_mode) && (we == 0 || st->st_uid == we || st->st_uid == 0) &&
         capture->start_realtime_ns > SLACK_NS && written_ns >= start_ns - SLACK_NS &&
         written_ns <= end_ns + SLACK_NS;
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
    struct tide_perfmap_parts parts;
    tide_perfmap_split(name, &parts);
    struct tide_names_frame frame = {
        .function = parts.function, .file = parts.file, .line = parts.line};
    tide_names_builder_add(builder, 0, addrs[i], &frame, 1);
    tide_perfmap_parts_done(&parts);
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
