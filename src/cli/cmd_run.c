// SPDX-License-Identifier: Apache-2.0
//
// tidemark run: the supervisor does the work; here is what the user sees of it. The command owns
// standard output and the exit status, so our words go to standard error and our failures after its
// start never change how we end.
#include "profile/completeness.h"
#include "supervise/run.h"

#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/dumping.h"
#include "cli/first_screen.h"
#include "cli/live_top.h"
#include "cli/opening.h"
#include "cli/pushing.h"
#include "cli/recording.h"
#include "cli/showing.h"
#include "cli/terminal.h"
#include "words/completeness_text.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OWN_FAILURE = 125 };

// Remembers what it said: the result's note may be the same sentence again.
static void say_to_user(void *context, const char *sentence)
{
  char **said = context;
  tide_say("%s", sentence);
  free(*said);
  *said = tide_strdup(sentence);
}

static void say_waiting(const char *command)
{
  tide_say("%s has ended; what it left behind is recorded on; Ctrl-C, or kill %d, ends that",
           command, (int)getpid());
}

// Without a capture there is no screen to lead with what was not recorded.
static void tell_unrecorded(const struct tide_arguments *arguments, const struct tide_roll *roll)
{
  struct tide_sink sink;
  tide_sink_init(&sink, stderr);
  struct tide_screen screen = tide_terminal_screen(&sink, stderr, arguments);
  TIDE_CLEANUP_FREE char *summary = tide_roll_summary(roll, tide_screen_style(&screen));
  if (summary)
    tide_say("nothing was recorded: %s", summary);
  tide_sink_done(&sink);
}

static bool has_nothing(const struct tide_capture *capture)
{
  return !capture->n_images || tide_image_is_unrecorded(&capture->images[0]);
}

static void say_saved(const struct tide_arguments *arguments, const struct tide_run_result *result,
                      const struct tide_rules *rules, const char *said)
{
  bool new_note = result->note && !(said && strncmp(said, result->note, strlen(result->note)) == 0);
  signal(SIGPIPE, SIG_IGN); // a reader of ours that went away must not change our exit status
  bool nothing = has_nothing(result->capture);
  if (!nothing && !arguments->quiet)
    tide_first_screen(arguments, result, rules);
  if (nothing)
    tell_unrecorded(arguments, &result->capture->roll);
  if (new_note && (!arguments->quiet || nothing))
    tide_say("%s", result->note);
  if (result->agent_note && !arguments->quiet)
    tide_say("%s", result->agent_note);
  if (result->dumps_note && !arguments->quiet)
    tide_say("%s", result->dumps_note);
  if (nothing && result->output_path && !arguments->quiet)
    tide_say("saved %s, which says so", result->output_path);
  if (result->n_running && !arguments->quiet)
    tide_say("%u recorded %s still running; what came later is not in the capture%s",
             result->n_running, result->n_running == 1 ? "process is" : "processes are",
             arguments->wait ? "" : "; --wait records on to the end");
  if (result->save_err)
    tide_cmd_failed(result->save_err, &result->save_diag);
}

// Before anything is started.
static enum tide_err check_run_arguments(const struct tide_arguments *arguments,
                                         struct tide_diag *diag)
{
  if (arguments->n_rest == 0)
    return tide_fail(diag, TIDE_ERR_USAGE, "run what? tidemark run COMMAND [ARGUMENT...]");
  if (arguments->no_open && !arguments->view)
    return tide_fail(diag, TIDE_ERR_USAGE, "--no-open goes with --view");
  enum tide_err err = tide_recording_check(arguments, diag);
  if (!err)
    err = tide_live_page_check(arguments, diag);
  return err ? err : tide_pushing_check(arguments, diag);
}

// Who lives beside the recording.
struct beside {
  struct tide_live_page *page;  // NULL: none
  struct tide_pushing *pushing; // likewise
  struct tide_live_top *top;    // likewise; then there is nobody else
};

static void start_beside(void *context, const char *output_path)
{
  const struct beside *beside = context;
  if (beside->pushing)
    tide_pushing_start(beside->pushing, output_path);
  if (beside->page && beside->pushing)
    tide_live_page_set_metrics(beside->page, tide_pushing_metrics, beside->pushing);
  if (beside->page)
    tide_live_page_start(beside->page, output_path);
  if (beside->top)
    tide_live_top_start(beside->top, output_path);
}

