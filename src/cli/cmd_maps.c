// SPDX-License-Identifier: Apache-2.0
//
// tidemark maps: where the resident memory of a process is, or was when it was recorded.
#include "attach/trim.h"
#include "base/alloc.h"
#include "base/proc.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "model/capture.h"
#include "report/residence.h"
#include "words/image_text.h"
#include "words/residence_words.h"

#include <string.h>

enum { ROWS_DEFAULT = 10 };

static enum tide_err write_maps(const struct tide_arguments *arguments,
                                const struct tide_residence_subject *subject,
                                struct tide_diag *diag)
{
  struct tide_sink sink;
  if (arguments->json) {
    tide_sink_init(&sink, stdout);
    tide_residence_json_write(&sink, subject);
  } else {
    tide_pager_begin(&sink, arguments);
    struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
    tide_residence_write(&screen, subject);
  }
  return tide_pager_finish(&sink, "the table", diag);
}

static size_t n_rows(const struct tide_arguments *arguments)
{
  return arguments->top ? arguments->top : arguments->json ? SIZE_MAX : ROWS_DEFAULT;
}

// ---- a process ----

static enum tide_err try_trim(const struct tide_residence *residence, uint32_t pid,
                              struct tide_residence_tried *ret_tried, struct tide_diag *diag)
{
  struct tide_trim_tried tried;
  if (residence->heap != TIDE_HEAP_GLIBC)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "malloc_trim cannot be tried on process %u: its allocator is not glibc's, or "
                     "its heaps could not be read",
                     pid);
  enum tide_err err = tide_trim_try(pid, &tried, diag);
  if (!err)
    *ret_tried = (struct tide_residence_tried){tried.rss_before, tried.rss_after, tried.took_ns,
                                               tried.left_bytes};
  return err;
}

static enum tide_err show_process(const struct tide_arguments *arguments, uint32_t pid,
                                  struct tide_diag *diag)
{
  struct tide_looking looking = {0};
  char name[64] = "";
  if (arguments->at)
    return tide_fail(diag, TIDE_ERR_USAGE, "--at is for a capture: tidemark maps FILE --at 2s");
  enum tide_err err = tide_looking_process(arguments, pid, &looking, diag);
  if (err)
    return err;
  tide_proc_name(pid, name, sizeof name);
  const struct tide_image *image = looking.profile->image;
  struct tide_residence_subject subject = {
      .residence = &image->residences[image->n_residences - 1],
      .pid = pid,
      .name = name,
      .view = tide_image_is_unrecorded(image) ? NULL : &looking.view,
      .n_rows = n_rows(arguments),
  };
  struct tide_residence_tried tried;
  if (arguments->try_trim) {
    err = try_trim(subject.residence, pid, &tried, diag);
    subject.tried = &tried;
  }
  if (!err)
    err = write_maps(arguments, &subject, diag);
  tide_looking_done(&looking);
  return err;
}

// ---- a capture ----

// Which of the tables is meant; without a word that of the most memory.
static enum tide_err pick_table(const struct tide_image *image, const char *at,
                                const struct tide_residence **ret_table, struct tide_diag *diag)
{
  struct tide_moment moment = {.kind = TIDE_MOMENT_PEAK};
  if (!image->n_residences) {
    TIDE_CLEANUP_FREE char *why = tide_residence_none_words(image);
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s", why);
  }
  enum tide_err err = at ? tide_moment_parse(at, &moment, diag) : TIDE_ERR_OK;
  uint64_t run_ns = image->end_ns - image->start_ns;
  if (err)
    return err;
  switch (moment.kind) {
  case TIDE_MOMENT_START: *ret_table = &image->residences[0]; break;
  case TIDE_MOMENT_END: *ret_table = &image->residences[image->n_residences - 1]; break;
  case TIDE_MOMENT_PEAK: *ret_table = tide_residence_highest(image); break;
  case TIDE_MOMENT_TIME:
    *ret_table = tide_residence_nearest(image, image->start_ns + moment.time_ns);
    break;
  case TIDE_MOMENT_SHARE:
    *ret_table =
        tide_residence_nearest(image, image->start_ns + (uint64_t)((unsigned __int128)run_ns *
                                                                   moment.share_ppm / 1000000));
    break;
  }
  return TIDE_ERR_OK;
}

static enum tide_err show_capture(const struct tide_arguments *arguments, const char *path,
                                  struct tide_diag *diag)
{
  struct tide_looking looking = {0};
  struct tide_wish wish = {.sort = -1, .by = (enum tide_by)arguments->by};
  const struct tide_residence *table = NULL;
  if (arguments->try_trim)
    return tide_fail(diag, TIDE_ERR_USAGE, "--try-trim is for a process: tidemark maps PID");
  enum tide_err err = tide_looking_open(arguments, path, &wish, &looking, diag);
  if (err)
    return err;
  const struct tide_image *image = looking.profile->image;
  err = pick_table(image, arguments->at, &table, diag);
  if (!err) {
    struct tide_residence_subject subject = {
        .residence = table,
        .pid = image->pid,
        .name = tide_image_program(image),
        .image = image,
        .view = &looking.view,
        .n_rows = n_rows(arguments),
    };
    err = write_maps(arguments, &subject, diag);
  }
  tide_looking_done(&looking);
  return err;
}

int tide_cmd_maps(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  const char *what = NULL;
  uint32_t pid = 0;
  enum tide_err err = tide_looking_path(arguments, &what, &diag);
  if (!err)
    err = tide_looking_pid(what, &pid, &diag);
  if (!err)
    err = pid ? show_process(arguments, pid, &diag) : show_capture(arguments, what, &diag);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
