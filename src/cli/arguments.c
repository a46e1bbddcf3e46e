// SPDX-License-Identifier: Apache-2.0
//
// Parsing by table. The options of `run` end at the first word that is none: what follows belongs
// to the command. Other verbs take options anywhere before "--".
#include "cli/arguments.h"

#include "base/alloc.h"
#include "base/suggest.h"
#include "base/units.h"
#include "supervise/run.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define S_NS UINT64_C(1000000000)

// ---- did you mean ----
//
// What other tools call it, or else the nearest word of a list (base/suggest.h).

#define RUNS "'tidemark run COMMAND' records a program"
#define VIEWS "'tidemark view FILE' shows a capture in the browser"
#define ATTACHES "'tidemark attach PID' records a program that runs already"

static const struct known {
  const char *word, *says;
} known_verbs[] = {
    {"record", RUNS},
    {"trace", RUNS},
    {"start", RUNS},
    {"exec", RUNS},
    {"profile", RUNS},
    {"server", "'tidemark serve STORE|DIR' answers profilers over HTTP"},
    {"web", VIEWS},
    {"gui", VIEWS},
    {"ui", VIEWS},
    {"open", VIEWS},
    {"show", VIEWS},
    {"pid", ATTACHES},
    {"flame", "'tidemark export --to svg FILE' draws a flame graph"},
    {"flamegraph", "'tidemark export --to svg FILE' draws a flame graph"},
    {"top", "'tidemark report FILE' shows who held most"},
    {"print", "'tidemark report FILE' shows who held most"},
    {"stats", "'tidemark info FILE' tells the facts of a capture"},
    {"assert", "'tidemark check --max-peak 64MiB FILE' tells whether budgets were kept"},
    {"budget", "'tidemark check --max-peak 64MiB FILE' tells whether budgets were kept"},
    {"compare", "'tidemark diff BEFORE AFTER' compares two captures"},
    {"convert", "'tidemark export --to FORMAT FILE' writes other tools' formats"},
};

static const char *find_known(const struct known *known, size_t n, const char *word)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(known[i].word, word) == 0)
      return known[i].says;
  return NULL;
}

// What tidemark calls what other tools call by this name of a verb or of an option of that verb
// (verb NULL: the word is a verb), as the rest of a sentence; NULL when it is no word of theirs.
static const char *suggest_known(const char *verb, const char *word)
{
  static const struct known of_report[] = {
      {"format", "--json, --csv and --md print other forms, 'tidemark export --to' other formats"},
      {"output-format", "--json, --csv and --md print other forms"},
      {"pid", "--process PID shows one of several processes"},
  };
  static const struct known of_export[] = {{"format", "--to FORMAT names it"}};
  static const struct known of_run[] = {{"pid", ATTACHES}, {"attach", ATTACHES}};
  if (!verb)
    return find_known(known_verbs, sizeof known_verbs / sizeof *known_verbs, word);
  if (strcmp(verb, "export") == 0)
    return find_known(of_export, sizeof of_export / sizeof *of_export, word);
  if (strcmp(verb, "run") == 0)
    return find_known(of_run, sizeof of_run / sizeof *of_run, word);
  bool has_forms = !strcmp(verb, "report") || !strcmp(verb, "tree") || !strcmp(verb, "diff");
  return has_forms ? find_known(of_report, sizeof of_report / sizeof *of_report, word) : NULL;
}

// ---- parsing ----

struct parser {
  char **at, **end; // words left
  struct tide_arguments *arguments;
  struct tide_diag *diag;
};

const char *tide_verb_name(enum tide_verb verb)
{
  return tide_verb_rows[verb].name;
}

static bool is_capture_name(const char *name)
{
  const char *dot = strrchr(name, '.');
  return dot && (strcmp(dot, ".tide") == 0 || strcmp(dot, ".store") == 0);
}

