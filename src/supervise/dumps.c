// SPDX-License-Identifier: Apache-2.0
//
// See dumps.h.
#define _GNU_SOURCE
#include "supervise/dumps.h"

#include "base/alloc.h"
#include "base/units.h"
#include "supervise/output_name.h"
#include "tide/file.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define PPM 1000000u

enum {
  FAR_MS = 20,           // between two looks at the figures
  NEAR_MS = 2,           // where one of them is near: a program fills a gigabyte in a second
  LOOK_REST = 100,       // and a look waits so many times its cost
  DUMP_REST = 4,         // as does a dump that has time
  LEAST_REST_PPM = 5000, // of a limit: no more dumps when less than that is left
};

static const struct tide_style iec = {.units = TIDE_UNITS_IEC};

struct rule {
  struct tide_dump_rule asked;
  uint64_t at; // from here on it is due: ns, bytes, ppm
};

struct kept {
  char *path;
  uint64_t bytes;
};

struct tide_dumps {
  struct tide_dump_options options;
  char *base; // of their names
  struct rule rules[TIDE_DUMP_MAX_RULES];
  unsigned n_asked; // atomic: how often since the last dump that was asked for
  uint32_t number;  // of the last name that was tried
  struct kept *kept;
  size_t n_kept, cap_kept;
  uint64_t kept_bytes;
  uint64_t n_written, n_removed, n_failed, n_merged;
  uint64_t after_ns, cost_ns; // the end of the last one, and what it took
  bool is_failing;            // the last one could not be written, and that was said
  char *failure;              // why, the last time; NULL: never
};

// ---- names ----

// Of "BASE.0007.tide" 7; 0: it is none of ours.
static uint32_t number_of(const char *name, const char *base)
{
  size_t n = strlen(base);
  if (strncmp(name, base, n) || name[n] != '.')
    return 0;
  char *end;
  unsigned long number = strtoul(name + n + 1, &end, 10);
  bool is_number = end >= name + n + 5 && !strcmp(end, ".tide");
  return is_number && number < UINT32_MAX ? (uint32_t)number : 0;
}

// The highest number of those that are there.
static uint32_t highest_before(const char *base)
{
  const char *slash = strrchr(base, '/');
  TIDE_CLEANUP_FREE char *directory =
      slash ? tide_strndup(base, (size_t)(slash - base) + 1) : tide_strdup(".");
  DIR *dir = opendir(directory);
  uint32_t highest = 0;
  for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
    uint32_t number = number_of(entry->d_name, slash ? slash + 1 : base);
    highest = number > highest ? number : highest;
  }
  if (dir)
    closedir(dir);
  return highest;
}

static char *path_of(const struct tide_dumps *dumps, uint32_t number)
{
  return tide_sprintf("%s.%04u.tide", dumps->base, (unsigned)number);
}

// ---- rules ----

static void say(const struct tide_dumps *dumps, const char *sentence)
{
  if (dumps->options.say)
    dumps->options.say(dumps->options.say_context, sentence);
}

static void warn(const struct tide_dumps *dumps, const char *sentence)
{
  if (dumps->options.warn)
    dumps->options.warn(dumps->options.say_context, sentence);
}

enum tide_err tide_dumps_new(const struct tide_dump_options *options, const char *output_path,
                             uint64_t now_ns, struct tide_dumps **ret_dumps, struct tide_diag *diag)
{
  struct stat st;
  if (!stat(output_path, &st) && !S_ISREG(st.st_mode))
    return tide_fail(diag, TIDE_ERR_USAGE, "dumps are files beside the capture, and %s is no file",
                     output_path);
  struct tide_dumps *dumps = tide_alloc(sizeof *dumps);
  *dumps = (struct tide_dumps){.options = *options, .base = tide_output_base(output_path)};
  for (size_t i = 0; i < options->n_rules; i++) {
    const struct tide_dump_rule *rule = &options->rules[i];
    dumps->rules[i] = (struct rule){*rule, rule->value};
    if (rule->kind == TIDE_DUMP_TIME)
      dumps->rules[i].at = now_ns + rule->value;
  }
  dumps->number = highest_before(dumps->base);
  if (dumps->number) {
    TIDE_CLEANUP_FREE char *last = path_of(dumps, dumps->number);
    TIDE_CLEANUP_FREE char *next = path_of(dumps, dumps->number + 1);
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("dumps of another run are there, up to %s: they stay, and those of this one "
                     "begin with %s",
                     last, next);
    warn(dumps, text);
  }
  *ret_dumps = dumps;
  return TIDE_ERR_OK;
}

