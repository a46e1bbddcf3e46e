// SPDX-License-Identifier: Apache-2.0
//
// tidemark.toml. Each table has the keys "max-..." of what can be limited there; whatever else
// stands in it is refused with the nearest key that is known, since a limit that nobody reads would
// be kept for ever.
#include "check/budgets.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/given_file.h"
#include "base/suggest.h"
#include "check/toml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum table_kind { GLOBAL, PROGRAM, SITE, MARK };
enum { KEYS_MAX = 16 };

struct reading {
  struct tide_budgets *budgets;
  struct tide_budgets found;
  const char *name;
  struct tide_diag *diag;
};

static enum tide_err refuse_at(const struct reading *r, unsigned line, const char *why)
{
  return tide_fail(r->diag, TIDE_ERR_FORMAT, "%s:%u: %s", r->name, line, why);
}

static bool is_limited_in(enum table_kind kind, const struct tide_limited_row *row)
{
  return kind == SITE ? row->of_sites : kind == MARK ? row->of_marks : true;
}

// "max-peak" to what it limits; TIDE_LIMITED_N: it does not, here.
static enum tide_limited limited_by(enum table_kind kind, const char *key)
{
  for (int i = 0; i < TIDE_LIMITED_N; i++)
    if (!strncmp(key, "max-", 4) && !strcmp(key + 4, tide_limited_rows[i].word) &&
        is_limited_in(kind, &tide_limited_rows[i]))
      return (enum tide_limited)i;
  return TIDE_LIMITED_N;
}

// What may stand in a table besides limits.
static const char *const others[][5] = {
    [GLOBAL] = {"baseline", "max-growth", "program", "site", "mark"},
    [PROGRAM] = {NULL},
    [SITE] = {"match", "program"},
    [MARK] = {"from", "to", "program"},
};

static bool is_other(enum table_kind kind, const char *key)
{
  for (size_t i = 0; i < 5 && others[kind][i]; i++)
    if (strcmp(others[kind][i], key) == 0)
      return true;
  return false;
}

static enum tide_err refuse_key(const struct reading *r, enum table_kind kind,
                                const struct tide_toml *node)
{
  char limits[TIDE_LIMITED_N][16];
  const char *words[KEYS_MAX];
  size_t n = 0;
  for (int i = 0; i < TIDE_LIMITED_N; i++) {
    snprintf(limits[i], sizeof limits[i], "max-%s", tide_limited_rows[i].word);
    if (is_limited_in(kind, &tide_limited_rows[i]))
      words[n++] = limits[i];
  }
  for (size_t i = 0; i < 5 && others[kind][i]; i++)
    words[n++] = others[kind][i];
  const char *meant = tide_suggest_nearest(node->key, words, n);
  struct tide_buf list = {0};
  for (size_t i = 0; i < n; i++)
    tide_buf_printf(&list, "%s%s", i ? ", " : "", words[i]);
  TIDE_CLEANUP_FREE char *why =
      meant
          ? tide_sprintf("unknown key \"%.60s\"; did you mean \"%s\"?", node->key, meant)
          : tide_sprintf("unknown key \"%.60s\"; known here: %s", node->key, tide_buf_cstr(&list));
  tide_buf_done(&list);
  return refuse_at(r, node->line, why);
}

static enum tide_err text_of(const struct reading *r, const struct tide_toml *node,
                             const char **ret_text)
{
  if (node->kind == TIDE_TOML_TEXT && *node->text) {
    *ret_text = node->text;
    return TIDE_ERR_OK;
  }
  const char *words = node->kind == TIDE_TOML_TEXT ? "is empty" : "takes a text in quotes";
  TIDE_CLEANUP_FREE char *why = tide_sprintf("\"%s\" %s", node->key, words);
  return refuse_at(r, node->line, why);
}