static void refuse_verb(const char *name, const char *meant, struct tide_diag *diag)
{
  if (name[0] == '-' || !name[0])
    tide_fail(diag, TIDE_ERR_USAGE,
              "the verb comes first: tidemark VERB [OPTION...], not \"%s\"; 'tidemark help' lists "
              "them",
              name);
  else if (is_capture_name(name))
    tide_fail(diag, TIDE_ERR_USAGE, "unknown verb \"%s\"; 'tidemark report %s' reads a capture",
              name, name);
  else if (suggest_known(NULL, name))
    tide_fail(diag, TIDE_ERR_USAGE, "unknown verb \"%s\"; %s", name, suggest_known(NULL, name));
  else if (meant)
    tide_fail(diag, TIDE_ERR_USAGE, "unknown verb \"%s\"; did you mean \"%s\"?", name, meant);
  else
    tide_fail(diag, TIDE_ERR_USAGE,
              "unknown verb \"%s\"; 'tidemark help' lists them, 'tidemark run %s' records it", name,
              name);
}

enum tide_verb tide_verb_find(const char *name, struct tide_diag *diag)
{
  const char *names[TIDE_VERBS_N];
  for (int i = 0; i < TIDE_VERBS_N; i++) {
    names[i] = tide_verb_rows[i].name;
    if (strcmp(name, names[i]) == 0)
      return (enum tide_verb)i;
  }
  refuse_verb(name, tide_suggest_nearest(name, names, TIDE_VERBS_N), diag);
  return TIDE_VERBS_N;
}

static bool applies(const struct tide_option_row *row, enum tide_verb verb)
{
  return row->verbs >> verb & 1;
}

static const struct tide_option_row *find_name(enum tide_verb verb, const char *name, size_t n)
{
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (applies(row, verb) && strlen(row->name) == n && memcmp(row->name, name, n) == 0)
      return row;
  }
  return NULL;
}

static const struct tide_option_row *find_letter(enum tide_verb verb, char letter)
{
  for (size_t i = 0; i < tide_option_rows_n; i++)
    if (applies(&tide_option_rows[i], verb) && letter && tide_option_rows[i].letter == letter)
      return &tide_option_rows[i];
  return NULL;
}

static enum tide_err unknown_option(const struct parser *p, const char *option, const char *name)
{
  enum tide_verb verb = p->arguments->verb;
  const char *names[128];
  size_t n = 0;
  for (size_t i = 0; i < tide_option_rows_n; i++)
    if (n < sizeof names / sizeof *names && applies(&tide_option_rows[i], verb))
      names[n++] = tide_option_rows[i].name;
  const char *known = name ? suggest_known(tide_verb_name(verb), name) : NULL;
  if (known)
    return tide_fail(p->diag, TIDE_ERR_USAGE, "'tidemark %s' has no option %s; %s",
                     tide_verb_name(verb), option, known);
  const char *meant = name ? tide_suggest_nearest(name, names, n) : NULL;
  if (meant)
    return tide_fail(p->diag, TIDE_ERR_USAGE, "'tidemark %s' has no option %s; did you mean --%s?",
                     tide_verb_name(verb), option, meant);
  return tide_fail(p->diag, TIDE_ERR_USAGE,
                   "'tidemark %s' has no option %s; 'tidemark help %s' lists them",
                   tide_verb_name(verb), option, tide_verb_name(verb));
}

static enum tide_err set_number(const struct parser *p, const struct tide_option_row *row,
                                const char *value, uint64_t *ret_number)
{
  char *end;
  errno = 0;
  unsigned long long number = strtoull(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno || number == 0 || number > 1000000000)
    return tide_fail(p->diag, TIDE_ERR_USAGE, "--%s takes a number of 1 or more, not \"%s\"",
                     row->name, value);
  *ret_number = number;
  return TIDE_ERR_OK;
}

// As times are written elsewhere, too.
static enum tide_err set_seconds(const struct parser *p, const struct tide_option_row *row,
                                 const char *value, uint64_t *ret_s)
{
  uint64_t time_ns;
  struct tide_diag ignored;
  if (!value[strspn(value, "0123456789")])
    return set_number(p, row, value, ret_s);
  if (tide_time_parse(value, &time_ns, &ignored) || !time_ns || time_ns % S_NS)
    return tide_fail(p->diag, TIDE_ERR_USAGE,
                     "--%s takes a whole number of seconds, as 90, 90s or 5m, not \"%s\"",
                     row->name, value);
  *ret_s = time_ns / S_NS;
  return TIDE_ERR_OK;
}

