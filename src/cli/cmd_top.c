// SPDX-License-Identifier: Apache-2.0
//
// tidemark top: which of its ways is meant. A command behind "--" is run, a process attached to
// or, if somebody records it already, looked at, and a file is read.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/proc.h"
#include "cli/commands.h"
#include "cli/live_top.h"
#include "cli/looking.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "residence/take.h"
#include "serve/exhibit.h"

#include <stdlib.h>
#include <unistd.h>

// ---- the store of a process that somebody else records ----

struct process_source {
  struct tide_source source; // the first member
  const struct tide_arguments *arguments;
  uint32_t pid;
  bool has_ended;
};

// A copy of the store, read like the file that a bare preload leaves.
static enum tide_err read_store_of(const struct process_source *process,
                                   struct tide_capture **ret_capture, bool *ret_is_there,
                                   struct tide_diag *diag)
{
  int store_fd = -1;
  enum tide_err err = tide_residence_store(process->pid, &store_fd, diag);
  *ret_is_there = !err && store_fd >= 0;
  if (err || store_fd < 0)
    return err;
  TIDE_CLEANUP_FREE char *path = tide_sprintf("/proc/self/fd/%d", store_fd);
  struct tide_opened opened;
  err = tide_capture_open(process->arguments, path, &opened, diag);
  close(store_fd);
  if (err)
    return err;
  *ret_capture = opened.capture;
  opened.capture = NULL;
  tide_opened_done(&opened);
  (*ret_capture)->finished = false;
  return TIDE_ERR_OK;
}

static enum tide_err refresh_process(struct tide_source *source, uint32_t wait_ms,
                                     struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct process_source *process = (struct process_source *)source;
  struct tide_proc_stat stat;
  bool is_there = false;
  (void)wait_ms;
  *ret_capture = NULL;
  enum tide_err err = read_store_of(process, ret_capture, &is_there, diag);
  bool is_gone = !tide_proc_stat(process->pid, &stat) || stat.state == 'Z';
  process->has_ended |= is_gone || (!err && !is_there);
  return process->has_ended && err ? TIDE_ERR_OK : err; // then the last look is the last
}

static enum tide_err look_at_process(struct tide_source *source, bool is_wanted,
                                     struct tide_capture **ret_capture, struct tide_diag *diag)
{
  (void)is_wanted;
  return refresh_process(source, 0, ret_capture, diag);
}

static bool process_is_live(const struct tide_source *source, const struct tide_capture *shown)
{
  (void)shown;
  return !((const struct process_source *)source)->has_ended;
}

static void free_process(struct tide_source *source)
{
  free(source->name);
  free(source);
}

static struct tide_source *process_source_new(const struct tide_arguments *arguments, uint32_t pid)
{
  static const struct tide_source_kind kind = {look_at_process, refresh_process, process_is_live,
                                               free_process};
  struct process_source *process = tide_alloc(sizeof *process);
  *process = (struct process_source){
      .source = {&kind, tide_sprintf("%u", pid)}, .arguments = arguments, .pid = pid};
  return &process->source;
}

// ---- files ----

static enum tide_err open_for_top(void *context, const char *path,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct tide_opened opened;
  enum tide_err err = tide_capture_open(context, path, &opened, diag);
  if (err)
    return err;
  *ret_capture = opened.capture;
  opened.capture = NULL;
  tide_opened_done(&opened);
  return TIDE_ERR_OK;
}

static int watch_file(const struct tide_arguments *arguments, const char *path)
{
  const struct tide_file_opener opener = {(void *)arguments, open_for_top};
  return tide_live_top_watch(
      arguments, &(struct tide_watching){
                     .source = tide_file_source_new(path, &opener),
                     .how = "a file as it is written",
                     .quits = "q leaves the file and whoever writes it alone. A run writes it less "
                              "and less often; top PID looks at the process itself.",
                 });
}

// ---- processes ----

static int watch_process(const struct tide_arguments *arguments, uint32_t pid)
{
  char name[64] = "";
  tide_proc_name(pid, name, sizeof name);
  TIDE_CLEANUP_FREE char *dumps = tide_sprintf("tidemark.%s.%u.tide", name, pid);
  return tide_live_top_watch(
      arguments,
      &(struct tide_watching){
          .source = process_source_new(arguments, pid),
          .how = "recorded by another",
          .quits = "q leaves the process and its recording alone. RSS is the kernel's number, "
                   "with what the recorder takes.",
          .dumps = dumps,
          .rss_pid = pid,
      });
}

// How a recording is made is said where one begins.
static enum tide_err check_sample(const struct tide_arguments *arguments, uint32_t pid,
                                  struct tide_diag *diag)
{
  if (!arguments->sample)
    return TIDE_ERR_OK;
  if (!pid)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--sample is for a command, or a process to attach to; a file was recorded as "
                     "it is");
  return tide_fail(diag, TIDE_ERR_USAGE,
                   "--sample is for a recording that begins, and process %u is recorded already: "
                   "leave it out; 'tidemark ctl %u sample=SIZE' changes one that samples",
                   pid, pid);
}

// One that somebody else records, by its store.
static bool is_recorded(uint32_t pid)
{
  struct tide_diag ignored;
  int store_fd = -1;
  bool is = !tide_residence_store(pid, &store_fd, &ignored) && store_fd >= 0;
  if (store_fd >= 0)
    close(store_fd);
  return is;
}

int tide_cmd_top(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  const char *word = arguments->n_rest ? arguments->rest[0] : NULL;
  uint32_t pid = 0;
  if (arguments->has_command && word)
    return tide_cmd_run(arguments);
  enum tide_err err = TIDE_ERR_OK;
  if (!word)
    err = tide_fail(&diag, TIDE_ERR_USAGE, "top of what? tidemark top PID, FILE or -- COMMAND");
  else if (arguments->n_rest > 1)
    err = tide_fail(&diag, TIDE_ERR_USAGE,
                    "one at a time: \"%s\" is one too many; a command stands behind --: tidemark "
                    "top -- COMMAND",
                    arguments->rest[1]);
  if (!err)
    err = tide_looking_pid(word, &pid, &diag);
  // One that may not be looked at may not be attached to, which has better words for it.
  bool is_attached_to = !err && pid && !is_recorded(pid);
  if (!err && !is_attached_to)
    err = check_sample(arguments, pid, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  if (is_attached_to)
    return tide_cmd_attach(arguments);
  return pid ? watch_process(arguments, pid) : watch_file(arguments, word);
}
