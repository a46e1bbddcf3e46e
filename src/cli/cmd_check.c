// SPDX-License-Identifier: Apache-2.0
//
// tidemark check: budgets from options or a file, captures from files or a command that is run, and
// a verdict as exit status: 0 kept, 1 broken, 2 could not tell. A command that failed passes its
// own status on, whatever became of the budgets: a test that fails is not one that kept them.
#include "base/alloc.h"
#include "check/judge.h"
#include "cli/commands.h"
#include "cli/opening.h"
#include "cli/output_file.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "report/check.h"
#include "supervise/run.h"
#include "tide/file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_FILE "tidemark.toml"

enum { COULD_NOT_TELL = 2, OWN_FAILURE = 125 };

// ---- what is asked for ----

static enum tide_err refuse_option(enum tide_err err, const char *option,
                                   const struct tide_diag *why, struct tide_diag *diag)
{
  return tide_fail(diag, err, "--%s: %s", option, why->text);
}

static enum tide_err read_limits(const struct tide_arguments *arguments,
                                 struct tide_budgets *budgets, struct tide_diag *diag)
{
  for (int i = 0; i < TIDE_LIMITED_N; i++) {
    struct tide_heap_budget budget = {.what = (enum tide_limited)i};
    struct tide_diag why = {0};
    if (!arguments->max[i])
      continue;
    if (tide_budget_limit_parse(budget.what, arguments->max[i], &budget.limit, &why))
      return tide_fail(diag, TIDE_ERR_USAGE, "--max-%s: %s", tide_limited_rows[i].word, why.text);
    budget.program = tide_strdup(arguments->program);
    tide_budgets_add(budgets, &budget);
  }
  return TIDE_ERR_OK;
}

static enum tide_err read_sites(const struct tide_arguments *arguments,
                                struct tide_budgets *budgets, struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *sites = tide_strdup(arguments->max_sites);
  char *rest = NULL;
  for (char *word = sites ? strtok_r(sites, "\n", &rest) : NULL; word;
       word = strtok_r(NULL, "\n", &rest)) {
    struct tide_heap_budget budget;
    struct tide_diag why = {0};
    if (tide_budget_site_parse(word, &budget, &why))
      return refuse_option(TIDE_ERR_USAGE, "max-site", &why, diag);
    budget.program = tide_strdup(arguments->program);
    tide_budgets_add(budgets, &budget);
  }
  return TIDE_ERR_OK;
}

static enum tide_err read_options(const struct tide_arguments *arguments,
                                  struct tide_budgets *budgets, struct tide_diag *diag)
{
  struct tide_diag why = {0};
  enum tide_err err = read_limits(arguments, budgets, diag);
  if (!err)
    err = read_sites(arguments, budgets, diag);
  if (!err && arguments->max_growth &&
      tide_budgets_growth_parse(budgets, arguments->max_growth, &why))
    err = refuse_option(TIDE_ERR_USAGE, "max-growth", &why, diag);
  if (!err)
    budgets->baseline = tide_strdup(arguments->baseline);
  return err;
}

// A file that is named, or the one that lies here when nothing else is said.
static enum tide_err read_budget_file(const struct tide_arguments *arguments,
                                      struct tide_budgets *budgets, struct tide_diag *diag)
{
  bool is_said = budgets->n || budgets->has_growth || budgets->baseline;
  if (arguments->budget)
    return tide_budgets_read(budgets, arguments->budget, diag);
  if (is_said || access(BUDGET_FILE, F_OK))
    return TIDE_ERR_OK;
  tide_say("budgets of %s", BUDGET_FILE);
  return tide_budgets_read(budgets, BUDGET_FILE, diag);
}