static enum tide_err set_size(const struct parser *p, const struct tide_option_row *row,
                              const char *value, uint64_t *ret_bytes)
{
  struct tide_diag why;
  if (tide_size_parse(value, ret_bytes, &why))
    return tide_fail(p->diag, TIDE_ERR_USAGE, "--%s: %s", row->name, why.text);
  return TIDE_ERR_OK;
}

static enum tide_err set_choice(const struct parser *p, const struct tide_option_row *row,
                                const char *value, int *ret_index)
{
  struct tide_buf list = {0};
  for (size_t i = 0; i < row->n_words; i++) {
    if (strcmp(value, row->words[i]) == 0) {
      if (ret_index)
        *ret_index = (int)i;
      tide_buf_done(&list);
      return TIDE_ERR_OK;
    }
    tide_buf_printf(&list, "%s%s",
                    i == 0                  ? ""
                    : i + 1 == row->n_words ? " or "
                                            : ", ",
                    row->words[i]);
  }
  const char *meant = tide_suggest_nearest(value, row->words, row->n_words);
  enum tide_err err =
      meant ? tide_fail(p->diag, TIDE_ERR_USAGE, "--%s takes %s, not \"%s\"; did you mean \"%s\"?",
                        row->name, tide_buf_cstr(&list), value, meant)
            : tide_fail(p->diag, TIDE_ERR_USAGE, "--%s takes %s, not \"%s\"", row->name,
                        tide_buf_cstr(&list), value);
  tide_buf_done(&list);
  return err;
}

static void add_word(char **paths, char between, const char *path)
{
  char *longer = *paths ? tide_sprintf("%s%c%s", *paths, between, path) : tide_strdup(path);
  free(*paths);
  *paths = longer;
}

enum tide_err tide_sampling_check(const char *name, const char *value, uint64_t bytes,
                                  struct tide_diag *diag)
{
  const struct tide_style style = {.units = TIDE_UNITS_IEC};
  char least[TIDE_UNITS_MAX], most[TIDE_UNITS_MAX];
  const uint64_t from = 1u << TIDE_SAMPLE_MIN_BITS, to = 1u << TIDE_SAMPLE_MAX_BITS;
  if (bytes >= from && bytes <= to)
    return TIDE_ERR_OK;
  return tide_fail(diag, TIDE_ERR_USAGE, "%s takes %s to %s, not \"%s\"", name,
                   tide_units_bytes(least, tide_exact((int64_t)from), style),
                   tide_units_bytes(most, tide_exact((int64_t)to), style), value);
}

static enum tide_err set_every(const struct parser *p, const struct tide_option_row *row,
                               const char *value, uint64_t *ret_bytes)
{
  enum tide_err err = set_size(p, row, value, ret_bytes);
  return err ? err : tide_sampling_check("--sample", value, *ret_bytes, p->diag);
}

static enum tide_err set_option(const struct parser *p, const struct tide_option_row *row,
                                const char *value)
{
  void *field = (char *)p->arguments + row->offset;
  assert(value || row->kind == TIDE_OPTION_FLAG);
  switch (row->kind) {
  case TIDE_OPTION_FLAG: *(bool *)field = true; return TIDE_ERR_OK;
  case TIDE_OPTION_COUNT:
  case TIDE_OPTION_NUMBER: return set_number(p, row, value, field);
  case TIDE_OPTION_SECONDS: return set_seconds(p, row, value, field);
  case TIDE_OPTION_EVERY: return set_every(p, row, value, field);
  case TIDE_OPTION_SIZE: return set_size(p, row, value, field);
  case TIDE_OPTION_CHOICE: return set_choice(p, row, value, field);
  case TIDE_OPTION_PATHS: add_word(field, ':', value); return TIDE_ERR_OK;
  case TIDE_OPTION_LIST: add_word(field, '\n', value); return TIDE_ERR_OK;
  case TIDE_OPTION_TEXT: *(const char **)field = value; break;
  }
  return row->words ? set_choice(p, row, value, NULL) : TIDE_ERR_OK;
}

