// SPDX-License-Identifier: Apache-2.0
//
// Line by line: a header, a key with its value, or nothing. The reader moves over one text that
// ends in NUL, and counts line ends. Tables are found from the document down for each header, as
// children of a table move when it gets one more.
#include "check/toml.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 8 }; // of a dotted key
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct reader {
  const char *name, *at;
  unsigned line;
  struct tide_toml *document, *table; // table: what keys belong to now
  struct tide_diag *diag;
};

struct dotted { // a key, in parts
  char *parts[PARTS_MAX];
  size_t n;
};

__attribute__((format(printf, 2, 3))) static enum tide_err refuse(const struct reader *r,
                                                                  const char *format, ...)
{
  char why[320];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(why, true);
  return tide_fail(r->diag, TIDE_ERR_FORMAT, "%s:%u: %s", r->name, r->line, clean);
}

static void dotted_done(struct dotted *key)
{
  for (size_t i = 0; i < key->n; i++)
    free(key->parts[i]);
  key->n = 0;
}

void tide_toml_done(struct tide_toml *node)
{
  for (size_t i = 0; i < node->n; i++)
    tide_toml_done(&node->items[i]);
  free(node->items);
  free(node->key);
  free(node->text);
  *node = (struct tide_toml){0};
}

const struct tide_toml *tide_toml_find(const struct tide_toml *table, const char *key)
{
  for (size_t i = 0; i < table->n; i++)
    if (key && table->items[i].key && strcmp(table->items[i].key, key) == 0)
      return &table->items[i];
  return NULL;
}

static struct tide_toml *add_node(struct tide_toml *to, enum tide_toml_kind kind, const char *key,
                                  unsigned line)
{
  TIDE_GROW(to->items, to->n, to->cap);
  struct tide_toml *node = &to->items[to->n++];
  *node = (struct tide_toml){.kind = kind, .key = tide_strdup(key), .line = line};
  return node;
}

// ---- words ----

static void skip_blanks(struct reader *r)
{
  r->at += strspn(r->at, " \t");
}

static bool is_line_end(const char *at)
{
  return !*at || *at == '\n' || (*at == '\r' && at[1] == '\n');
}

// To the next line, over blanks and a comment; anything else is too much.
static enum tide_err end_line(struct reader *r)
{
  skip_blanks(r);
  if (*r->at == '#')
    while (!is_line_end(r->at)) {
      unsigned char c = (unsigned char)*r->at++;
      if ((c < 0x20 && c != '\t') || c == 0x7f)
        return refuse(r, "a comment with a control character");
    }
  if (!is_line_end(r->at))
    return refuse(r, "\"%.*s\" is too much: one key with its value, or one header, to a line",
                  (int)strcspn(r->at, "\r\n"), r->at);
  r->at += *r->at == '\r';
  if (*r->at) {
    r->at++;
    r->line++;
  }
  return TIDE_ERR_OK;
}

static void put_utf8(struct tide_buf *text, uint32_t c)
{
  if (c < 0x80) {
    tide_buf_u8(text, (uint8_t)c);
    return;
  }
  unsigned n_more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
  tide_buf_u8(text, (uint8_t)(heads[n_more] | c >> (6 * n_more)));
  while (n_more--)
    tide_buf_u8(text, (uint8_t)(0x80 | (c >> (6 * n_more) & 0x3f)));
}