void tide_dumps_free(struct tide_dumps *dumps)
{
  if (!dumps)
    return;
  for (size_t i = 0; i < dumps->n_kept; i++)
    free(dumps->kept[i].path);
  free(dumps->kept);
  free(dumps->base);
  free(dumps->failure);
  free(dumps);
}

bool tide_dumps_needs(const struct tide_dumps *dumps, enum tide_dump_kind kind)
{
  for (size_t i = 0; i < dumps->options.n_rules; i++)
    if (dumps->rules[i].asked.kind == kind)
      return true;
  return false;
}

int tide_dumps_signal(const struct tide_dump_options *options)
{
  for (size_t i = 0; options && i < options->n_rules; i++)
    if (options->rules[i].kind == TIDE_DUMP_SIGNAL)
      return (int)options->rules[i].value;
  return 0;
}

void tide_dumps_ask(struct tide_dumps *dumps)
{
  __atomic_fetch_add(&dumps->n_asked, 1, __ATOMIC_RELAXED);
}

bool tide_dumps_is_asked(const struct tide_dumps *dumps)
{
  return __atomic_load_n(&dumps->n_asked, __ATOMIC_RELAXED) > 0;
}

static uint64_t used_ppm(const struct tide_dump_figures *f)
{
  return f->most_bytes ? (uint64_t)((double)f->used_bytes / (double)f->most_bytes * PPM) : 0;
}

// The figure that a rule goes by.
static uint64_t figure_of(const struct rule *rule, const struct tide_dump_figures *f)
{
  switch (rule->asked.kind) {
  case TIDE_DUMP_TIME: return f->now_ns;
  case TIDE_DUMP_ALLOCATED: return f->allocated_bytes;
  case TIDE_DUMP_GROWTH:
  case TIDE_DUMP_PEAK: return f->live_bytes;
  case TIDE_DUMP_RSS: return f->rss_bytes;
  case TIDE_DUMP_LIMIT: return used_ppm(f);
  default: return 0;
  }
}

// Those that are about the last moments of a program cannot wait.
static bool is_urgent(enum tide_dump_kind kind)
{
  return kind == TIDE_DUMP_RSS || kind == TIDE_DUMP_LIMIT || kind == TIDE_DUMP_SIGNAL;
}

static bool is_rule_due(struct tide_dumps *dumps, const struct rule *rule,
                        const struct tide_dump_figures *f)
{
  if (!is_urgent(rule->asked.kind) && f->now_ns < dumps->after_ns + DUMP_REST * dumps->cost_ns)
    return false;
  return rule->asked.kind == TIDE_DUMP_SIGNAL ? tide_dumps_is_asked(dumps)
                                              : figure_of(rule, f) >= rule->at;
}

// What has shrunk is looked at as if it had never grown.
static void rearm(struct rule *rule, const struct tide_dump_figures *f)
{
  bool shrinks = rule->asked.kind == TIDE_DUMP_RSS || rule->asked.kind == TIDE_DUMP_LIMIT;
  if (shrinks && figure_of(rule, f) < rule->asked.value / 10 * 9)
    rule->at = rule->asked.value;
}

// From where on it is due next. How often it was due meanwhile, beside this once, is counted.
static void advance(struct tide_dumps *dumps, struct rule *rule, const struct tide_dump_figures *f)
{
  uint64_t now = figure_of(rule, f), step = rule->asked.value;
  unsigned n_asked;
  switch (rule->asked.kind) {
  case TIDE_DUMP_TIME:
  case TIDE_DUMP_ALLOCATED:
  case TIDE_DUMP_GROWTH:
    dumps->n_merged += (now - rule->at) / step;
    rule->at += (1 + (now - rule->at) / step) * step;
    break;
  case TIDE_DUMP_PEAK:
  case TIDE_DUMP_RSS: rule->at = now + now / 10 + 1; break;
  case TIDE_DUMP_LIMIT:
    while (rule->at <= now && rule->at < PPM)
      rule->at = PPM - rule->at > LEAST_REST_PPM ? rule->at + (PPM - rule->at) / 2 : UINT64_MAX;
    break;
  default:
    n_asked = __atomic_exchange_n(&dumps->n_asked, 0, __ATOMIC_RELAXED);
    dumps->n_merged += n_asked ? n_asked - 1 : 0;
  }
}

