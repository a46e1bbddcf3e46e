// SPDX-License-Identifier: Apache-2.0
//
// Writes a capture as a .tide file. The whole file is built in memory first (it is small: sums,
// compressed), so FACTS can say how many parts follow, and the disk sees one run of writes.
//
// Invariants
//  1. The target is replaced by rename or not at all; whatever fails, it is as it was and the
//     temporary file beside it is gone.
//  2. A target that is no regular file (a pipe, /dev/full) is written to, never renamed over.
//  3. A file size limit is an error like a full disk, not the death of the process by SIGXFSZ.
#define _GNU_SOURCE
#include "tide/file.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "model/rows.h"
#include "tide/part.h"
#include "tide/site_order.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct writer {
  const struct tide_capture *capture;
  ZSTD_CCtx *zstd;
  struct tide_buf raw;  // payload of the part being made
  uint16_t flags;       // that say what it holds
  struct tide_buf body; // all parts after FACTS
  struct tide_roots roots;
  uint32_t n_parts;
  enum tide_err err; // the first failure; later parts are left out
  struct tide_diag *diag;
};

// Appends w->raw as a part to out and empties it. root: what it is packed behind, or NULL.
static void put_part(struct writer *w, struct tide_buf *out, enum tide_part_type type,
                     uint32_t image_idx, uint32_t sequence, const struct tide_root *root)
{
  struct tide_part part = {.type = (uint16_t)type,
                           .flags = w->flags,
                           .image = image_idx,
                           .sequence = sequence,
                           .root = root ? root->sequence : 0};
  if (!w->err)
    w->err = tide_part_put(w->zstd, part, root ? &root->raw : NULL, &w->raw, out, w->diag);
  w->flags = 0;
}

static void put_body_part(struct writer *w, enum tide_part_type type, size_t image_idx)
{
  uint32_t sequence = w->n_parts++;
  const struct tide_root *root = tide_roots_next(&w->roots, type, image_idx, sequence, &w->raw);
  put_part(w, &w->body, type, (uint32_t)image_idx, sequence, root);
}

typedef void table_encoder(struct tide_buf *out, const struct tide_image *image, size_t first,
                           size_t n);

static void put_table(struct writer *w, enum tide_part_type type, size_t image_idx,
                      table_encoder *encode, size_t first, size_t n, size_t n_per_part)
{
  for (; first < n; first += n_per_part) {
    encode(&w->raw, &w->capture->images[image_idx], first,
           n - first < n_per_part ? n - first : n_per_part);
    put_body_part(w, type, image_idx);
  }
}

static void put_frames(struct writer *w, size_t image_idx)
{
  const struct tide_image *image = &w->capture->images[image_idx];
  for (size_t first = 1; first < image->n_frames; first += TIDE_ROWS_FRAMES) {
    size_t left = image->n_frames - first;
    tide_encode_frames(&w->raw, image->frames + first, first,
                       left < TIDE_ROWS_FRAMES ? left : TIDE_ROWS_FRAMES);
    put_body_part(w, TIDE_PART_FRAMES, image_idx);
  }
}

// Rows of a part are gathered before they become columns: they lie anywhere among the sites.
static void put_sites(struct writer *w, size_t image_idx)
{
  const struct tide_image *image = &w->capture->images[image_idx];
  size_t n_most = image->n_sites < TIDE_ROWS_SITES ? image->n_sites : TIDE_ROWS_SITES;
  TIDE_CLEANUP_FREE size_t *order = tide_sites_in_file_order(image);
  TIDE_CLEANUP_FREE struct tide_site *rows = tide_alloc_array(n_most, sizeof *rows);
  for (size_t first = 0; first < image->n_sites; first += TIDE_ROWS_SITES) {
    size_t left = image->n_sites - first, n = left < TIDE_ROWS_SITES ? left : TIDE_ROWS_SITES;
    for (size_t i = 0; i < n; i++)
      rows[i] = tide_image_site(image, order[first + i]);
    tide_encode_sites(&w->raw, image, rows, first, n);
    put_body_part(w, TIDE_PART_SITES, image_idx);
  }
}