static enum tide_err limit_of(const struct reading *r, const struct tide_toml *node,
                              enum tide_limited what, uint64_t *ret_limit)
{
  struct tide_diag why = {0};
  if (node->kind == TIDE_TOML_INTEGER && node->integer >= 0) {
    *ret_limit = (uint64_t)node->integer;
    return TIDE_ERR_OK;
  }
  if (node->kind == TIDE_TOML_TEXT && !tide_budget_limit_parse(what, node->text, ret_limit, &why))
    return TIDE_ERR_OK;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s: %s", node->key,
                   node->kind == TIDE_TOML_TEXT       ? why.text
                   : tide_limited_rows[what].in_bytes ? "a size such as \"64MiB\" or 4096 is one"
                                                      : "a number of 0 or more is one");
  return refuse_at(r, node->line, text);
}

struct scope { // of the limits of a table
  const char *program, *site, *from, *to;
};

static enum tide_err read_limits(struct reading *r, enum table_kind kind,
                                 const struct tide_toml *table, const struct scope *scope)
{
  size_t n_before = r->found.n;
  for (size_t i = 0; i < table->n; i++) {
    const struct tide_toml *node = &table->items[i];
    struct tide_heap_budget budget = {.what = limited_by(kind, node->key), .line = node->line};
    if (is_other(kind, node->key))
      continue;
    enum tide_err err = budget.what == TIDE_LIMITED_N
                            ? refuse_key(r, kind, node)
                            : limit_of(r, node, budget.what, &budget.limit);
    if (err)
      return err;
    budget.program = tide_strdup(scope->program);
    budget.site = tide_strdup(scope->site);
    budget.from = tide_strdup(scope->from);
    budget.to = tide_strdup(scope->to);
    tide_budgets_add(&r->found, &budget);
  }
  if (kind != GLOBAL && r->found.n == n_before)
    return refuse_at(r, table->line, "this table limits nothing: max-peak = \"64MiB\" would");
  return TIDE_ERR_OK;
}

// One of the texts of a table; stays NULL without it.
static enum tide_err read_text(const struct reading *r, const struct tide_toml *table,
                               const char *key, const char **text)
{
  const struct tide_toml *node = tide_toml_find(table, key);
  return node ? text_of(r, node, text) : TIDE_ERR_OK;
}

static enum tide_err read_site(struct reading *r, const struct tide_toml *table)
{
  struct scope scope = {0};
  struct tide_diag why = {0};
  enum tide_err err = read_text(r, table, "match", &scope.site);
  if (!err)
    err = read_text(r, table, "program", &scope.program);
  if (!err && !scope.site)
    err = refuse_at(r, table->line, "a site needs match = \"REGEX\": a function or file");
  if (err)
    return err;
  struct tide_heap_budget one = {.site = (char *)scope.site};
  const struct tide_budgets pattern = {.items = &one, .n = 1};
  if (tide_budgets_check(&pattern, &why))
    return refuse_at(r, tide_toml_find(table, "match")->line, why.text);
  return read_limits(r, SITE, table, &scope);
}

static enum tide_err read_mark(struct reading *r, const struct tide_toml *table)
{
  struct scope scope = {0};
  enum tide_err err = read_text(r, table, "from", &scope.from);
  if (!err)
    err = read_text(r, table, "to", &scope.to);
  if (!err)
    err = read_text(r, table, "program", &scope.program);
  if (!err && !scope.from && !scope.to)
    err =
        refuse_at(r, table->line, "a range of marks needs from = \"NAME\", to = \"NAME\" or both");
  if (err)
    return err;
  scope.from = scope.from ? scope.from : "start";
  scope.to = scope.to ? scope.to : "end";
  return read_limits(r, MARK, table, &scope);
}

static enum tide_err read_each(struct reading *r, const struct tide_toml *document, const char *key,
                               enum tide_err (*read)(struct reading *r,
                                                     const struct tide_toml *table))
{
  const struct tide_toml *node = tide_toml_find(document, key);
  enum tide_err err = TIDE_ERR_OK;
  if (node && node->kind != TIDE_TOML_TABLES) {
    TIDE_CLEANUP_FREE char *why = tide_sprintf("\"%s\" is a list: write [[%s]]", key, key);
    return refuse_at(r, node->line, why);
  }
  for (size_t i = 0; node && !err && i < node->n; i++)
    err = read(r, &node->items[i]);
  return err;
}

