// SPDX-License-Identifier: Apache-2.0
//
// tidemark maps: where the resident memory of a process is.
#include "base/proc.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "report/residence.h"
#include "residence/table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_DEFAULT = 10 };

static enum tide_err pid_of(const struct tide_arguments *arguments, uint32_t *ret_pid,
                            struct tide_diag *diag)
{
  char *end = NULL;
  unsigned long pid = arguments->n_rest == 1 ? strtoul(arguments->rest[0], &end, 10) : 0;
  if (arguments->n_rest != 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "of which process? tidemark maps PID");
  if (!pid || *end || pid > INT_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s is not the number of a process: tidemark maps PID",
                     arguments->rest[0]);
  *ret_pid = (uint32_t)pid;
  return TIDE_ERR_OK;
}

// The names of the sites, by the copy of the recorder's store; without one there are none.
static bool open_names(const struct tide_arguments *arguments,
                       const struct tide_residence *residence, struct tide_looking *looking)
{
  char path[64];
  struct tide_diag diag = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", residence->store_fd);
  return residence->store_fd >= 0 && !tide_looking_open(arguments, path, NULL, looking, &diag);
}

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

int tide_cmd_maps(const struct tide_arguments *arguments)
{
  struct tide_residence residence;
  struct tide_looking looking = {0};
  struct tide_diag diag = {0};
  char name[64] = "";
  uint32_t pid = 0;
  enum tide_err err = pid_of(arguments, &pid, &diag);
  if (!err)
    err = tide_residence_take(pid, &residence, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  tide_proc_name(pid, name, sizeof name);
  bool has_names = open_names(arguments, &residence, &looking);
  struct tide_residence_subject subject = {
      .residence = &residence,
      .pid = pid,
      .name = name,
      .view = has_names ? &looking.view : NULL,
      .n_rows = arguments->top    ? arguments->top
                : arguments->json ? SIZE_MAX
                                  : ROWS_DEFAULT,
  };
  err = write_maps(arguments, &subject, &diag);
  tide_looking_done(&looking);
  tide_residence_done(&residence);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