static void put_packed(struct writer *w, const struct tide_buf *parts, size_t image_idx)
{
  const struct tide_pack *pack = w->capture->images[image_idx].pack;
  if (pack->err && !w->err)
    w->err = tide_fail(w->diag, pack->err, "the capture has a part that is too large");
  if (!w->err)
    tide_parts_splice(&w->body, parts, (uint32_t)image_idx, &w->n_parts);
}

static int by_peak(const void *left, const void *right, void *context)
{
  const struct tide_image *images = context;
  size_t a = *(const size_t *)left, b = *(const size_t *)right;
  if (images[a].peak_bytes != images[b].peak_bytes)
    return images[a].peak_bytes > images[b].peak_bytes ? -1 : 1;
  return (a > b) - (a < b);
}

// The images by falling peak: a run of many small helpers around one large program should not lose
// the large one when the file is cut.
static size_t *images_in_file_order(const struct tide_capture *capture)
{
  size_t *order = tide_alloc_array(capture->n_images, sizeof *order);
  for (size_t i = 0; i < capture->n_images; i++)
    order[i] = i;
  qsort_r(order, capture->n_images, sizeof *order, by_peak, capture->images);
  return order;
}

static void put_symbols(struct writer *w, size_t image_idx)
{
  const struct tide_image *image = &w->capture->images[image_idx];
  for (size_t first = 0; first < image->names.n_places && !w->err;) {
    first += tide_encode_symbols(&w->raw, image, first);
    put_body_part(w, TIDE_PART_SYMBOLS, image_idx);
  }
}

static void put_tables(struct writer *w, size_t image_idx)
{
  const struct tide_image *image = &w->capture->images[image_idx];
  put_table(w, TIDE_PART_MODULES, image_idx, tide_encode_modules, 1, image->n_modules,
            TIDE_ROWS_MODULES);
  put_table(w, TIDE_PART_THREADS, image_idx, tide_encode_threads, 1, image->n_threads_known,
            TIDE_ROWS_OTHER);
  if (image->pack) {
    put_packed(w, &image->pack->tables, image_idx);
  } else {
    put_frames(w, image_idx);
    put_sites(w, image_idx);
  }
  put_table(w, TIDE_PART_EVENTS, image_idx, tide_encode_events, 0, image->n_events,
            TIDE_ROWS_OTHER);
  put_table(w, TIDE_PART_TIMELINE, image_idx, tide_encode_timeline, 0, image->n_ticks,
            TIDE_ROWS_OTHER);
  if (image->n_held) {
    tide_encode_held(&w->raw, image);
    put_body_part(w, TIDE_PART_HELD, image_idx);
  }
  if (image->n_rss_kinds) {
    tide_encode_rss_kinds(&w->raw, image);
    put_body_part(w, TIDE_PART_RSS_KINDS, image_idx);
  }
  if (image->has_resident) {
    tide_encode_resident(&w->raw, image);
    put_body_part(w, TIDE_PART_RESIDENT, image_idx);
  }
  if (image->has_allocators) {
    tide_encode_allocators(&w->raw, image);
    put_body_part(w, TIDE_PART_ALLOCATORS, image_idx);
  }
  for (size_t i = 0; i < image->n_residences; i++) {
    tide_encode_residence(&w->raw, &image->residences[i]);
    put_body_part(w, TIDE_PART_RESIDENCE, image_idx);
  }
  put_table(w, TIDE_PART_MARKS, image_idx, tide_encode_marks, 0, image->n_marks, TIDE_ROWS_OTHER);
  put_symbols(w, image_idx);
}

