// SPDX-License-Identifier: Apache-2.0
//
// Which suppression a frame matches is kept per address, as stacks share most of their frames.
#define _GNU_SOURCE
#include "view/suppressions.h"

#include "base/alloc.h"
#include "base/given_file.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "leak:";

struct tide_suppressions *tide_suppressions_new(void)
{
  return tide_alloc(sizeof(struct tide_suppressions));
}

static void drop_after(struct tide_suppressions *suppressions, size_t n)
{
  while (suppressions->n > n)
    free(suppressions->items[--suppressions->n].pattern);
}

void tide_suppressions_free(struct tide_suppressions *suppressions)
{
  if (!suppressions)
    return;
  drop_after(suppressions, 0);
  free(suppressions->items);
  free(suppressions);
}

bool tide_suppression_matches(const char *pattern, const char *name)
{
  bool at_start = *pattern == '^', after_star = false;
  if (!*name)
    return false;
  pattern += at_start;
  while (*pattern) {
    if (*pattern == '$')
      return !*name || after_star;
    if (*pattern == '*') {
      at_start = false;
      after_star = true;
      pattern++;
      continue;
    }
    size_t n = strcspn(pattern, "*$");
    const char *found = memmem(name, strlen(name), pattern, n);
    if (!found || (at_start && found != name))
      return false;
    name = found + n;
    pattern += n;
    at_start = after_star = false;
  }
  return true;
}

static enum tide_err parse_line(struct tide_suppressions *suppressions, const char *name,
                                size_t number, const char *line, size_t n, struct tide_diag *diag)
{
  static const char blanks[] = " \t\r";
  for (; n && strchr(blanks, *line); line++)
    n--;
  while (n && strchr(blanks, line[n - 1]))
    n--;
  if (!n || *line == '#')
    return TIDE_ERR_OK;
  size_t n_prefix = strlen(prefix);
  if (n < n_prefix || memcmp(line, prefix, n_prefix) != 0)
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s:%zu: a suppression is leak:PATTERN, not \"%.*s\"",
                     name, number, (int)(n < 80 ? n : 80), line);
  if (n == n_prefix)
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s:%zu: leak: needs a pattern", name, number);
  TIDE_GROW(suppressions->items, suppressions->n, suppressions->cap);
  suppressions->items[suppressions->n++] =
      (struct tide_suppression){.pattern = tide_strndup(line + n_prefix, n - n_prefix)};
  return TIDE_ERR_OK;
}

enum tide_err tide_suppressions_parse(struct tide_suppressions *suppressions, const char *name,
                                      const char *text, struct tide_diag *diag)
{
  size_t n_before = suppressions->n, number = 1;
  enum tide_err err = TIDE_ERR_OK;
  for (; *text && !err; number++) {
    size_t n = strcspn(text, "\n");
    err = parse_line(suppressions, name, number, text, n, diag);
    text += n + (text[n] == '\n');
  }
  if (err)
    drop_after(suppressions, n_before);
  return err;
}

enum tide_err tide_suppressions_read(struct tide_suppressions *suppressions, const char *path,
                                     struct tide_diag *diag)
{
  struct tide_buf text = {0};
  enum tide_err err = tide_text_file_read(path, "suppressions", &text, diag);
  if (!err)
    err = tide_suppressions_parse(suppressions, path, tide_buf_cstr(&text), diag);
  tide_buf_done(&text);
  return err;
}

static bool matches_name(const struct tide_suppression *suppression, const char *name)
{
  return name && tide_suppression_matches(suppression->pattern, name);
}

struct matching { // per address: 0: not looked at, 1: none, k + 2: suppression k
  struct tide_suppressions *suppressions;
  struct tide_naming *naming;
  size_t *of_address;
  size_t n_addresses;
};

// The first suppression that any function at a node matches, + 2; 1: none does.
static size_t match_node(const struct matching *m, uint32_t node)
{
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(m->naming, node, &n);
  if (frames->flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST | TIDE_FRAME_CUT))
    return 1;
  for (size_t i = 0; i < n; i++) {
    const char *module = tide_naming_module_path(m->naming, &frames[i]);
    for (size_t k = 0; k < m->suppressions->n; k++) {
      const struct tide_suppression *one = &m->suppressions->items[k];
      if (matches_name(one, frames[i].function) || matches_name(one, frames[i].file) ||
          matches_name(one, module))
        return k + 2;
    }
  }
  return 1;
}

static struct tide_suppression *match_stack(struct matching *m, const struct tide_image *image,
                                            uint32_t stack)
{
  for (uint32_t node = stack; node; node = image->frames[node].parent) {
    size_t address = tide_naming_address(m->naming, node);
    if (address >= m->n_addresses) {
      size_t more = tide_naming_addresses(m->naming) * 2;
      m->of_address = tide_realloc_array(m->of_address, more, sizeof *m->of_address);
      for (; m->n_addresses < more; m->n_addresses++)
        m->of_address[m->n_addresses] = 0;
    }
    if (!m->of_address[address])
      m->of_address[address] = match_node(m, node);
    if (m->of_address[address] > 1)
      return &m->suppressions->items[m->of_address[address] - 2];
  }
  return NULL;
}

void tide_suppressions_apply(struct tide_suppressions *suppressions, struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  struct matching m = {.suppressions = suppressions, .naming = view->naming};
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    if (!tide_view_has(view, i) || site->weight <= 0)
      continue;
    struct tide_suppression *hid = match_stack(&m, profile->image, site->stack);
    if (!hid)
      continue;
    if (!view->unwanted)
      view->unwanted = tide_alloc_array(profile->n_sites + 1, 1);
    view->unwanted[i] = 1;
    hid->n_stacks++;
    hid->live_blocks += tide_site_live_blocks(site);
    hid->live_bytes += tide_site_live_bytes(site);
    suppressions->weight += site->weight;
  }
  free(m.of_address);
}