static enum tide_err check_budgets(const struct tide_arguments *arguments,
                                   const struct tide_budgets *budgets, struct tide_diag *diag)
{
  if (budgets->has_growth && !budgets->baseline)
    return tide_fail(diag, TIDE_ERR_USAGE, "growth is from another run: name it with --baseline");
  if (budgets->baseline && !budgets->has_growth)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "a baseline needs --max-growth: by how much numbers may grow, such as 5%%");
  if (!budgets->n && !budgets->has_growth)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "no budget: --max-peak 64MiB is one, and --budget FILE or a %s here has them",
                     BUDGET_FILE);
  if (arguments->program && !*arguments->program)
    return tide_fail(diag, TIDE_ERR_USAGE, "--program takes the name of an executable");
  return TIDE_ERR_OK;
}

static enum tide_err read_budgets(const struct tide_arguments *arguments,
                                  struct tide_budgets *budgets, struct tide_diag *diag)
{
  enum tide_err err = read_options(arguments, budgets, diag);
  bool has_options = budgets->n || budgets->has_growth;
  if (!err && arguments->program && !has_options)
    err = tide_fail(diag, TIDE_ERR_USAGE, "--program is about budgets that are options");
  if (!err)
    err = read_budget_file(arguments, budgets, diag);
  if (!err)
    err = check_budgets(arguments, budgets, diag);
  if (!err && budgets->has_growth)
    tide_budgets_add_growth(budgets, arguments->max_growth ? arguments->program : NULL);
  return err;
}

// What does not go together, or would be ignored without a word.
static enum tide_err check_arguments(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  bool is_run = arguments->has_command;
  bool has_run_options = arguments->output || (arguments->force && !arguments->result) ||
                         arguments->depth || arguments->sample || arguments->no_follow ||
                         arguments->wait || arguments->how || arguments->redact_args;
  if (is_run && !arguments->n_rest)
    return tide_fail(diag, TIDE_ERR_USAGE, "run what? tidemark check ... -- COMMAND [ARGUMENT...]");
  if (!is_run && has_run_options)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "recording is for a command: tidemark check ... -- COMMAND [ARGUMENT...]");
  if (arguments->json && arguments->check_format > 0 && arguments->check_format != TIDE_CHECK_JSON)
    return tide_fail(diag, TIDE_ERR_USAGE, "--json is --format json: give one");
  return tide_recording_check(arguments, diag);
}

// ---- captures ----

struct checking {
  const struct tide_arguments *arguments;
  struct tide_budgets budgets;
  struct tide_rules *rules;
  struct tide_resolver *resolver;
  struct tide_opened *opened; // files
  size_t n_opened;
  struct tide_opened baseline;
  struct tide_run_result result; // of a command
  bool has_run;
  struct tide_output output; // for the verdict
  bool is_open;
};

// Before the command is run: it may take long, and its verdict must have a place.
static enum tide_err open_output(struct checking *c, struct tide_diag *diag)
{
  enum tide_err err = tide_output_open(c->arguments->result, c->arguments->force, &c->output, diag);
  c->is_open = !err;
  return err;
}

static enum tide_err open_captures(struct checking *c, struct tide_diag *diag)
{
  const struct tide_arguments *arguments = c->arguments;
  size_t n = arguments->n_rest ? arguments->n_rest : 1;
  enum tide_err err = TIDE_ERR_OK;
  c->opened = tide_alloc_array(n, sizeof *c->opened);
  for (size_t i = 0; i < n && !err; i++) {
    err = tide_capture_open(arguments, arguments->n_rest ? arguments->rest[i] : NULL, &c->opened[i],
                            diag);
    c->n_opened += !err;
    if (!err && c->opened[i].by_default)
      tide_say("reading %s", c->opened[i].path);
  }
  return err;
}

static void say_to_user(void *context, const char *sentence)
{
  (void)context;
  tide_say("%s", sentence);
}

// As `run` does it; what it says of the capture is the verdict.
static enum tide_err run_command(struct checking *c, struct tide_diag *diag)
{
  struct tide_recording recording = {0};
  enum tide_err err = tide_recording_init(c->arguments, &recording, diag);
  struct tide_run_options options = tide_recording_options(c->arguments, &recording);
  options.say = say_to_user;
  options.finds_left = true;
  if (!err)
    err = tide_run(&options, &c->result, diag);
  tide_recording_done(&recording);
  c->has_run = !err;
  return err;
}