static uint64_t spent_beside_ns(void *context)
{
  const struct beside *beside = context;
  return (beside->page ? tide_live_page_spent_ns(beside->page) : 0) +
         (beside->pushing ? tide_pushing_spent_ns(beside->pushing) : 0) +
         (beside->top ? tide_live_top_spent_ns(beside->top) : 0);
}

static enum tide_err open_beside(const struct tide_arguments *arguments,
                                 const struct tide_rules *rules, struct beside *ret_beside,
                                 struct tide_diag *diag)
{
  enum tide_err err = arguments->view || arguments->serve
                          ? tide_live_page_new(arguments, &ret_beside->page, diag)
                          : TIDE_ERR_OK;
  struct tide_control *control =
      !err && ret_beside->page ? tide_live_page_control(ret_beside->page) : NULL;
  if (!err && arguments->push)
    err = tide_pushing_new(arguments, rules, control, &ret_beside->pushing, diag);
  if (!err && arguments->verb == TIDE_VERB_TOP)
    err = tide_live_top_new(arguments, TIDE_TOP_RUN, &ret_beside->top, diag);
  if (err) {
    tide_live_page_free(ret_beside->page);
    ret_beside->page = NULL;
  }
  return err;
}

int tide_cmd_run(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  struct beside beside = {0};
  struct tide_recording recording = {0};
  TIDE_CLEANUP_FREE char *said = NULL;
  struct tide_rules *rules = NULL;
  struct tide_dump_options dumps;
  enum tide_err err = check_run_arguments(arguments, &diag);
  if (!err)
    err = tide_dumping_asked(arguments, &dumps, &diag);
  if (!err)
    err = tide_recording_init(arguments, &recording, &diag);
  if (!err)
    err = tide_rules_open(arguments, &rules, &diag);
  if (!err)
    err = open_beside(arguments, rules, &beside, &diag);
  if (err) {
    tide_recording_done(&recording);
    tide_rules_free(rules);
    tide_cmd_failed(err, &diag);
    return OWN_FAILURE;
  }
  struct tide_run_options options = tide_recording_options(arguments, &recording);
  options.say = say_to_user;
  options.say_context = &said;
  options.waiting = arguments->quiet ? NULL : say_waiting;
  options.control = beside.page      ? tide_live_page_control(beside.page)
                    : beside.pushing ? tide_pushing_control(beside.pushing)
                    : beside.top     ? tide_live_top_control(beside.top)
                                     : NULL;
  options.dumps = dumps.n_rules ? &dumps : NULL;
  options.companion = &beside;
  options.started = start_beside;
  options.spent_ns = spent_beside_ns;
  options.stdio = beside.top ? tide_live_top_stdio(beside.top) : NULL;
  // The thread that keeps the images would get a heap of its own, which grows by a system call for
  // each page. With a page there is another thread that allocates much, so each has its own.
  if (!beside.page && !beside.pushing && !beside.top)
    mallopt(M_ARENA_MAX, 1);
  struct tide_run_result result = {0};
  err = tide_run(&options, &result, &diag);
  tide_recording_done(&recording);
  if (err) {
    tide_pushing_free(beside.pushing);
    tide_live_page_free(beside.page);
    tide_live_top_free(beside.top);
    tide_rules_free(rules);
    tide_cmd_failed(err, &diag);
    return tide_run_error_status(err);
  }
  if (beside.top)
    tide_live_top_finish(beside.top, &result, true);
  say_saved(arguments, &result, rules, said);
  if (beside.page)
    tide_live_page_set_metrics(beside.page, NULL, NULL);
  if (beside.pushing) // its control may be the page's
    tide_pushing_finish(beside.pushing, &result);
  if (beside.page)
    tide_live_page_finish(beside.page, &result);
  tide_rules_free(rules);
  int status = result.exit_status, term_signal = result.term_signal;
  tide_run_result_done(&result);
  if (beside.top) // what was asked for is a look, and there was one
    return 0;
  if (term_signal) {
    tide_run_raise(term_signal);
    status = 128 + term_signal; // only for a signal that ends nothing
  }
  return status;
}