static int hex_digit(char c)
{
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

static enum tide_err read_unicode(struct reader *r, unsigned n_digits, struct tide_buf *text)
{
  uint32_t c = 0;
  for (unsigned i = 0; i < n_digits; i++) {
    int digit = hex_digit(*r->at);
    if (digit < 0)
      return refuse(r, "\\%c takes %u hexadecimal digits", n_digits == 4 ? 'u' : 'U', n_digits);
    c = c << 4 | (uint32_t)digit;
    r->at++;
  }
  if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
    return refuse(r, "\\%c%0*X is no character that may stand here", n_digits == 4 ? 'u' : 'U',
                  (int)n_digits, c);
  put_utf8(text, c);
  return TIDE_ERR_OK;
}

// Behind the backslash.
static enum tide_err read_escape(struct reader *r, struct tide_buf *text)
{
  static const char letters[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
  char c = *r->at;
  const char *found = c ? strchr(letters, c) : NULL;
  if (!found && c != 'u' && c != 'U')
    return refuse(r, "\"\\%.*s\" is no escape of a string; '...' takes backslashes as they are",
                  is_line_end(r->at) ? 0 : 1, r->at);
  r->at++;
  if (!found)
    return read_unicode(r, c == 'u' ? 4 : 8, text);
  tide_buf_u8(text, (uint8_t)values[found - letters]);
  return TIDE_ERR_OK;
}

static enum tide_err read_string(struct reader *r, char **ret_text)
{
  struct tide_buf text = {0};
  const char quote = *r->at;
  const unsigned line = r->line;
  enum tide_err err = TIDE_ERR_OK;
  if (r->at[1] == quote && r->at[2] == quote)
    return refuse(r, "strings over several lines are not used in a file of budgets");
  r->at++;
  while (!err && *r->at != quote) {
    unsigned char c = (unsigned char)*r->at;
    if (is_line_end(r->at))
      err = refuse(r, "the string that begins here does not end in its line");
    else if ((c < 0x20 && c != '\t') || c == 0x7f)
      err = refuse(r, "a string with a control character");
    else if (quote == '"' && c == '\\') {
      r->at++;
      err = read_escape(r, &text);
    } else {
      tide_buf_u8(&text, c);
      r->at++;
    }
  }
  r->line = line;
  if (!err) {
    r->at++;
    *ret_text = tide_strdup(tide_buf_cstr(&text));
  }
  tide_buf_done(&text);
  return err;
}

// ---- keys ----

static bool is_bare(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

static enum tide_err read_part(struct reader *r, char **ret_part)
{
  size_t n = 0;
  if (*r->at == '"' || *r->at == '\'')
    return read_string(r, ret_part);
  while (is_bare(r->at[n]))
    n++;
  if (!n)
    return refuse(r, "a key was expected, not \"%.*s\"", (int)strcspn(r->at, "\r\n"), r->at);
  *ret_part = tide_strndup(r->at, n);
  r->at += n;
  return TIDE_ERR_OK;
}

// On failure there is nothing to free.
static enum tide_err read_key(struct reader *r, struct dotted *ret_key)
{
  struct dotted key = {0};
  enum tide_err err = TIDE_ERR_OK;
  do {
    if (key.n == PARTS_MAX)
      err = refuse(r, "a key of more than %d parts", PARTS_MAX);
    skip_blanks(r);
    if (!err)
      err = read_part(r, &key.parts[key.n]);
    if (!err) {
      key.n++;
      skip_blanks(r);
    }
  } while (!err && *r->at == '.' && r->at++);
  if (err)
    dotted_done(&key);
  else
    *ret_key = key;
  return err;
}

// ---- tables ----

// The table of that key below another, made if there is none; of an array of tables the last one.
static enum tide_err descend(const struct reader *r, struct tide_toml *table, const char *key,
                             bool by_dots, struct tide_toml **ret_table)
{
  struct tide_toml *found = (struct tide_toml *)tide_toml_find(table, key);
  if (!found) {
    found = add_node(table, TIDE_TOML_TABLE, key, r->line);
    found->is_dotted = by_dots;
  }
  bool is_theirs = by_dots && (found->kind == TIDE_TOML_TABLES || found->is_open);
  if (found->kind > TIDE_TOML_TABLES || is_theirs)
    return refuse(r, "\"%s\" has been given already, in line %u", key, found->line);
  *ret_table = found->kind == TIDE_TOML_TABLES ? &found->items[found->n - 1] : found;
  return TIDE_ERR_OK;
}

static enum tide_err open_array(struct reader *r, struct tide_toml *above, const char *key)
{
  struct tide_toml *array = (struct tide_toml *)tide_toml_find(above, key);
  if (array && array->kind != TIDE_TOML_TABLES)
    return refuse(r, "\"%s\" is no array of tables: it has been given already, in line %u", key,
                  array->line);
  if (!array)
    array = add_node(above, TIDE_TOML_TABLES, key, r->line);
  r->table = add_node(array, TIDE_TOML_TABLE, NULL, r->line);
  return TIDE_ERR_OK;
}

static enum tide_err open_table(struct reader *r, struct tide_toml *above, const char *key)
{
  struct tide_toml *table = (struct tide_toml *)tide_toml_find(above, key);
  if (table && (table->kind != TIDE_TOML_TABLE || table->is_open || table->is_dotted))
    return refuse(r, "\"%s\" has been given already, in line %u", key, table->line);
  if (!table)
    table = add_node(above, TIDE_TOML_TABLE, key, r->line);
  table->is_open = true;
  table->line = r->line;
  r->table = table;
  return TIDE_ERR_OK;
}

// "[a.b]" or "[[a.b]]", behind the first bracket.
static enum tide_err read_header(struct reader *r)
{
  struct dotted key;
  struct tide_toml *above = r->document;
  bool is_array = *r->at == '[';
  r->at += is_array;
  enum tide_err err = read_key(r, &key);
  if (err)
    return err;
  if (r->at[0] != ']' || (is_array && r->at[1] != ']'))
    err = refuse(r, "the header does not end in \"%s\"", is_array ? "]]" : "]");
  else
    r->at += is_array ? 2 : 1;
  for (size_t i = 0; !err && i + 1 < key.n; i++)
    err = descend(r, above, key.parts[i], false, &above);
  if (!err)
    err = (is_array ? open_array : open_table)(r, above, key.parts[key.n - 1]);
  dotted_done(&key);
  return err;
}

// ---- values ----

static const char *foreign_kind(char c)
{
  switch (c) {
  case '[': return "arrays are";
  case '{': return "inline tables are";
  case 't':
  case 'f': return "booleans are";
  default: return NULL;
  }
}

// "1_000", "-5", "+5": no leading zeros, and an underscore between digits only.
static enum tide_err read_integer(struct reader *r, int64_t *ret_integer)
{
  const char *word = r->at;
  size_t n_word = strcspn(word, " \t\r\n#");
  size_t i = *word == '-' || *word == '+';
  bool is_negative = *word == '-', is_wrong = i == n_word;
  int64_t sum = 0;
  if (i + 1 < n_word && word[i] == '0')
    is_wrong = true;
  for (; i < n_word && !is_wrong; i++) {
    bool is_digit = word[i] >= '0' && word[i] <= '9';
    bool is_gap = word[i] == '_' && i && word[i - 1] >= '0' && word[i - 1] <= '9' && i + 1 < n_word;
    is_wrong = !is_digit && !is_gap;
    if (is_digit)
      is_wrong =
          __builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, word[i] - '0', &sum);
  }
  if (is_wrong)
    return refuse(r,
                  "\"%.*s\" is no value here: a string such as \"64MiB\" or a whole number is one",
                  (int)n_word, word);
  *ret_integer = is_negative ? -sum : sum;
  r->at += n_word;
  return TIDE_ERR_OK;
}

static enum tide_err read_value(struct reader *r, struct tide_toml *node)
{
  const char *foreign = foreign_kind(*r->at);
  if (foreign)
    return refuse(r, "%s not used in a file of budgets", foreign);
  if (is_line_end(r->at) || *r->at == '#')
    return refuse(r, "\"%s\" has no value", node->key);
  node->kind = *r->at == '"' || *r->at == '\'' ? TIDE_TOML_TEXT : TIDE_TOML_INTEGER;
  return node->kind == TIDE_TOML_TEXT ? read_string(r, &node->text)
                                      : read_integer(r, &node->integer);
}

static enum tide_err read_pair(struct reader *r)
{
  struct dotted key;
  struct tide_toml *table = r->table;
  enum tide_err err = read_key(r, &key);
  if (err)
    return err;
  const char *last = key.parts[key.n - 1];
  if (*r->at != '=')
    err = refuse(r, "\"%s\" is not followed by \"=\"", last);
  else
    r->at++;
  for (size_t i = 0; !err && i + 1 < key.n; i++)
    err = descend(r, table, key.parts[i], true, &table);
  const struct tide_toml *there = err ? NULL : tide_toml_find(table, last);
  if (there)
    err = refuse(r, "\"%s\" has been given already, in line %u", last, there->line);
  if (!err) {
    skip_blanks(r);
    err = read_value(r, add_node(table, TIDE_TOML_INTEGER, last, r->line));
  }
  dotted_done(&key);
  return err;
}

// Before anything is read: every byte belongs to a character.
static enum tide_err check_utf8(struct reader *r, const char *text)
{
  for (size_t n = strlen(text), length; n; text += length, n -= length) {
    length = tide_utf8_length(text, n);
    if (!length)
      return refuse(r, "a byte that is not UTF-8");
    r->line += *text == '\n';
  }
  r->line = 1;
  return TIDE_ERR_OK;
}

enum tide_err tide_toml_parse(const char *name, const char *text, struct tide_toml *ret_document,
                              struct tide_diag *diag)
{
  struct tide_toml document = {.kind = TIDE_TOML_TABLE, .line = 1, .is_open = true};
  const char *at = text + (strncmp(text, BYTE_ORDER_MARK, 3) ? 0 : 3); // some editors write it
  struct reader r = {name, at, 1, &document, &document, diag};
  enum tide_err err = check_utf8(&r, text);
  while (!err && *r.at) {
    skip_blanks(&r);
    if (*r.at == '[') {
      r.at++;
      err = read_header(&r);
    } else if (!is_line_end(r.at) && *r.at != '#') {
      err = read_pair(&r);
    }
    if (!err)
      err = end_line(&r);
  }
  if (err)
    tide_toml_done(&document);
  else
    *ret_document = document;
  return err;
}
