// SPDX-License-Identifier: Apache-2.0
//
// A file that is looked at again and again: see exhibit.h.
#include "serve/exhibit.h"

#include "base/alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define FRESH_NS (60 * NS_PER_S) // longer than two checkpoints are apart

enum { MAX_RESTLESS_LOOKS = 5 };

struct state {
  bool exists;
  uint64_t device, inode, size_bytes, changed_ns; // realtime
};

struct file_source {
  struct tide_source source; // the first member
  const struct tide_file_opener *opener;
  struct state read, seen; // as it was when it was read, and at the last look
  unsigned restless;       // looks at which it was still changing
  bool has_given;
};

// ---- has it changed, and is it whole again? ----

// Nothing but a regular file exists.
static struct state state_of(const char *path)
{
  struct stat st;
  if (stat(path, &st) || !S_ISREG(st.st_mode))
    return (struct state){0};
  return (struct state){
      .exists = true,
      .device = st.st_dev,
      .inode = st.st_ino,
      .size_bytes = (uint64_t)st.st_size,
      .changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec,
  };
}

static bool is_same_file(const struct state *a, const struct state *b)
{
  return a->exists == b->exists && a->device == b->device && a->inode == b->inode;
}

static bool is_same(const struct state *a, const struct state *b)
{
  return is_same_file(a, b) && a->size_bytes == b->size_bytes && a->changed_ns == b->changed_ns;
}

// Whether to read it now.
static bool is_due(struct file_source *file, const struct state *now)
{
  bool rests = is_same(&file->seen, now);
  file->seen = *now;
  if (is_same(&file->read, now)) {
    file->restless = 0;
    return false;
  }
  file->restless += !rests;
  if (is_same_file(&file->read, now) && !rests && file->restless < MAX_RESTLESS_LOOKS)
    return false;
  file->restless = 0;
  return true;
}

// ---- the source ----

static enum tide_err look_at_file(struct tide_source *source, bool is_wanted,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct file_source *file = (struct file_source *)source;
  struct state now = state_of(source->name);
  struct tide_diag why = {0};
  *ret_capture = NULL;
  if (file->has_given && !is_due(file, &now))
    return TIDE_ERR_OK;
  file->read = file->seen = now; // not again until it changes once more
  if (file->has_given && !now.exists)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "the file is gone; this is what it last held");
  enum tide_err err = file->opener->open(file->opener->context, source->name, ret_capture, &why);
  if (err && file->has_given)
    return tide_fail(diag, err, "this is what the file last held; now: %s", why.text);
  if (err && diag)
    *diag = why;
  file->has_given |= !err;
  return err;
}

static enum tide_err refresh_file(struct tide_source *source, uint32_t wait_ms,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  return look_at_file(source, true, ret_capture, diag);
}

static bool is_running(const struct tide_image *image)
{
  bool may_go_on = image->end_kind == TIDE_END_UNKNOWN || image->end_kind == TIDE_END_DETACHED;
  return may_go_on && image->pid && (kill((pid_t)image->pid, 0) == 0 || errno == EPERM);
}

// A run that is not at its end will write the file once more. What another user's process with a
// pid of old says does no harm: the page asks once a second.
static bool is_live(const struct tide_source *source, const struct tide_capture *shown)
{
  const struct file_source *file = (const struct file_source *)source;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
  if (shown->finished || !file->seen.exists || shown->images[0].origin)
    return false;
  if (now_ns - file->seen.changed_ns < FRESH_NS)
    return true;
  for (size_t i = 0; i < shown->n_images; i++)
    if (is_running(&shown->images[i]))
      return true;
  return false;
}

static void free_file(struct tide_source *source)
{
  free(source->name);
  free(source);
}

struct tide_source *tide_file_source_new(const char *path, const struct tide_file_opener *opener)
{
  static const struct tide_source_kind kind = {look_at_file, refresh_file, is_live, free_file};
  struct file_source *file = tide_alloc(sizeof *file);
  *file = (struct file_source){.source = {&kind, tide_strdup(path)}, .opener = opener};
  return &file->source;
}
