// SPDX-License-Identifier: Apache-2.0
//
// The readers of DWARF that are our own, on any bytes. An input is the length of .debug_info and of
// .debug_abbrev (16 bits each), then the two sections, then .debug_line; the last serves as the
// string sections too. What comes out must be a tree and strings.
#include "base/buf.h"
#include "symbol/dwarf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition)
{
  if (!condition)
    abort();
}

static struct tide_section take(struct tide_cursor *c, size_t n)
{
  if (n > tide_cursor_left(c))
    n = tide_cursor_left(c);
  return (struct tide_section){tide_cursor_bytes(c, n), n};
}

static void check_dies(const struct tide_section *info, const struct tide_section *abbrev)
{
  struct tide_dies dies = {0};
  tide_dies_read(&dies, info, abbrev, 0);
  for (uint32_t i = 0; i < dies.n; i++) {
    const struct tide_die *die = &dies.items[i];
    must(die->offset < info->n && die->end > i && die->end <= dies.n);
    must(i == 0 || die->offset > die[-1].offset);
    must(die->parent == TIDE_DIE_NONE ||
         (die->parent < i && dies.items[die->parent].end >= die->end));
    must(tide_dies_find(&dies, die->offset) == i);
  }
  tide_dies_done(&dies);
}

static void check_lines(const struct tide_section *line)
{
  struct tide_line_source source = {
      .line = *line, .str = *line, .line_str = *line, .code_lo = 0x1000, .code_hi = 0x100000};
  struct tide_lines *lines = tide_lines_new(&source, 0, "/dir");
  size_t n_bytes = 0;
  for (uint64_t addr = 0; addr < 0x3000; addr += 16) {
    const char *file = NULL;
    uint32_t number = 0;
    if (tide_lines_find(lines, addr, &file, &number) && file)
      n_bytes += strlen(file);
  }
  must(n_bytes < (size_t)1 << 40);
  tide_lines_free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct tide_cursor c = tide_cursor_make(data, n);
  size_t info_bytes = tide_cursor_u16(&c), abbrev_bytes = tide_cursor_u16(&c);
  if (c.bad)
    return 0;
  struct tide_section info = take(&c, info_bytes), abbrev = take(&c, abbrev_bytes);
  struct tide_section line = take(&c, tide_cursor_left(&c));
  check_dies(&info, &abbrev);
  check_lines(&line);
  return 0;
}
