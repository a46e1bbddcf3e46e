// SPDX-License-Identifier: Apache-2.0
//
// See living_stores.h. Every reading looks at the folder anew: first at the headers, for who runs
// and whose start is the first, then at those that run as a whole.
#define _GNU_SOURCE
#include "observe/living_stores.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "model/image_sums.h"
#include "observe/rss.h"
#include "observe/store_read.h"
#include "observe/store_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  MAX_LIVING = 1024,
  REST = 20, // times its cost, between two readings for the page
};
#define MIN_REST_NS UINT64_C(1000000000)

struct store {
  char *path; // owned
  uint64_t start_realtime_ns, written_ns;
};

struct stores {
  struct tide_source source; // the first member
  struct tide_stores_options options;
  bool is_folder;
  uint64_t next_look_ns; // monotonic
  bool has_failed;       // and said so
};

// One reading.
struct reading {
  struct stores *stores;
  struct store *living;
  size_t n_living, living_cap;
  size_t n_ended, n_empty, n_left_out;
  enum tide_err err; // of the last that was left out
  struct tide_diag why;
};

// ---- what is there ----

static void leave_out(struct reading *r)
{
  const struct stores *stores = r->stores;
  r->n_left_out++;
  if (stores->is_folder && stores->options.left_out)
    stores->options.left_out(stores->options.context, r->why.text);
}

static enum tide_err open_store(const struct stores *stores, const char *path, struct stat *ret_st,
                                struct tide_store_view *ret_view, struct tide_diag *diag)
{
  int link = stores->is_folder ? O_NOFOLLOW : 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | link);
  if (fd < 0 || fstat(fd, ret_st)) {
    enum tide_err err = tide_fail_errno(diag, "cannot open %s", path);
    if (fd >= 0)
      close(fd);
    return err;
  }
  if (!S_ISREG(ret_st->st_mode)) {
    close(fd);
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is no file", path);
  }
  if (stores->is_folder && geteuid() != 0 && ret_st->st_uid != geteuid()) {
    close(fd);
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is left out: it is another user's", path);
  }
  // One that is being made has no size yet, or its whole.
  if (ret_st->st_size > 0 && (size_t)ret_st->st_size < sizeof ret_view->header) {
    close(fd);
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s: this is not a store of tidemark, or cut short",
                     path);
  }
  enum tide_err err = tide_store_view_open(ret_view, fd, diag);
  if (err)
    return err;
  struct tide_diag why = {0};
  err = tide_store_view_refresh(ret_view, &why);
  if (err) {
    tide_fail(diag, err, "%s: %s", path, why.text);
    tide_store_view_close(ret_view);
  }
  return err;
}

static void take_store(struct reading *r, const char *path)
{
  struct stat st = {0};
  struct tide_store_view view = {.fd = -1};
  enum tide_err err = open_store(r->stores, path, &st, &view, &r->why);
  if (err == TIDE_ERR_EMPTY) {
    r->n_empty++; // it is being made, or nothing was recorded
    return;
  }
  if (err) {
    bool is_gone = r->stores->is_folder && access(path, F_OK) && errno == ENOENT;
    r->err = err;
    if (!is_gone) // since it was listed
      leave_out(r);
    return;
  }
  if (!tide_store_is_written(view.fd, &st, view.header.pid)) {
    r->n_ended++;
  } else if (r->n_living == MAX_LIVING) {
    r->err = tide_fail(&r->why, TIDE_ERR_LIMIT, "%s is left out: %d stores are served at most",
                       path, MAX_LIVING);
    leave_out(r);
  } else {
    TIDE_GROW(r->living, r->n_living, r->living_cap);
    r->living[r->n_living++] = (struct store){
        .path = tide_strdup(path),
        .start_realtime_ns = view.header.start_realtime_ns,
        .written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
    };
  }
  tide_store_view_close(&view);
}

static bool has_stores_name(const char *name)
{
  static const char ending[] = ".store";
  size_t n = strlen(name);
  return n >= sizeof ending && strcmp(name + n - (sizeof ending - 1), ending) == 0;
}