static void put_snapshots(struct writer *w, size_t image_idx)
{
  const struct tide_image *image = &w->capture->images[image_idx];
  if (image->pack) {
    put_packed(w, &image->pack->snapshots, image_idx);
    return;
  }
  for (struct tide_snapshot_place at = {0}; at.snapshot < image->n_snapshots && !w->err;) {
    w->flags = tide_encode_snapshots(&w->raw, image, &at) ? TIDE_PART_GOES_ON : 0;
    put_body_part(w, TIDE_PART_SNAPSHOTS, image_idx);
  }
}

// One part at least: that there are none is known, too.
static void put_late_frees(struct writer *w, size_t image_idx)
{
  const struct tide_image *image = &w->capture->images[image_idx];
  if (!image->has_late_frees)
    return;
  if (image->n_late_frees == 0) {
    tide_encode_late_frees(&w->raw, image, 0, 0);
    put_body_part(w, TIDE_PART_LATE_FREES, image_idx);
  }
  put_table(w, TIDE_PART_LATE_FREES, image_idx, tide_encode_late_frees, 0, image->n_late_frees,
            TIDE_ROWS_OTHER);
}

static void put_body(struct writer *w)
{
  size_t n_images = w->capture->n_images;
  TIDE_CLEANUP_FREE size_t *order = images_in_file_order(w->capture);
  w->n_parts = 1; // FACTS
  tide_roots_init(&w->roots, w->capture, order);
  for (size_t i = 0; i < n_images; i++) {
    tide_encode_image(&w->raw, &w->capture->images[i]);
    put_body_part(w, TIDE_PART_IMAGE, i);
  }
  if (w->capture->roll.is_known) {
    tide_encode_roll(&w->raw, &w->capture->roll);
    put_body_part(w, TIDE_PART_ROLL, 0);
  }
  if (w->capture->has_cost) {
    tide_encode_cost(&w->raw, &w->capture->cost);
    put_body_part(w, TIDE_PART_COST, 0);
  }
  for (size_t i = 0; i < n_images; i++)
    put_tables(w, order[i]);
  for (size_t i = 0; i < n_images; i++)
    put_snapshots(w, order[i]);
  for (size_t i = 0; i < n_images; i++)
    put_late_frees(w, order[i]);
  tide_buf_varint(&w->raw, w->n_parts + 1);
  put_body_part(w, TIDE_PART_END, 0);
}

enum tide_err tide_file_encode(const struct tide_capture *capture, struct tide_buf *out,
                               struct tide_diag *diag)
{
  enum tide_err err = tide_capture_check(capture, diag);
  if (err)
    return err;
  struct writer w = {.capture = capture, .zstd = ZSTD_createCCtx(), .diag = diag};
  if (!w.zstd)
    return tide_fail(diag, TIDE_ERR_SYSTEM, "zstd could not be started");
  put_body(&w);
  tide_buf_append(out, TIDE_FILE_MAGIC, TIDE_FILE_MAGIC_BYTES);
  tide_buf_u16(out, TIDE_FILE_MAJOR);
  tide_buf_u16(out, TIDE_FILE_MINOR);
  tide_buf_u32(out, 0);
  tide_buf_clear(&w.raw);
  tide_encode_facts(&w.raw, capture, w.n_parts);
  put_part(&w, out, TIDE_PART_FACTS, 0, 0, NULL);
  tide_buf_append(out, w.body.data, w.body.n);
  ZSTD_freeCCtx(w.zstd);
  tide_roots_done(&w.roots);
  tide_buf_done(&w.raw);
  tide_buf_done(&w.body);
  return w.err;
}

// 0, or -1 with errno. A short write (disk full) comes back as the error of the next one.
static int write_all(int fd, const uint8_t *data, size_t n)
{
  while (n > 0) {
    ssize_t done = write(fd, data, n);
    if (done < 0 && errno != EINTR)
      return -1;
    if (done > 0) {
      data += done;
      n -= (size_t)done;
    }
  }
  return 0;
}

