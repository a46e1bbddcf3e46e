// SPDX-License-Identifier: Apache-2.0
//
// Reading rules and asking them. An implementation of a trait has several paths (see
// paths.h), and each is judged alone: the frame is folded, or a library's, when all of them
// are, so a trait of the standard library on a type of the user's is the user's, and so is the
// reverse.
//
// A frame is judged once per distinct address, so the rules are simply tried one after another.
#include "view/rules.h"

#include "base/alloc.h"
#include "base/given_file.h"
#include "view/paths.h"

#include <stdlib.h>
#include <string.h>

const char *const tide_rule_kind_words[] = {"function", "crate", "trait", "file", "module"};

struct tide_rules {
  struct tide_name_rule *items; // patterns owned
  size_t n, cap;
};

struct subject { // what a rule is compared with, by kind; NULL: unknown
  const char *texts[TIDE_RULE_KINDS_N];
  size_t lens[TIDE_RULE_KINDS_N];
};

struct tide_rules *tide_rules_new(void)
{
  return tide_alloc(sizeof(struct tide_rules));
}

static void drop_after(struct tide_rules *rules, size_t n)
{
  while (rules->n > n)
    free((char *)rules->items[--rules->n].pattern);
}

void tide_rules_free(struct tide_rules *rules)
{
  if (!rules)
    return;
  drop_after(rules, 0);
  free(rules->items);
  free(rules);
}

static void set_subject(struct subject *subject, enum tide_name_rule_kind kind, const char *text,
                        size_t len)
{
  subject->texts[kind] = text;
  subject->lens[kind] = len;
}

