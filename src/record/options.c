// SPDX-License-Identifier: Apache-2.0
//
// Reading TIDEMARK_OPTIONS.
#include "record/options.h"

#include "rt/text.h"

static void copy(char *to, size_t cap, const char *from, size_t n)
{
  struct tide_line line = {to, 0, cap};
  tide_line_add_n(&line, from, n);
}

static bool is_key(const char *at, size_t n, const char *key)
{
  return tide_text_len(key) == n && tide_text_starts(at, key);
}

static void option(struct tide_options *o, const char *key, size_t key_n, const char *value,
                   size_t value_n)
{
  bool ok;
  if (is_key(key, key_n, "socket"))
    copy(o->door, sizeof o->door, value, value_n);
  else if (is_key(key, key_n, "out"))
    copy(o->output, sizeof o->output, value, value_n);
  else if (is_key(key, key_n, "depth"))
    o->depth = (uint32_t)tide_text_number(value, &ok);
  else if (is_key(key, key_n, "filters"))
    o->filters = (uint32_t)tide_text_number(value, &ok);
  else if (is_key(key, key_n, "follow"))
    o->follow = !(value_n == 1 && value[0] == '0');
  else if (!o->unknown[0])
    copy(o->unknown, sizeof o->unknown, key, key_n);
}

void tide_options_parse(const char *text, struct tide_options *ret_options)
{
  struct tide_options o = {.follow = true, .filters = UINT32_MAX};
  while (*text) {
    size_t n = 0, eq;
    while (text[n] && text[n] != ',')
      n++;
    for (eq = 0; eq < n && text[eq] != '='; eq++)
      ;
    if (n)
      option(&o, text, eq, eq < n ? text + eq + 1 : text + n, eq < n ? n - eq - 1 : 0);
    text += n + (text[n] == ',');
  }
  if (o.depth == 1)
    o.depth = 2; // one frame for each end
  *ret_options = o;
}