static enum tide_err find_stores(struct reading *r, struct tide_diag *diag)
{
  const struct stores *stores = r->stores;
  if (!stores->is_folder) {
    take_store(r, stores->source.name);
    return TIDE_ERR_OK;
  }
  DIR *folder = opendir(stores->source.name);
  if (!folder)
    return tide_fail_errno(diag, "cannot open %s", stores->source.name);
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (!has_stores_name(entry->d_name))
      continue;
    TIDE_CLEANUP_FREE char *path = tide_sprintf("%s/%s", stores->source.name, entry->d_name);
    take_store(r, path);
  }
  closedir(folder);
  return TIDE_ERR_OK;
}

static void reading_done(struct reading *r)
{
  for (size_t i = 0; i < r->n_living; i++)
    free(r->living[i].path);
  free(r->living);
}

// Why there is nothing to tell.
static enum tide_err fail_without(const struct reading *r, struct tide_diag *diag)
{
  const char *name = r->stores->source.name;
  if (!r->stores->is_folder && r->n_left_out)
    return tide_fail(diag, r->err, "%s", r->why.text);
  if (!r->stores->is_folder && r->n_ended)
    return tide_fail(diag, TIDE_ERR_EMPTY, "the process of %s has ended", name);
  if (!r->stores->is_folder)
    return tide_fail(diag, TIDE_ERR_EMPTY, "nothing is recorded in %s yet", name);
  if (r->n_ended)
    return tide_fail(diag, TIDE_ERR_EMPTY, "the processes of all %zu stores in %s have ended",
                     r->n_ended, name);
  if (r->n_left_out)
    return tide_fail(diag, TIDE_ERR_EMPTY, "no store in %s can be read: %s", name, r->why.text);
  return tide_fail(diag, TIDE_ERR_EMPTY, "no process writes a store to %s yet", name);
}

// ---- a capture of all that run ----

static int by_start(const void *a, const void *b)
{
  const struct store *x = a, *y = b;
  return x->start_realtime_ns < y->start_realtime_ns ? -1
                                                     : x->start_realtime_ns > y->start_realtime_ns;
}

// Of a process that we may look at, what is in memory now: as the one point of its timeline, since
// nobody has watched it.
static void add_resident(const struct tide_store_view *view, const struct stat *st,
                         struct tide_image *image)
{
  struct tide_resident resident;
  struct tide_image_sums sums;
  if (tide_writer_by_maps(st, view->header.pid) != TIDE_WRITER_SOME)
    return; // of another pid namespace, or another user's
  tide_resident_open(&resident, view->header.pid);
  uint64_t all_bytes = tide_resident_all(&resident, view);
  uint64_t recorder_bytes = all_bytes ? tide_resident_recorder(&resident, view) : 0;
  tide_resident_close(&resident);
  if (!all_bytes || image->n_ticks)
    return;
  tide_image_heap_sums(image, &sums);
  image->recorder_rss_bytes = recorder_bytes;
  image->rss_is_own = recorder_bytes && recorder_bytes < all_bytes;
  image->ticks = tide_alloc_array(1, sizeof *image->ticks);
  image->n_ticks = 1;
  image->ticks[0] = (struct tide_tick){
      .time_ns = image->end_ns,
      .live_bytes = sums.live_bytes,
      .live_blocks = sums.live_blocks,
      .n_alloc = sums.n_alloc,
      .b_alloc = sums.b_alloc,
      .n_free = sums.n_free,
      .rss_bytes = image->rss_is_own ? all_bytes - recorder_bytes : all_bytes,
      .page_bytes = image->page_live_bytes,
  };
}

static void append_store(struct reading *r, const struct store *store, struct tide_capture *capture)
{
  struct stat st = {0};
  struct tide_store_view view = {.fd = -1};
  r->err = open_store(r->stores, store->path, &st, &view, &r->why);
  if (r->err) {
    leave_out(r);
    return;
  }
  // Another may have come in its place, which began earlier by its own account.
  if (view.header.start_realtime_ns >= capture->start_realtime_ns) {
    tide_store_append_image(&view, store->written_ns, true, capture);
    add_resident(&view, &st, &capture->images[capture->n_images - 1]);
  }
  tide_store_view_close(&view);
}

