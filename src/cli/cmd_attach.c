// SPDX-License-Identifier: Apache-2.0
//
// tidemark attach and tidemark detach: what the user sees of it. Words go to standard error; the
// process's own output is its own.
#define _GNU_SOURCE
#include "attach/asks.h"
#include "attach/job.h"
#include "base/alloc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/dumping.h"
#include "cli/first_screen.h"
#include "cli/library.h"
#include "cli/live_top.h"
#include "cli/opening.h"
#include "cli/pushing.h"
#include "cli/sampling.h"
#include "cli/showing.h"
#include "cli/terminal.h"
#include "supervise/attach.h"
#include "view/storing.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static enum tide_err parse_pid(const struct tide_arguments *arguments, uint32_t *ret_pid,
                               struct tide_diag *diag)
{
  const char *verb = tide_verb_name(arguments->verb);
  if (arguments->n_rest != 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s which process? tidemark %s PID", verb, verb);
  char *end;
  unsigned long pid = strtoul(arguments->rest[0], &end, 10);
  if (*end || !pid || pid > INT_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "'%s' is no process id", arguments->rest[0]);
  *ret_pid = (uint32_t)pid;
  return TIDE_ERR_OK;
}

// Whoever looks on while it is recorded.
struct onlooker {
  struct tide_arguments arguments;
  struct tide_live_page *page;  // NULL: none
  struct tide_pushing *pushing; // likewise
  struct tide_live_top *top;    // likewise; then there is nobody else
  int root_fd;                  // the process's root directory, if that is not ours; else -1
  char *debug_dirs;             // owned; the arguments' and those in its root; NULL: the same
};

// A container's files are named as it calls them, and found by their build ids under its root:
// while it lives, and by a descriptor afterwards.
static void look_into_container(struct onlooker *onlooker, uint32_t pid)
{
  struct tide_candidate process;
  if (tide_candidate_read(pid, &process, NULL) || !tide_candidate_is_elsewhere(&process))
    return;
  TIDE_CLEANUP_FREE char *root = tide_sprintf("/proc/%u/root", pid);
  onlooker->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (onlooker->root_fd < 0)
    return;
  const char *own = onlooker->arguments.debug_dirs;
  TIDE_CLEANUP_FREE char *kept = tide_sprintf("/proc/self/fd/%d", onlooker->root_fd);
  onlooker->debug_dirs = tide_sprintf("%s%s%s:%s/usr/lib/debug:%s:%s/usr/lib/debug", own ? own : "",
                                      own ? ":" : "", root, root, kept, kept);
  onlooker->arguments.debug_dirs = onlooker->debug_dirs;
}

static void onlooker_done(struct onlooker *onlooker)
{
  if (onlooker->root_fd >= 0)
    close(onlooker->root_fd);
  free(onlooker->debug_dirs);
}

static void say_attached(const struct tide_arguments *arguments,
                         const struct tide_attached *attached, const struct tide_candidate *process)
{
  struct tide_buf names = {0};
  if (arguments->quiet)
    return;
  for (int i = 0; i < 32; i++)
    if (attached->families >> i & 1)
      tide_buf_printf(&names, "%s%s", names.n ? ", " : "", tide_family_words((enum tide_family)i));
  char still[TIDE_UNITS_MAX];
  tide_say("recording process %s: %s; it stood still for %s; Ctrl-C lets it go", process->where,
           names.n ? (const char *)names.data : "nothing",
           tide_units_time(still, attached->all_stopped_ns, false));
  if (attached->refused[0])
    tide_say("not hooked: %s", attached->refused);
  if (tide_program_asks_in_vain(process->file))
    tide_say("it was built with an older tidemark.h, which does not find a recorder that comes "
             "later: build it anew, or start it with 'tidemark run', for its regions, scopes, "
             "events, pools and marks (from outside: tidemark ctl)");
  tide_buf_done(&names);
}

// From now on there may be threads.
static void begin_looking(void *context, const struct tide_attached *attached,
                          const struct tide_candidate *process, const char *path)
{
  const struct onlooker *onlooker = context;
  say_attached(&onlooker->arguments, attached, process);
  if (onlooker->pushing)
    tide_pushing_start(onlooker->pushing, path);
  if (onlooker->page && onlooker->pushing)
    tide_live_page_set_metrics(onlooker->page, tide_pushing_metrics, onlooker->pushing);
  if (onlooker->page)
    tide_live_page_start(onlooker->page, path);
  if (onlooker->top)
    tide_live_top_start(onlooker->top, path);
}

// Names that can be had now, and not when the container is gone.
static void complete(void *context, struct tide_capture *capture)
{
  const struct onlooker *onlooker = context;
  struct tide_storing storing = {0};
  struct tide_diag diag;
  tide_first_screen_complete(capture);
  if (onlooker->root_fd < 0)
    return;
  struct tide_resolver *resolver = tide_resolver_open(&onlooker->arguments);
  if (!tide_storing_run(capture, resolver, &storing, &diag))
    tide_storing_done(&storing);
  tide_resolver_free(resolver);
  tide_progress_stop();
}

static void say_result(const struct tide_arguments *arguments,
                       const struct tide_attach_result *result, const struct tide_rules *rules)
{
  signal(SIGPIPE, SIG_IGN);
  if (result->run.note)
    tide_say("%s", result->run.note);
  else if (!arguments->quiet)
    tide_first_screen(arguments, &result->run, rules);
  if (result->run.dumps_note && !arguments->quiet)
    tide_say("%s", result->run.dumps_note);
  if (result->run.save_err)
    tide_cmd_failed(result->run.save_err, &result->run.save_diag);
  if (result->detach_err)
    tide_cmd_failed(result->detach_err, &result->detach_diag);
}

static enum tide_err attach_and_tell(const struct tide_arguments *arguments,
                                     struct tide_attach_options *options,
                                     const struct tide_rules *rules, bool *ret_whole,
                                     struct tide_diag *diag)
{
  struct onlooker onlooker = {.arguments = *arguments, .root_fd = -1};
  struct tide_attach_result result = {0};
  look_into_container(&onlooker, options->pid);
  enum tide_err err = arguments->view || arguments->serve
                          ? tide_live_page_new(&onlooker.arguments, &onlooker.page, diag)
                          : TIDE_ERR_OK;
  struct tide_control *control =
      !err && onlooker.page ? tide_live_page_control(onlooker.page) : NULL;
  if (!err && arguments->push)
    err = tide_pushing_new(&onlooker.arguments, rules, control, &onlooker.pushing, diag);
  if (!err && arguments->verb == TIDE_VERB_TOP)
    err = tide_live_top_new(&onlooker.arguments, TIDE_TOP_ATTACH, &onlooker.top, diag);
  if (!err && onlooker.top)
    control = tide_live_top_control(onlooker.top);
  if (err)
    tide_live_page_free(onlooker.page);
  if (!err) {
    options->control = onlooker.pushing ? tide_pushing_control(onlooker.pushing) : control;
    options->companion = &onlooker;
    err = tide_attach(options, &result, diag);
    if (err) {
      tide_pushing_free(onlooker.pushing);
      tide_live_page_free(onlooker.page);
      tide_live_top_free(onlooker.top);
    }
  }
  if (!err) {
    if (onlooker.top)
      tide_live_top_finish(onlooker.top, &result.run, result.has_ended);
    say_result(&onlooker.arguments, &result, rules);
    if (onlooker.page)
      tide_live_page_set_metrics(onlooker.page, NULL, NULL);
    if (onlooker.pushing) // its control may be the page's
      tide_pushing_finish(onlooker.pushing, &result.run);
    if (onlooker.page)
      tide_live_page_finish(onlooker.page, &result.run);
    *ret_whole = !result.run.save_err && !result.detach_err;
    tide_attach_result_done(&result);
  }
  onlooker_done(&onlooker);
  return err;
}

static enum tide_err check_attach_arguments(const struct tide_arguments *arguments,
                                            struct tide_attach_options *options,
                                            struct tide_diag *diag)
{
  enum tide_err err = parse_pid(arguments, &options->pid, diag);
  if (!err && arguments->no_open && !arguments->view)
    err = tide_fail(diag, TIDE_ERR_USAGE, "--no-open goes with --view");
  if (!err)
    err = tide_live_page_check(arguments, diag);
  if (!err)
    err = tide_pushing_check(arguments, diag);
  if (!err && arguments->duration)
    err = tide_time_parse(arguments->duration, &options->for_ns, diag);
  if (!err && arguments->duration && !options->for_ns) // which would be without end
    err = tide_fail(diag, TIDE_ERR_USAGE, "--for takes a time of more than nothing: 30s, 5m, 1h");
  return err;
}

int tide_cmd_attach(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  TIDE_CLEANUP_FREE char *agent = NULL;
  struct tide_rules *rules = NULL;
  bool is_whole = false;
  struct tide_attach_options options = {
      .output = arguments->output,
      .debug_dirs = arguments->debug_dirs,
      .force = arguments->force,
      .redact_args = arguments->redact_args,
      .starts_paused = arguments->start_paused,
      .depth = (uint32_t)arguments->depth,
      .sample_bits = tide_sampling_bits(arguments->sample),
      .attached = begin_looking,
      .complete = complete,
  };
  struct tide_dump_options dumps;
  enum tide_err err = check_attach_arguments(arguments, &options, &diag);
  if (!err)
    err = tide_dumping_asked(arguments, &dumps, &diag);
  if (!err && dumps.n_rules)
    options.dumps = &dumps;
  if (!err)
    err = tide_library_find(TIDE_LIBRARY_AGENT, &agent, &diag);
  if (!err)
    err = tide_rules_open(arguments, &rules, &diag);
  options.agent = agent;
  if (!err)
    err = attach_and_tell(arguments, &options, rules, &is_whole, &diag);
  tide_rules_free(rules);
  return err ? tide_cmd_failed(err, &diag) : is_whole ? 0 : 1;
}

int tide_cmd_detach(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  TIDE_CLEANUP_FREE char *agent = NULL;
  struct tide_job_options options = {.debug_dirs = arguments->debug_dirs};
  bool found = false;
  enum tide_err err = parse_pid(arguments, &options.pid, &diag);
  if (!err)
    err = tide_library_find(TIDE_LIBRARY_AGENT, &agent, &diag);
  options.agent = agent;
  if (!err)
    err = tide_helper_clear(&options, &found, &diag);
  if (!err && !found)
    err =
        tide_fail(&diag, TIDE_ERR_NOT_FOUND, "tidemark is not attached to process %u", options.pid);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