static enum tide_err take_result(struct checking *c, struct tide_diag *diag)
{
  struct tide_run_result *result = &c->result;
  enum tide_err err = TIDE_ERR_OK;
  signal(SIGPIPE, SIG_IGN); // a reader of ours that went away must not change our exit status
  for (size_t i = 0; i < result->capture->n_images && !err; i++)
    err = tide_image_unpack(&result->capture->images[i], diag);
  if (result->save_err)
    tide_cmd_failed(result->save_err, &result->save_diag);
  else if (result->output_path && !c->arguments->quiet)
    tide_say("saved %s", result->output_path);
  if (result->note)
    tide_say("%s", result->note);
  return err;
}

static struct tide_naming *open_names(void *context, const struct tide_image *image)
{
  struct checking *c = context;
  if (!c->resolver)
    c->resolver = tide_resolver_open(c->arguments);
  return tide_naming_open_with(c->arguments, image, c->rules, c->resolver);
}

static void checking_done(struct checking *c)
{
  for (size_t i = 0; i < c->n_opened; i++)
    tide_opened_done(&c->opened[i]);
  free(c->opened);
  tide_opened_done(&c->baseline);
  tide_run_result_done(&c->result);
  tide_resolver_free(c->resolver);
  tide_rules_free(c->rules);
  tide_budgets_done(&c->budgets);
}

// ---- what is written ----

// Where the sources are told from: as the CI says, else the repository, else here. Owned.
static char *find_root(void)
{
  static const char *const variables[] = {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"};
  char here[PATH_MAX];
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (value && *value == '/')
      return tide_strdup(value);
  }
  if (!getcwd(here, sizeof here))
    return tide_strdup("/");
  TIDE_CLEANUP_FREE char *above = tide_strdup(here);
  for (char *slash = above + strlen(above); slash; slash = strrchr(above, '/')) {
    *slash = 0;
    TIDE_CLEANUP_FREE char *git = tide_sprintf("%s/.git", above);
    if (*above && access(git, F_OK) == 0)
      return tide_strdup(above);
  }
  return tide_strdup(here);
}

// GitHub gives each step a file for it. Without it there are the annotations.
static void append_summary(const struct tide_check_report *report)
{
  const char *path = getenv("GITHUB_STEP_SUMMARY");
  struct tide_sink sink;
  struct tide_diag diag = {0};
  FILE *file = path && *path ? fopen(path, "ae") : NULL;
  if (!path || !*path)
    return;
  if (!file) {
    tide_cmd_failed(tide_fail_errno(&diag, "cannot write the summary of the step to %s", path),
                    &diag);
    return;
  }
  tide_sink_init(&sink, file);
  tide_check_summary_write(&sink, report);
  enum tide_err err = tide_sink_finish(&sink, path, &diag);
  if (err)
    tide_cmd_failed(err, &diag);
  tide_sink_done(&sink);
  fclose(file);
}

static enum tide_err write_verdict(struct checking *c, const struct tide_check_report *report,
                                   struct tide_diag *diag)
{
  const struct tide_arguments *arguments = c->arguments;
  enum tide_check_format format =
      arguments->json ? TIDE_CHECK_JSON : (enum tide_check_format)arguments->check_format;
  tide_progress_stop();
  struct tide_sink *sink = &c->output.sink;
  struct tide_screen screen = tide_terminal_screen(sink, stdout, arguments);
  screen.color = screen.color && !arguments->result;
  switch (format) {
  case TIDE_CHECK_JSON: tide_check_json_write(sink, report); break;
  case TIDE_CHECK_GITHUB: tide_check_github_write(sink, report); break;
  case TIDE_CHECK_JUNIT: tide_check_junit_write(sink, report); break;
  case TIDE_CHECK_SARIF: tide_check_sarif_write(sink, report); break;
  default: tide_check_text_write(&screen, report); break;
  }
  if (format == TIDE_CHECK_GITHUB)
    append_summary(report);
  c->is_open = false;
  return tide_output_close(&c->output, TIDE_ERR_OK, diag);
}

