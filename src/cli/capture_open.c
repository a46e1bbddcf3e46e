// SPDX-License-Identifier: Apache-2.0
//
// Which file, and what kind of file.
#include "cli/capture_open.h"

#include "base/alloc.h"
#include "import/importers.h"
#include "model/image_sums.h"
#include "observe/store_read.h"
#include "view/storing.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_capture_name(const char *name)
{
  size_t n = strlen(name);
  bool ends = (n > 5 && strcmp(name + n - 5, ".tide") == 0) ||
              (n > 6 && strcmp(name + n - 6, ".store") == 0);
  return ends && strncmp(name, "tidemark.", 9) == 0;
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
  if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
    return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
  return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

char *tide_capture_newest(void)
{
  DIR *dir = opendir(".");
  char *newest = NULL;
  struct stat newest_stat = {0};
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    struct stat st;
    if (!is_capture_name(entry->d_name) || stat(entry->d_name, &st) != 0 || !S_ISREG(st.st_mode))
      continue;
    if (newest && !is_newer(&st, &newest_stat))
      continue;
    free(newest);
    newest = tide_strdup(entry->d_name);
    newest_stat = st;
  }
  if (dir)
    closedir(dir);
  return newest;
}

enum tide_err tide_capture_none(struct tide_diag *diag)
{
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "no file given, and no tidemark.*.tide in the current directory; "
                   "'tidemark run COMMAND' makes one");
}

// A store is sparse: what it takes, not how far it reaches.
static uint64_t room_taken(const char *path, bool is_sparse)
{
  struct stat st;
  if (stat(path, &st) != 0)
    return 0;
  return is_sparse ? (uint64_t)st.st_blocks * 512 : (uint64_t)st.st_size;
}

size_t tide_capture_complete(struct tide_capture *capture, const char *name)
{
  bool is_ours = !capture->n_images || !capture->images[0].origin; // pids of here and now
  size_t n_new_names = is_ours ? tide_jit_names_add(capture, TIDE_JIT_MAPS_DIR) : 0;
  for (size_t i = 0; i < capture->n_images; i++) {
    capture->images[i].file = tide_strdup(name);
    tide_image_settle_peak(&capture->images[i]);
  }
  return n_new_names;
}

enum tide_err tide_capture_open(const char *path, struct tide_opened *ret_opened,
                                struct tide_diag *diag)
{
  struct tide_opened opened = {.by_default = !path};
  if (path && strcmp(path, "-") == 0)
    path = "/dev/stdin";
  bool is_pipe = path && strcmp(path, "/dev/stdin") == 0;
  opened.path = path ? tide_strdup(path) : tide_capture_newest();
  if (!opened.path)
    return tide_capture_none(diag);
  bool is_store = tide_store_file_is(opened.path);
  enum tide_err err = is_store ? tide_store_file_read(opened.path, &opened.capture, diag)
                               : tide_import_file(opened.path, &opened.capture, diag);
  if (err) {
    tide_opened_done(&opened);
    return err;
  }
  opened.n_new_names =
      tide_capture_complete(opened.capture, is_pipe ? "standard input" : opened.path);
  opened.file_bytes = room_taken(opened.path, is_store);
  *ret_opened = opened;
  return TIDE_ERR_OK;
}

void tide_opened_done(struct tide_opened *opened)
{
  tide_capture_free(opened->capture);
  free(opened->path);
  *opened = (struct tide_opened){0};
}