// * stands for any text. Going back to the latest star only is enough, and never slow.
static bool pattern_matches(const char *pattern, const char *text, const char *end)
{
  const char *star = NULL, *retry = NULL;
  while (text < end) {
    if (*pattern == '*') {
      star = pattern++;
      retry = text;
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star + 1;
      text = ++retry;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return !*pattern;
}

// A pattern of a file or module without a slash is about the last part of the path.
static bool rule_matches(const struct tide_name_rule *rule, const struct subject *subject)
{
  const char *text = subject->texts[rule->kind];
  if (!text)
    return false;
  const char *end = text + subject->lens[rule->kind];
  bool is_path = rule->kind == TIDE_RULE_FILE || rule->kind == TIDE_RULE_MODULE;
  const char *slash = is_path && !strchr(rule->pattern, '/') ? strrchr(text, '/') : NULL;
  return pattern_matches(rule->pattern, slash ? slash + 1 : text, end);
}

static const struct tide_name_rule *last_match(const struct tide_name_rule *items, size_t n,
                                               const struct subject *subject)
{
  while (n-- > 0)
    if (rule_matches(&items[n], subject))
      return &items[n];
  return NULL;
}

// Whether a crate is what the program is called after: "relay" of target/release/relay, and of
// target/debug/deps/relay-0123456789abcdef. Its names say "_" where the file's say "-".
static bool is_crate_of_program(const struct subject *subject)
{
  const char *crate = subject->texts[TIDE_RULE_CRATE], *path = subject->texts[TIDE_RULE_MODULE];
  size_t n = subject->lens[TIDE_RULE_CRATE];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (!crate || strlen(name) < n)
    return false;
  for (size_t i = 0; i < n; i++)
    if (name[i] != crate[i] && !(name[i] == '-' && crate[i] == '_'))
      return false;
  return !name[n] || (name[n] == '-' && strspn(name + n + 1, "0123456789abcdef") == 16);
}

// Where no rule folds it. Code of no module without a name was made at run time by somebody's JIT.
static enum tide_layer own_or_library(const struct subject *subject)
{
  bool has_file = subject->texts[TIDE_RULE_FILE], is_named = subject->texts[TIDE_RULE_FUNCTION];
  if (last_match(tide_library_rules, tide_library_rules_n, subject))
    return TIDE_LAYER_LIBRARY;
  if (has_file || is_crate_of_program(subject))
    return TIDE_LAYER_USER;
  if (!is_named && !subject->lens[TIDE_RULE_MODULE])
    return TIDE_LAYER_LIBRARY;
  bool is_library = last_match(tide_fileless_rules, tide_fileless_rules_n, subject);
  return is_library ? TIDE_LAYER_LIBRARY : TIDE_LAYER_USER;
}

static enum tide_layer judge_subject(const struct tide_rules *rules, const struct subject *subject)
{
  const struct tide_name_rule *rule = rules ? last_match(rules->items, rules->n, subject) : NULL;
  if (!rule)
    rule = last_match(tide_builtin_rules, tide_builtin_rules_n, subject);
  return rule ? rule->layer : own_or_library(subject);
}

bool tide_rules_module_is_library(const struct tide_rules *rules, const char *module)
{
  struct subject subject = {0};
  set_subject(&subject, TIDE_RULE_MODULE, module, strlen(module));
  if (rules && rules->n)
    return false; // they may be about a function in it
  return last_match(tide_library_rules, tide_library_rules_n, &subject) ||
         last_match(tide_builtin_rules, tide_builtin_rules_n, &subject);
}

// A name with parameters is C++, whose namespaces may be called like crates.
static enum tide_layer judge_path(const struct tide_rules *rules, struct subject *subject,
                                  const char *path, bool has_parameters)
{
  const char *colons = has_parameters ? NULL : strstr(path, "::");
  set_subject(subject, TIDE_RULE_FUNCTION, path, strlen(path));
  set_subject(subject, TIDE_RULE_CRATE, colons ? path : NULL, colons ? (size_t)(colons - path) : 0);
  return judge_subject(rules, subject);
}

enum tide_layer tide_rules_judge(const struct tide_rules *rules, const char *function,
                                 const char *file, const char *module)
{
  struct tide_paths paths = {0};
  struct subject subject = {0};
  set_subject(&subject, TIDE_RULE_FILE, file, file ? strlen(file) : 0);
  set_subject(&subject, TIDE_RULE_MODULE, module, strlen(module));
  if (function)
    tide_function_paths(function, &paths);
  const char *trait = paths.trait_at < paths.n ? tide_paths_at(&paths, paths.trait_at) : NULL;
  set_subject(&subject, TIDE_RULE_TRAIT, trait,
              trait ? strlen(trait) : 0); // whichever path is judged
  enum tide_layer lowest = paths.n ? TIDE_LAYER_CHOSEN : judge_subject(rules, &subject);
  for (size_t i = 0; i < paths.n; i++) {
    enum tide_layer layer =
        judge_path(rules, &subject, tide_paths_at(&paths, i), paths.has_parameters);
    lowest = layer < lowest ? layer : lowest;
  }
  tide_paths_done(&paths);
  return lowest;
}

bool tide_rules_are_about(const struct tide_rules *rules, const char *function, const char *file,
                          const char *module)
{
  struct tide_paths paths = {0};
  struct subject subject = {0};
  bool found = false;
  if (!rules || !rules->n)
    return false;
  set_subject(&subject, TIDE_RULE_FILE, file, file ? strlen(file) : 0);
  set_subject(&subject, TIDE_RULE_MODULE, module, strlen(module));
  tide_function_paths(function, &paths);
  for (size_t i = 0; i < paths.n && !found; i++) {
    const char *path = tide_paths_at(&paths, i);
    set_subject(&subject, TIDE_RULE_FUNCTION, path, strlen(path));
    found = last_match(rules->items, rules->n, &subject);
  }
  tide_paths_done(&paths);
  return found;
}

static const char *const blanks = " \t\r";

// The next word of a line; its length is 0 at the end.
static const char *next_word(const char **at, size_t *ret_n)
{
  *at += strspn(*at, blanks);
  const char *word = *at;
  *ret_n = strcspn(word, blanks);
  *at += *ret_n;
  return word;
}

static bool is_word(const char *word, size_t n, const char *wanted)
{
  return strlen(wanted) == n && memcmp(word, wanted, n) == 0;
}

// The rest of the line is the pattern: "operator new" has a space.
static char *pattern_of(const char *at)
{
  at += strspn(at, blanks);
  size_t n = strlen(at);
  while (n && strchr(blanks, at[n - 1]))
    n--;
  return n ? tide_strndup(at, n) : NULL;
}

static const struct {
  const char *word;
  enum tide_layer layer;
} verbs[] = {
    {"own", TIDE_LAYER_USER},
    {"keep", TIDE_LAYER_USER}, // what it was called before there were libraries
    {"library", TIDE_LAYER_LIBRARY},
    {"fold", TIDE_LAYER_CHOSEN},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static enum tide_err parse_line(struct tide_rules *rules, const char *name, size_t number,
                                const char *line, struct tide_diag *diag)
{
  size_t n_verb, n_kind;
  const char *verb = next_word(&line, &n_verb), *kind_word = next_word(&line, &n_kind);
  if (!n_verb || *verb == '#')
    return TIDE_ERR_OK;
  size_t said = 0;
  while (said < N_VERBS && !is_word(verb, n_verb, verbs[said].word))
    said++;
  if (said == N_VERBS)
    return tide_fail(diag, TIDE_ERR_FORMAT,
                     "%s:%zu: a rule starts with own, library or fold, not \"%.*s\"", name, number,
                     (int)(n_verb < 80 ? n_verb : 80), verb);
  struct tide_name_rule rule = {verbs[said].layer, 0, NULL};
  while (rule.kind < TIDE_RULE_KINDS_N &&
         !is_word(kind_word, n_kind, tide_rule_kind_words[rule.kind]))
    rule.kind++;
  if (rule.kind == TIDE_RULE_KINDS_N)
    return tide_fail(diag, TIDE_ERR_FORMAT,
                     "%s:%zu: %.*s what? function, crate, trait, file or module, not \"%.*s\"",
                     name, number, (int)n_verb, verb, (int)(n_kind < 80 ? n_kind : 80), kind_word);
  rule.pattern = pattern_of(line);
  if (!rule.pattern)
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s:%zu: %.*s %.*s needs a pattern", name, number,
                     (int)n_verb, verb, (int)n_kind, kind_word);
  TIDE_GROW(rules->items, rules->n, rules->cap);
  rules->items[rules->n++] = rule;
  return TIDE_ERR_OK;
}

enum tide_err tide_rules_parse(struct tide_rules *rules, const char *name, const char *text,
                               struct tide_diag *diag)
{
  size_t n_before = rules->n, number = 1;
  enum tide_err err = TIDE_ERR_OK;
  for (; *text && !err; number++) {
    size_t n = strcspn(text, "\n");
    TIDE_CLEANUP_FREE char *line = tide_strndup(text, n);
    err = parse_line(rules, name, number, line, diag);
    text += n + (text[n] == '\n');
  }
  if (err)
    drop_after(rules, n_before);
  return err;
}

enum tide_err tide_rules_read(struct tide_rules *rules, const char *path, struct tide_diag *diag)
{
  struct tide_buf text = {0};
  enum tide_err err = tide_text_file_read(path, "rules", &text, diag);
  if (!err)
    err = tide_rules_parse(rules, path, tide_buf_cstr(&text), diag);
  tide_buf_done(&text);
  return err;
}