static enum tide_err read_programs(struct reading *r, const struct tide_toml *document)
{
  const struct tide_toml *node = tide_toml_find(document, "program");
  enum tide_err err = TIDE_ERR_OK;
  if (node && node->kind != TIDE_TOML_TABLE)
    return refuse_at(r, node->line, "a program has a table of its own: [program.NAME]");
  for (size_t i = 0; node && !err && i < node->n; i++) {
    const struct scope scope = {.program = node->items[i].key};
    err =
        node->items[i].kind == TIDE_TOML_TABLE
            ? read_limits(r, PROGRAM, &node->items[i], &scope)
            : refuse_at(r, node->items[i].line, "a program has a table of its own: [program.NAME]");
  }
  return err;
}

static enum tide_err read_growth(struct reading *r, const struct tide_toml *document)
{
  const struct tide_toml *node = tide_toml_find(document, "max-growth");
  const char *text = NULL;
  struct tide_diag why = {0};
  if (!node)
    return TIDE_ERR_OK;
  enum tide_err err = text_of(r, node, &text);
  if (!err && tide_budgets_growth_parse(&r->found, text, &why)) {
    TIDE_CLEANUP_FREE char *sentence = tide_sprintf("max-growth: %s", why.text);
    err = refuse_at(r, node->line, sentence);
  }
  return err;
}

static bool is_same_text(const char *a, const char *b)
{
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool has_already(const struct tide_budgets *budgets, const struct tide_heap_budget *budget)
{
  for (size_t i = 0; i < budgets->n; i++) {
    const struct tide_heap_budget *other = &budgets->items[i];
    if (!budget->site && !budget->from && !other->site && !other->from &&
        other->what == budget->what && is_same_text(other->program, budget->program))
      return true;
  }
  return false;
}

// What is there already stays.
static void take_over(struct reading *r)
{
  size_t n_left = 0;
  for (size_t i = 0; i < r->found.n; i++)
    if (has_already(r->budgets, &r->found.items[i]))
      r->found.items[n_left++] = r->found.items[i];
    else
      tide_budgets_add(r->budgets, &r->found.items[i]);
  r->found.n = n_left;
  if (!r->budgets->baseline) {
    r->budgets->baseline = r->found.baseline;
    r->found.baseline = NULL;
  }
  if (!r->budgets->has_growth && r->found.has_growth) {
    r->budgets->has_growth = true;
    r->budgets->growth_ppm = r->found.growth_ppm;
  }
}

// Beside the file, unless it is absolute.
static char *path_beside(const char *name, const char *path)
{
  const char *slash = strrchr(name, '/');
  return *path == '/' || !slash ? tide_strdup(path)
                                : tide_sprintf("%.*s%s", (int)(slash + 1 - name), name, path);
}

enum tide_err tide_budgets_parse(struct tide_budgets *budgets, const char *name, const char *text,
                                 struct tide_diag *diag)
{
  struct reading r = {.budgets = budgets, .name = name, .diag = diag};
  struct tide_toml document = {0};
  const char *baseline = NULL;
  enum tide_err err = tide_toml_parse(name, text, &document, diag);
  if (!err)
    err = read_limits(&r, GLOBAL, &document, &(struct scope){0});
  if (!err)
    err = read_programs(&r, &document);
  if (!err)
    err = read_each(&r, &document, "site", read_site);
  if (!err)
    err = read_each(&r, &document, "mark", read_mark);
  if (!err)
    err = read_growth(&r, &document);
  if (!err)
    err = read_text(&r, &document, "baseline", &baseline);
  if (!err && baseline)
    r.found.baseline = path_beside(name, baseline);
  if (!err)
    take_over(&r);
  tide_budgets_done(&r.found);
  tide_toml_done(&document);
  return err;
}

enum tide_err tide_budgets_read(struct tide_budgets *budgets, const char *path,
                                struct tide_diag *diag)
{
  struct tide_buf text = {0};
  enum tide_err err = tide_text_file_read(path, "budgets", &text, diag);
  if (!err)
    err = tide_budgets_parse(budgets, path, tide_buf_cstr(&text), diag);
  if (!err && !budgets->path)
    budgets->path = tide_strdup(path);
  tide_buf_done(&text);
  return err;
}