static enum tide_err judge_captures(struct checking *c, int *ret_status, struct tide_diag *diag)
{
  const struct tide_arguments *arguments = c->arguments;
  const struct tide_run_result *result = &c->result;
  size_t n_files = c->has_run ? 1 : c->n_opened;
  struct tide_check_file *files = tide_alloc_array(n_files, sizeof *files);
  TIDE_CLEANUP_FREE char *root = find_root();
  TIDE_CLEANUP_FREE char *budgets = realpath(c->budgets.path ? c->budgets.path : "", NULL);
  for (size_t i = 0; i < c->n_opened; i++)
    files[i] = (struct tide_check_file){c->opened[i].path, c->opened[i].capture};
  if (c->has_run)
    files[0] = (struct tide_check_file){
        result->output_path ? result->output_path : arguments->rest[0], result->capture};
  const struct tide_check_input input = {
      .budgets = &c->budgets,
      .files = files,
      .n_files = n_files,
      .baseline = c->baseline.capture,
      .command_failed = result->exit_status || result->term_signal,
      .name = open_names,
      .context = c,
  };
  struct tide_judgement *judgement = tide_check_judge(&input);
  const struct tide_check_report report = {
      .judgement = judgement,
      .files = files,
      .n_files = n_files,
      .baseline = c->baseline.path,
      .budgets = budgets,
      .root = root,
      .has_command = c->has_run,
      .exit_status = result->exit_status,
      .term_signal = result->term_signal,
  };
  enum tide_err err = write_verdict(c, &report, diag);
  *ret_status = (int)judgement->ruling;
  tide_judgement_free(judgement);
  free(files);
  return err;
}

_Static_assert(TIDE_RULING_KEPT == 0 && TIDE_RULING_BROKEN == 1 && TIDE_RULING_UNKNOWN == 2,
               "rulings are exit statuses");

// What the command itself ended with comes before our verdict.
static int status_of_command(const struct tide_run_result *result, int status)
{
  if (result->term_signal) {
    tide_run_raise(result->term_signal);
    return 128 + result->term_signal; // only for a signal that ends nothing
  }
  return result->exit_status ? result->exit_status : status;
}

int tide_cmd_check(const struct tide_arguments *arguments)
{
  struct checking c = {.arguments = arguments};
  struct tide_diag diag = {0};
  int status = COULD_NOT_TELL;
  enum tide_err err = check_arguments(arguments, &diag);
  if (!err)
    err = read_budgets(arguments, &c.budgets, &diag);
  if (!err)
    err = tide_rules_open(arguments, &c.rules, &diag);
  // Before the command is run: what cannot be judged need not be recorded.
  if (!err && c.budgets.baseline)
    err = tide_capture_open(arguments, c.budgets.baseline, &c.baseline, &diag);
  if (!err)
    err = open_output(&c, &diag);
  if (!err && arguments->has_command) {
    err = run_command(&c, &diag);
    status = err ? tide_run_error_status(err) : status;
    err = err ? err : take_result(&c, &diag);
  } else if (!err) {
    err = open_captures(&c, &diag);
  }
  if (!err)
    err = judge_captures(&c, &status, &diag);
  if (c.is_open) { // and nothing was written
    struct tide_diag more = {0};
    tide_output_close(&c.output, err, &more);
  }
  if (err) {
    tide_cmd_failed(err, &diag);
    status = c.has_run || !arguments->has_command || status < OWN_FAILURE ? COULD_NOT_TELL : status;
  }
  struct tide_run_result ended = {.exit_status = c.result.exit_status,
                                  .term_signal = c.result.term_signal};
  checking_done(&c);
  return status_of_command(&ended, status);
}