static char *why_words(const struct rule *rule, const struct tide_dump_figures *f)
{
  char step[TIDE_UNITS_MAX], now[TIDE_UNITS_MAX], most[TIDE_UNITS_MAX];
  enum tide_dump_kind kind = rule->asked.kind;
  if (kind == TIDE_DUMP_TIME)
    return tide_sprintf("every %s", tide_units_time(step, rule->asked.value, false));
  if (kind == TIDE_DUMP_SIGNAL)
    return tide_sprintf("SIG%s asked for it", sigabbrev_np((int)rule->asked.value));
  tide_units_bytes(step, tide_exact((int64_t)rule->asked.value), iec);
  tide_units_bytes(now, tide_exact((int64_t)figure_of(rule, f)), iec);
  switch (kind) {
  case TIDE_DUMP_ALLOCATED: return tide_sprintf("every %s allocated, %s so far", step, now);
  case TIDE_DUMP_GROWTH: return tide_sprintf("every %s that the heap grows, %s now", step, now);
  case TIDE_DUMP_PEAK: return tide_sprintf("the heap has a new peak beyond %s, %s", step, now);
  case TIDE_DUMP_RSS: return tide_sprintf("%s are resident, %s or more", now, step);
  default:
    return tide_sprintf("%.1f %% of %s are used, %s of %s", (double)used_ppm(f) / 10000,
                        f->limit ? f->limit : "a limit",
                        tide_units_bytes(now, tide_exact((int64_t)f->used_bytes), iec),
                        tide_units_bytes(most, tide_exact((int64_t)f->most_bytes), iec));
  }
}

// Those that are due together are one dump.
char *tide_dumps_due(struct tide_dumps *dumps, const struct tide_dump_figures *figures)
{
  char *why = NULL;
  for (size_t i = 0; i < dumps->options.n_rules; i++) {
    struct rule *rule = &dumps->rules[i];
    rearm(rule, figures);
    if (!is_rule_due(dumps, rule, figures))
      continue;
    TIDE_CLEANUP_FREE char *before = why;
    TIDE_CLEANUP_FREE char *words = why_words(rule, figures);
    why = before ? tide_sprintf("%s; %s", before, words) : tide_strdup(words);
    advance(dumps, rule, figures);
  }
  return why;
}

// Is it within a quarter of what it waits for?
static bool is_near(const struct rule *rule, const struct tide_dump_figures *f)
{
  return rule->asked.kind != TIDE_DUMP_TIME && rule->asked.kind != TIDE_DUMP_SIGNAL &&
         rule->at != UINT64_MAX && figure_of(rule, f) >= rule->at / 4 * 3;
}

uint64_t tide_dumps_next_ns(const struct tide_dumps *dumps, const struct tide_dump_figures *figures,
                            uint64_t cost_ns)
{
  uint64_t next_ns = UINT64_MAX, rest_ns = cost_ns * LOOK_REST;
  for (size_t i = 0; i < dumps->options.n_rules; i++) {
    const struct rule *rule = &dumps->rules[i];
    uint64_t wait_ns = (is_near(rule, figures) ? NEAR_MS : FAR_MS) * MS;
    uint64_t at_ns = figures->now_ns + (wait_ns > rest_ns ? wait_ns : rest_ns);
    if (rule->asked.kind == TIDE_DUMP_TIME)
      at_ns = rule->at > figures->now_ns ? rule->at : at_ns; // else it waits for its rest
    if (rule->asked.kind != TIDE_DUMP_SIGNAL && at_ns < next_ns)
      next_ns = at_ns;
  }
  return next_ns;
}

// ---- files ----

static void forget_failure(struct tide_dumps *dumps, char *text)
{
  free(dumps->failure);
  dumps->failure = text;
}