static enum tide_err read_stores(struct stores *stores, struct tide_capture **ret_capture,
                                 struct tide_diag *diag)
{
  struct reading r = {.stores = stores};
  enum tide_err err = find_stores(&r, diag);
  if (err || !r.living) {
    if (!err)
      err = fail_without(&r, diag);
    reading_done(&r);
    return err;
  }
  qsort(r.living, r.n_living, sizeof *r.living, by_start);
  struct tide_capture *capture = tide_capture_new_here();
  capture->start_realtime_ns = r.living[0].start_realtime_ns;
  for (size_t i = 0; i < r.n_living; i++)
    append_store(&r, &r.living[i], capture);
  if (!capture->n_images)
    err = fail_without(&r, diag);
  reading_done(&r);
  if (err) {
    tide_capture_free(capture);
    return err;
  }
  if (stores->options.complete)
    stores->options.complete(capture, stores->source.name);
  *ret_capture = capture;
  return TIDE_ERR_OK;
}

// ---- the source ----

static enum tide_err look_at_stores(struct tide_source *source, bool is_wanted,
                                    struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct stores *stores = (struct stores *)source;
  uint64_t begun_ns = tide_monotonic_ns();
  *ret_capture = NULL;
  if (!is_wanted || begun_ns < stores->next_look_ns)
    return TIDE_ERR_OK;
  enum tide_err err = read_stores(stores, ret_capture, diag);
  uint64_t now_ns = tide_monotonic_ns(), rest_ns = (now_ns - begun_ns) * REST;
  stores->next_look_ns = now_ns + (rest_ns > MIN_REST_NS ? rest_ns : MIN_REST_NS);
  bool is_said = err && stores->has_failed;
  stores->has_failed = err;
  return is_said ? TIDE_ERR_OK : err;
}

static enum tide_err refresh_stores(struct tide_source *source, uint32_t wait_ms,
                                    struct tide_capture **ret_capture, struct tide_diag *diag)
{
  (void)wait_ms; // nobody is waited for
  *ret_capture = NULL;
  return read_stores((struct stores *)source, ret_capture, diag);
}

static bool are_living(const struct tide_source *source, const struct tide_capture *shown)
{
  (void)source, (void)shown; // processes come and go
  return true;
}

static void free_stores(struct tide_source *source)
{
  free(source->name);
  free(source);
}

static bool is_folder(const char *path)
{
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode);
}

struct tide_source *tide_stores_new(const struct tide_stores_options *options)
{
  static const struct tide_source_kind kind = {look_at_stores, refresh_stores, are_living,
                                               free_stores};
  struct stores *stores = tide_alloc(sizeof *stores);
  *stores = (struct stores){.source = {&kind, tide_strdup(options->path)},
                            .options = *options,
                            .is_folder = is_folder(options->path)};
  return &stores->source;
}

// Of a file without anything in it: is it about to be a store?
static bool is_being_made(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  bool is = fd >= 0 && tide_writer_by_lease(fd) == TIDE_WRITER_SOME;
  if (fd >= 0)
    close(fd);
  return is;
}

enum tide_err tide_stores_check(const char *path, bool *ret_is_folder, struct tide_diag *diag)
{
  struct tide_stores_options options = {.path = path};
  struct tide_source *source = tide_stores_new(&options);
  struct stores *stores = (struct stores *)source;
  struct reading r = {.stores = stores};
  struct stat st;
  enum tide_err err =
      stat(path, &st) ? tide_fail_errno(diag, "cannot open %s", path) : find_stores(&r, diag);
  *ret_is_folder = stores->is_folder;
  if (!err && !stores->is_folder && r.n_empty && !is_being_made(path))
    err = tide_fail(diag, TIDE_ERR_FORMAT, "%s is empty, and nobody writes to it", path);
  else if (!err && !stores->is_folder && !r.n_living && !r.n_empty)
    err = fail_without(&r, diag);
  reading_done(&r);
  tide_source_free(source);
  return err;
}