static enum tide_err next_value(struct parser *p, const struct tide_option_row *row,
                                const char **ret_value)
{
  if (p->at == p->end)
    return tide_fail(p->diag, TIDE_ERR_USAGE, "--%s needs a value: --%s %s", row->name, row->name,
                     row->value);
  *ret_value = *p->at++;
  return TIDE_ERR_OK;
}

static enum tide_err parse_long(struct parser *p, const char *word)
{
  const char *name = word + 2, *equals = strchr(name, '=');
  size_t n = equals ? (size_t)(equals - name) : strlen(name);
  const struct tide_option_row *row = find_name(p->arguments->verb, name, n);
  const char *value = equals ? equals + 1 : NULL;
  if (!row) {
    TIDE_CLEANUP_FREE char *bare = tide_strndup(name, n);
    return unknown_option(p, word, bare);
  }
  if (value && row->kind == TIDE_OPTION_FLAG)
    return tide_fail(p->diag, TIDE_ERR_USAGE, "--%s takes no value", row->name);
  enum tide_err err = TIDE_ERR_OK;
  if (!value && row->kind == TIDE_OPTION_COUNT)
    value = "1";
  else if (!value && row->kind == TIDE_OPTION_EVERY)
    value = "512KiB";
  else if (!value && row->kind != TIDE_OPTION_FLAG)
    err = next_value(p, row, &value);
  return err ? err : set_option(p, row, value);
}

// "-fq", "-n5", "-n 5".
static enum tide_err parse_letters(struct parser *p, const char *word)
{
  for (const char *letter = word + 1; *letter; letter++) {
    const struct tide_option_row *row = find_letter(p->arguments->verb, *letter);
    if (!row) {
      const char one[] = {'-', *letter, 0};
      return unknown_option(p, one, strlen(word) > 2 ? word + 1 : NULL);
    }
    if (row->kind == TIDE_OPTION_FLAG) {
      set_option(p, row, NULL);
      continue;
    }
    const char *value = letter[1] ? letter + 1 : NULL;
    enum tide_err err = value ? TIDE_ERR_OK : next_value(p, row, &value);
    return err ? err : set_option(p, row, value);
  }
  return TIDE_ERR_OK;
}

static enum tide_err parse_words(struct parser *p)
{
  struct tide_arguments *arguments = p->arguments;
  bool options_end = false;
  while (p->at < p->end) {
    char *word = *p->at++;
    enum tide_err err = TIDE_ERR_OK;
    if (options_end || word[0] != '-' || !word[1]) {
      arguments->rest[arguments->n_rest++] = word;
      options_end |= arguments->verb == TIDE_VERB_RUN;
    } else if (strcmp(word, "--") == 0) {
      options_end = true;
      arguments->has_command = !arguments->n_rest;
    } else {
      err = word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
    }
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}

enum tide_err tide_arguments_parse(int argc, char **argv, struct tide_arguments *ret_arguments,
                                   struct tide_diag *diag)
{
  *ret_arguments = (struct tide_arguments){.sort = -1, .group = -1, .blame = -1};
  const char *first = argc > 1 ? argv[1] : NULL;
  if (!first)
    return tide_fail(diag, TIDE_ERR_USAGE, "no verb given");
  ret_arguments->rest = tide_alloc_array((size_t)argc + 1, sizeof *ret_arguments->rest);
  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
    ret_arguments->verb = TIDE_VERB_HELP;
  else if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
    ret_arguments->verb = TIDE_VERB_VERSION;
  else
    ret_arguments->verb = tide_verb_find(first, diag);
  if (ret_arguments->verb == TIDE_VERBS_N)
    return TIDE_ERR_USAGE;
  struct parser p = {argv + 2, argv + argc, ret_arguments, diag};
  return parse_words(&p);
}

void tide_arguments_done(struct tide_arguments *arguments)
{
  free(arguments->rest);
  free(arguments->debug_dirs);
  free(arguments->push);
  free(arguments->push_labels);
  free(arguments->dump_every);
  free(arguments->dump_on);
  free(arguments->dump_keep);
  free(arguments->max_sites);
  arguments->rest = NULL;
  arguments->debug_dirs = arguments->push = arguments->push_labels = NULL;
  arguments->dump_every = arguments->dump_on = arguments->dump_keep = NULL;
  arguments->max_sites = NULL;
}
