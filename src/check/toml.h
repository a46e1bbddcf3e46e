// SPDX-License-Identifier: Apache-2.0
//
// As much of TOML 1.0 as a file of budgets needs: tables, arrays of tables, dotted and quoted keys,
// one-line strings (basic and literal), decimal integers, comments. What else TOML has (arrays,
// inline tables, floats, booleans, dates, long strings) is refused by its name, so that a file
// either means here what it means elsewhere or is not read at all. Debian has libraries for C++
// only, which would bring its runtime into the command.
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum tide_toml_kind {
  TIDE_TOML_TABLE,
  TIDE_TOML_TABLES, // an array of tables: its children are the tables, without keys
  TIDE_TOML_TEXT,
  TIDE_TOML_INTEGER,
};

struct tide_toml {
  enum tide_toml_kind kind;
  char *key;     // owned; NULL: the document, or a table of an array
  unsigned line; // where it begins, from 1
  char *text;    // of a text: owned, UTF-8 without NULs
  int64_t integer;
  struct tide_toml *items; // of tables: in the order of the file; owned
  size_t n, cap;
  bool is_open;   // a header named it: once is enough
  bool is_dotted; // made by a dotted key: no header may name it
};

// The document is a table. Failures are TIDE_ERR_FORMAT, "<name>:<line>: ..."; whatever the text
// is, there is no other.
enum tide_err tide_toml_parse(const char *name, const char *text, struct tide_toml *ret_document,
                              struct tide_diag *diag);
void tide_toml_done(struct tide_toml *document); // all zero is fine

// The child of that key; NULL: none, as of no key.
const struct tide_toml *tide_toml_find(const struct tide_toml *table, const char *key);