void tide_dumps_failed(struct tide_dumps *dumps, const struct tide_diag *diag, const char *why)
{
  dumps->n_failed++;
  forget_failure(dumps, tide_strdup(diag->text));
  TIDE_CLEANUP_FREE char *text = tide_sprintf("no dump (%s): %s", why, diag->text);
  if (!dumps->is_failing)
    warn(dumps, text);
  dumps->is_failing = true;
}

// Until as many are left as may be. One that somebody else took away counts no more.
static void remove_oldest(struct tide_dumps *dumps)
{
  size_t n_gone = 0;
  while (dumps->n_kept - n_gone > 1 && (dumps->n_kept - n_gone > dumps->options.keep ||
                                        dumps->kept_bytes > dumps->options.keep_bytes)) {
    struct kept *oldest = &dumps->kept[n_gone++];
    unlink(oldest->path);
    dumps->kept_bytes -= oldest->bytes;
    dumps->n_removed++;
    free(oldest->path);
  }
  dumps->n_kept -= n_gone;
  memmove(dumps->kept, dumps->kept + n_gone, dumps->n_kept * sizeof *dumps->kept);
}

// A name that nobody has, and an empty file of it.
static enum tide_err reserve_name(struct tide_dumps *dumps, char **ret_path, struct tide_diag *diag)
{
  for (;;) {
    struct tide_output_state state;
    char *path = path_of(dumps, dumps->number + 1);
    enum tide_err err = tide_output_reserve(path, false, &state, diag);
    if (err != TIDE_ERR_EXISTS) {
      dumps->number += !err;
      *ret_path = err ? NULL : path;
      if (err)
        free(path);
      return err;
    }
    free(path);
    dumps->number++;
  }
}

void tide_dumps_put(struct tide_dumps *dumps, const struct tide_buf *bytes, const char *why)
{
  struct tide_diag diag = {0};
  char *path = NULL, size[TIDE_UNITS_MAX];
  enum tide_err err = reserve_name(dumps, &path, &diag);
  if (!err)
    err = tide_file_put(bytes, path, &diag);
  if (err) {
    if (path) {
      tide_output_release(path);
      dumps->number--;
    }
    free(path);
    tide_dumps_failed(dumps, &diag, why);
    return;
  }
  dumps->is_failing = false;
  dumps->n_written++;
  TIDE_GROW(dumps->kept, dumps->n_kept, dumps->cap_kept);
  dumps->kept[dumps->n_kept++] = (struct kept){path, bytes->n};
  dumps->kept_bytes += bytes->n;
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "dumped %s (%s): %s", path, tide_units_bytes(size, tide_exact((int64_t)bytes->n), iec), why);
  remove_oldest(dumps);
  say(dumps, text);
}

void tide_dumps_took(struct tide_dumps *dumps, uint64_t before_ns, uint64_t after_ns)
{
  dumps->after_ns = after_ns;
  dumps->cost_ns = after_ns > before_ns ? after_ns - before_ns : 0;
}

// ---- the end ----

static void tell_kept(const struct tide_dumps *dumps, struct tide_buf *text)
{
  char n[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  const struct kept *kept = dumps->kept;
  tide_buf_printf(text, "%s dump%s", tide_units_plain(n, dumps->n_written),
                  dumps->n_written == 1 ? "" : "s");
  if (dumps->n_removed)
    tide_buf_printf(text, ", of which the last %zu %s kept", dumps->n_kept,
                    dumps->n_kept == 1 ? "is" : "are");
  tide_units_bytes(size, tide_exact((int64_t)dumps->kept_bytes), iec);
  if (dumps->n_kept == 1)
    tide_buf_printf(text, ": %s (%s)", kept[0].path, size);
  else
    tide_buf_printf(text, ": %s to %s (%s)", kept[0].path, kept[dumps->n_kept - 1].path, size);
}

char *tide_dumps_summary(const struct tide_dumps *dumps)
{
  char n[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  if (dumps->n_kept)
    tell_kept(dumps, &text);
  else
    tide_buf_text(&text, "no dump was taken");
  if (dumps->n_merged)
    tide_buf_printf(&text, "; %s more %s due at the same time as another, and left out",
                    tide_units_plain(n, dumps->n_merged), dumps->n_merged == 1 ? "was" : "were");
  if (dumps->n_failed)
    tide_buf_printf(&text, "; %s could not be written: %s", tide_units_plain(n, dumps->n_failed),
                    dumps->failure);
  char *words = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return words;
}