// write_all() with SIGXFSZ held back and then taken off the queue.
static int write_all_quietly(int fd, const uint8_t *data, size_t n)
{
  sigset_t limit, before;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  int result = write_all(fd, data, n), saved = errno;
  if (result < 0 && saved == EFBIG && !sigismember(&before, SIGXFSZ))
    sigtimedwait(&limit, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = saved;
  return result;
}

static enum tide_err write_in_place(const struct tide_buf *bytes, const char *path,
                                    struct tide_diag *diag)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot open %s for writing", path);
  int failed = write_all_quietly(fd, bytes->data, bytes->n);
  enum tide_err err = failed ? tide_fail_errno(diag, "cannot write %s", path) : TIDE_ERR_OK;
  close(fd);
  return err;
}

// Makes a file beside target that nobody else has; gives its descriptor and its name.
static int open_beside(const char *target, char **ret_name)
{
  for (int attempt = 0; attempt < 100; attempt++) {
    char *name = tide_sprintf("%s.%ld-%d.tmp", target, (long)getpid(), attempt);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
      *ret_name = name;
      return fd;
    }
    int saved = errno;
    free(name);
    errno = saved;
    if (saved != EEXIST)
      return -1;
  }
  return -1;
}

// A capture holds command lines: it is its owner's alone, whatever the umask. replaced: the file
// whose owner and mode are kept; NULL: none.
static enum tide_err write_and_rename(const struct tide_buf *bytes, const char *target,
                                      const struct stat *replaced, const char *path,
                                      struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *temporary = NULL;
  int fd = open_beside(target, &temporary);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot create a file beside %s", path);
  enum tide_err err = TIDE_ERR_OK;
  if (replaced)
    (void)!fchown(fd, replaced->st_uid, replaced->st_gid);       // root's to do
  (void)!fchmod(fd, replaced ? replaced->st_mode & 0777 : 0600); // not all file systems have modes
  if (write_all_quietly(fd, bytes->data, bytes->n) < 0)
    err = tide_fail_errno(diag, "cannot write %s", path);
  if (close(fd) < 0 && !err) // network file systems tell of a full disk here
    err = tide_fail_errno(diag, "cannot write %s", path);
  if (!err && rename(temporary, target) < 0)
    err = tide_fail_errno(diag, "cannot put the finished file in place of %s", path);
  if (err)
    unlink(temporary);
  return err;
}

static enum tide_err put_file(const struct tide_buf *bytes, const char *path, bool keep_mode,
                              struct tide_diag *diag)
{
  struct stat st;
  bool exists = stat(path, &st) == 0;
  if (exists && S_ISDIR(st.st_mode))
    return tide_fail(diag, TIDE_ERR_SYSTEM, "cannot write %s: it is a directory", path);
  if (exists && !S_ISREG(st.st_mode))
    return write_in_place(bytes, path, diag);
  TIDE_CLEANUP_FREE char *target = realpath(path, NULL); // a link stays, its file is replaced
  return write_and_rename(bytes, target ? target : path, exists && keep_mode ? &st : NULL, path,
                          diag);
}

static enum tide_err encode_and_put(const struct tide_capture *capture, const char *path,
                                    bool keep_mode, struct tide_diag *diag)
{
  struct tide_buf bytes = {0};
  enum tide_err err = tide_file_encode(capture, &bytes, diag);
  if (!err)
    err = put_file(&bytes, path, keep_mode, diag);
  tide_buf_done(&bytes);
  return err;
}

enum tide_err tide_file_put(const struct tide_buf *bytes, const char *path, struct tide_diag *diag)
{
  return put_file(bytes, path, false, diag);
}

enum tide_err tide_file_write(const struct tide_capture *capture, const char *path,
                              struct tide_diag *diag)
{
  return encode_and_put(capture, path, false, diag);
}

enum tide_err tide_file_replace(const struct tide_capture *capture, const char *path,
                                struct tide_diag *diag)
{
  return encode_and_put(capture, path, true, diag);
}
