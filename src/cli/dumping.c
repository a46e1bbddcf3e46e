// SPDX-License-Identifier: Apache-2.0
//
// See dumping.h. What is not understood is refused with what would be, before anything starts.
#define _GNU_SOURCE
#include "cli/dumping.h"

#include "base/alloc.h"
#include "base/units.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define KEEP_DEFAULT 20
#define KEEP_BYTES_DEFAULT (UINT64_C(1) << 30)
#define LEAST_NS UINT64_C(10000000) // 10 ms
#define PPM 1000000u

static enum tide_err add_rule(struct tide_dump_options *options, enum tide_dump_kind kind,
                              uint64_t value, struct tide_diag *diag)
{
  if (options->n_rules == TIDE_DUMP_MAX_RULES)
    return tide_fail(diag, TIDE_ERR_USAGE, "--dump-every and --dump-on: %d are enough",
                     TIDE_DUMP_MAX_RULES);
  options->rules[options->n_rules++] = (struct tide_dump_rule){kind, value};
  return TIDE_ERR_OK;
}

// The value of "name=value"; NULL: it has another name.
static const char *value_of(const char *word, const char *name)
{
  size_t n = strlen(name);
  return !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static enum tide_err add_size(struct tide_dump_options *options, const char *option,
                              enum tide_dump_kind kind, const char *text, struct tide_diag *diag)
{
  uint64_t bytes = 0;
  struct tide_diag why;
  if (tide_size_parse(text, &bytes, &why))
    return tide_fail(diag, TIDE_ERR_USAGE, "%s: %s", option, why.text);
  if (!bytes || bytes > INT64_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s: \"%s\" is no size to wait for", option, text);
  return add_rule(options, kind, bytes, diag);
}

static enum tide_err add_every(struct tide_dump_options *options, const char *word,
                               struct tide_diag *diag)
{
  const char *growth = value_of(word, "growth");
  uint64_t number = 0;
  struct tide_diag ignored;
  if (growth)
    return add_size(options, "--dump-every growth", TIDE_DUMP_GROWTH, growth, diag);
  if (!tide_time_parse(word, &number, &ignored) && number) {
    if (number < LEAST_NS || number > INT64_MAX)
      return tide_fail(diag, TIDE_ERR_USAGE, "--dump-every takes 10ms or more, not \"%s\"", word);
    return add_rule(options, TIDE_DUMP_TIME, number, diag);
  }
  bool has_unit = *word && !isdigit((unsigned char)word[strlen(word) - 1]);
  if (!has_unit || tide_size_parse(word, &number, &ignored))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--dump-every takes a time (10s), bytes allocated (1GiB) or growth=64MiB, not "
                     "\"%s\"",
                     word);
  return add_size(options, "--dump-every", TIDE_DUMP_ALLOCATED, word, diag);
}

// Those that a program may use as it likes; others have a meaning.
static int signal_of(const char *name)
{
  name += strncasecmp(name, "SIG", 3) ? 0 : 3;
  return !strcasecmp(name, "USR1") ? SIGUSR1 : !strcasecmp(name, "USR2") ? SIGUSR2 : 0;
}

static enum tide_err add_signal(struct tide_dump_options *options, const char *name,
                                struct tide_diag *diag)
{
  int number = signal_of(name);
  if (!number)
    return tide_fail(diag, TIDE_ERR_USAGE, "--dump-on signal takes USR1 or USR2, not \"%s\"", name);
  if (tide_dumps_signal(options))
    return tide_fail(diag, TIDE_ERR_USAGE, "--dump-on signal: one is enough");
  return add_rule(options, TIDE_DUMP_SIGNAL, (uint64_t)number, diag);
}

static enum tide_err add_limit(struct tide_dump_options *options, const char *text,
                               struct tide_diag *diag)
{
  uint64_t ppm = 0;
  struct tide_diag why;
  if (tide_percent_parse(text, &ppm, &why))
    return tide_fail(diag, TIDE_ERR_USAGE, "--dump-on limit: %s", why.text);
  if (!ppm || ppm >= PPM)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--dump-on limit takes more than 0%% and less than 100%%, not \"%s\"", text);
  return add_rule(options, TIDE_DUMP_LIMIT, ppm, diag);
}

static enum tide_err add_on(struct tide_dump_options *options, const char *word,
                            struct tide_diag *diag)
{
  const char *peak = value_of(word, "peak"), *rss = value_of(word, "rss");
  const char *limit = value_of(word, "limit"), *named = value_of(word, "signal");
  if (peak)
    return add_size(options, "--dump-on peak", TIDE_DUMP_PEAK, peak, diag);
  if (rss)
    return add_size(options, "--dump-on rss", TIDE_DUMP_RSS, rss, diag);
  if (limit || !strcmp(word, "limit"))
    return add_limit(options, limit ? limit : "90%", diag);
  if (named || !strcmp(word, "signal"))
    return add_signal(options, named ? named : "USR1", diag);
  return tide_fail(diag, TIDE_ERR_USAGE,
                   "--dump-on takes peak=SIZE, rss=SIZE, limit=90%%, signal or signal=USR2, not "
                   "\"%s\"",
                   word);
}

static enum tide_err set_keep(struct tide_dump_options *options, const char *word,
                              struct tide_diag *diag)
{
  char *end;
  struct tide_diag ignored;
  unsigned long n = strtoul(word, &end, 10);
  uint64_t bytes = 0;
  if (isdigit((unsigned char)*word) && !*end && n && n <= 1000000)
    options->keep = (uint32_t)n;
  else if (*word && *end && !tide_size_parse(word, &bytes, &ignored) && bytes)
    options->keep_bytes = bytes;
  else
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--dump-keep takes how many to keep (20) or how much of them (1GiB), not "
                     "\"%s\"",
                     word);
  return TIDE_ERR_OK;
}

typedef enum tide_err take_word(struct tide_dump_options *options, const char *word,
                                struct tide_diag *diag);

static enum tide_err take_each(const char *list, take_word *take, struct tide_dump_options *options,
                               struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *words = tide_strdup(list ? list : "");
  char *rest = NULL;
  enum tide_err err = TIDE_ERR_OK;
  for (char *word = strtok_r(words, "\n", &rest); word && !err; word = strtok_r(NULL, "\n", &rest))
    err = take(options, word, diag);
  return err;
}

static void say_dump(void *context, const char *sentence)
{
  (void)context;
  tide_say("%s", sentence);
}

enum tide_err tide_dumping_asked(const struct tide_arguments *arguments,
                                 struct tide_dump_options *ret_options, struct tide_diag *diag)
{
  struct tide_dump_options options = {.keep = KEEP_DEFAULT,
                                      .keep_bytes = KEEP_BYTES_DEFAULT,
                                      .say = arguments->quiet ? NULL : say_dump,
                                      .warn = say_dump};
  enum tide_err err = take_each(arguments->dump_every, add_every, &options, diag);
  if (!err)
    err = take_each(arguments->dump_on, add_on, &options, diag);
  if (!err)
    err = take_each(arguments->dump_keep, set_keep, &options, diag);
  if (!err && arguments->dump_keep && !options.n_rules)
    err = tide_fail(diag, TIDE_ERR_USAGE, "--dump-keep goes with --dump-every or --dump-on");
  int asking = tide_dumps_signal(&options);
  if (!err && asking && !arguments->quiet)
    tide_say("kill -%s %d dumps; the program does not see that signal",
             asking == SIGUSR1 ? "USR1" : "USR2", (int)getpid());
  if (!err)
    *ret_options = options;
  return err;
}
