// SPDX-License-Identifier: Apache-2.0
//
// tidemark maps: where the resident memory of a process is, or was when it was recorded.
#include "base/alloc.h"
#include "base/proc.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "report/residence.h"
#include "residence/take.h"
#include "words/image_text.h"
#include "words/residence_words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// The names of the sites, by the copy of the recorder's store; without one there are none.
static bool open_names(const struct tide_arguments *arguments, int store_fd,
                       struct tide_looking *looking)
{
  char path[64];
  struct tide_diag diag = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", store_fd);
  return store_fd >= 0 && !tide_looking_open(arguments, path, NULL, looking, &diag);
}

static enum tide_err show_process(const struct tide_arguments *arguments, uint32_t pid,
                                  struct tide_diag *diag)
{
  struct tide_residence residence;
  struct tide_looking looking = {0};
  char name[64] = "";
  int store_fd = -1;
  if (arguments->at)
    return tide_fail(diag, TIDE_ERR_USAGE, "--at is for a capture: tidemark maps FILE --at 2s");
  enum tide_err err = tide_residence_take(pid, -1, &residence, &store_fd, diag);
  if (err)
    return err;
  tide_proc_name(pid, name, sizeof name);
  bool has_names = open_names(arguments, store_fd, &looking);
  struct tide_residence_subject subject = {
      .residence = &residence,
      .pid = pid,
      .name = name,
      .view = has_names ? &looking.view : NULL,
      .n_rows = n_rows(arguments),
  };
  err = write_maps(arguments, &subject, diag);
  tide_looking_done(&looking);
  tide_residence_done(&residence);
  if (store_fd >= 0)
    close(store_fd);
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

static bool is_number(const char *word)
{
  return *word && word[strspn(word, "0123456789")] == 0;
}

int tide_cmd_maps(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  const char *what = NULL;
  enum tide_err err = tide_looking_path(arguments, &what, &diag);
  if (!err && what && is_number(what) && access(what, F_OK)) {
    unsigned long pid = strlen(what) < 11 ? strtoul(what, NULL, 10) : 0;
    err = pid && pid <= INT_MAX
              ? show_process(arguments, (uint32_t)pid, &diag)
              : tide_fail(&diag, TIDE_ERR_USAGE, "%s is not the number of a process", what);
  } else if (!err) {
    err = show_capture(arguments, what, &diag);
  }
  return err ? tide_cmd_failed(err, &diag) : 0;
}
