// SPDX-License-Identifier: Apache-2.0
//
// Compiling and running the fixtures of the symbol tests.
#define _GNU_SOURCE
#include "symbol_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FIXTURES TIDE_UNIT_DIR "/symbol_fixtures"

char fixture_dir[256];

int fixture_setup(void **state)
{
  const char *tmp = getenv("TMPDIR");
  snprintf(fixture_dir, sizeof fixture_dir, "%s/tidemark-symbol-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(fixture_dir))
    return -1;
  setenv("S", FIXTURES, 1);
  fixture_must("gcc -g -O1 -fPIE -c $S/mark.c -o mark.o");
  return 0;
}

int fixture_teardown(void **state)
{
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", fixture_dir);
  return system(command);
}

static bool run_shell(const char *format, va_list args)
{
  char command[2048], whole[2600];
  vsnprintf(command, sizeof command, format, args);
  snprintf(whole, sizeof whole, "cd '%s' && { %s; } >out.txt 2>&1", fixture_dir, command);
  return system(whole) == 0;
}

bool fixture_try(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  bool good = run_shell(format, args);
  va_end(args);
  return good;
}

void fixture_must(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  bool good = run_shell(format, args);
  va_end(args);
  if (good)
    return;
  char show[300];
  snprintf(show, sizeof show, "cat '%s/out.txt' >&2", fixture_dir);
  if (system(show) != 0)
    print_error("no output was kept\n");
  fail_msg("this failed: %s", format);
}

bool fixture_has(const char *program)
{
  return fixture_try("command -v %s", program);
}

const char *fixture_path(const char *name)
{
  static char paths[2][512];
  static unsigned turn;
  char *path = paths[turn++ % 2];
  snprintf(path, sizeof paths[0], "%s/%s", fixture_dir, name);
  return path;
}

uint64_t fixture_address(const char *program, const char *tag)
{
  FILE *out = popen(fixture_path(program), "r");
  assert_non_null(out);
  char line[128], seen_tag[64];
  uint64_t addr, found = 0;
  while (fgets(line, sizeof line, out))
    if (sscanf(line, "%63s %lx", seen_tag, &addr) == 2 && strcmp(seen_tag, tag) == 0 && !found)
      found = addr;
  assert_int_equal(pclose(out), 0);
  if (!found)
    fail_msg("%s did not print %s", program, tag);
  return found;
}

uint32_t fixture_line(const char *source, const char *place)
{
  char path[512], mark[64], line[256];
  snprintf(path, sizeof path, "%s/%s", FIXTURES, source);
  snprintf(mark, sizeof mark, "// at %s\n", place);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  uint32_t number = 0, found = 0;
  while (fgets(line, sizeof line, in)) {
    number++;
    const char *end = strstr(line, "// at ");
    if (end && strcmp(end, mark) == 0)
      found = number;
  }
  fclose(in);
  if (!found)
    fail_msg("%s has no line marked %s", source, place);
  return found;
}

uint32_t fixture_build_id(const char *name, uint8_t id[32])
{
  char command[700], hex[128] = "";
  snprintf(command, sizeof command, "readelf -n '%s' | sed -n 's/.*Build ID: //p'",
           fixture_path(name));
  FILE *out = popen(command, "r");
  assert_non_null(out);
  if (!fgets(hex, sizeof hex, out))
    hex[0] = 0;
  pclose(out);
  uint32_t n = 0;
  for (unsigned byte; n < 32 && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
    id[n] = (uint8_t)byte;
  return n;
}

static void print_chain(const struct tide_symbol_frame *frames, size_t n)
{
  for (size_t i = 0; i < n; i++)
    print_error("  %s at %s:%u%s\n", frames[i].function, frames[i].file, frames[i].line,
                frames[i].inlined ? " (inlined)" : "");
}

static bool is_as_expected(const struct tide_symbol_frame *frame, const struct expected_frame *want)
{
  if (!frame->function || !want->function)
    return frame->function == want->function;
  if (strcmp(frame->function, want->function) != 0)
    return false;
  if (!want->source)
    return !frame->file && frame->line == 0;
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FIXTURES, want->source);
  return frame->file && strcmp(frame->file, path) == 0 &&
         frame->line == fixture_line(want->source, want->place);
}

void fixture_expect(struct tide_symboliser *s, uint32_t module, uint64_t addr,
                    const struct expected_frame *frames, size_t n)
{
  struct tide_symbol_frame got[64];
  size_t n_got = tide_symboliser_lookup(s, module, addr, got, 64);
  bool good = n_got == n;
  for (size_t i = 0; good && i < n; i++)
    good = is_as_expected(&got[i], &frames[i]) && got[i].inlined == (i + 1 < n);
  if (good)
    return;
  print_error("%s at %#lx, got:\n", tide_symboliser_object(s, module)->path, addr);
  print_chain(got, n_got);
  fail_msg("not the chain that was expected, which starts with %s", n ? frames[0].function : "-");
}
