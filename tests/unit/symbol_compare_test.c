// SPDX-License-Identifier: Apache-2.0
//
// A thousand places in real programs, looked up by us, by addr2line and by llvm-symbolizer. Every
// chain has to be what one of the two says: both have bugs of their own (addr2line 2.40 loses
// inlined places of clang's DWARF 5 and takes file 0 for file 1), but not the same ones.
// And files cut short or overwritten, which may be answered in any way but a crash.
#define _GNU_SOURCE
#include "symbol_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#define PLACES_MAX 1000
#define CHAIN_MAX 64

struct chain {
  char *lines[2 * CHAIN_MAX]; // function and "file:line" by turns, owned
  size_t n;
};

static struct chain ours[PLACES_MAX], gnu[PLACES_MAX], llvm[PLACES_MAX];
static uint64_t places[PLACES_MAX];

static void chain_done(struct chain *chain)
{
  for (size_t i = 0; i < chain->n; i++)
    free(chain->lines[i]);
  chain->n = 0;
}

static void chain_add(struct chain *chain, const char *text)
{
  if (chain->n < 2 * CHAIN_MAX)
    chain->lines[chain->n++] = strdup(text);
}

// Removes "/./" and "/x/../", which the tools treat each in its own way.
static void tidy_path(char *path)
{
  char *at;
  while ((at = strstr(path, "/./")))
    memmove(at, at + 2, strlen(at + 2) + 1);
  while ((at = strstr(path, "/../")) && at > path) {
    char *slash = at - 1;
    while (slash > path && *slash != '/')
      slash--;
    memmove(slash, at + 3, strlen(at + 3) + 1);
  }
}

// Between functions lie instructions that belong to none.
static bool is_padding(const char *instruction)
{
  static const char *const names[] = {"nop", "xchg", "int3", "data16", "cs", "udf", "(bad)"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(instruction, names[i], strlen(names[i])) == 0)
      return true;
  return false;
}

// Addresses of instructions, evenly picked from the whole program.
static size_t find_places(const char *program)
{
  char command[600], line[4096];
  snprintf(command, sizeof command, "objdump -d --no-show-raw-insn '%s'", fixture_path(program));
  size_t n = 0, n_seen = 0, every = 1;
  FILE *out = popen(command, "r");
  assert_non_null(out);
  while (fgets(line, sizeof line, out)) {
    uint64_t addr;
    int skip_to = 0;
    if (sscanf(line, " %lx: %n", &addr, &skip_to) != 1 || skip_to == 0 ||
        is_padding(line + skip_to) || n_seen++ % every != 0)
      continue;
    if (n == PLACES_MAX) { // thin out what we have and go on at half the rate
      for (n = 0; n < PLACES_MAX / 2; n++)
        places[n] = places[2 * n];
      every *= 2;
    }
    places[n++] = addr;
  }
  assert_int_equal(pclose(out), 0);
  return n;
}

static void ask_us(const char *program, size_t n_places)
{
  struct tide_symboliser *s = tide_symboliser_new();
  uint32_t m = tide_symboliser_add(s, fixture_path(program), NULL, 0);
  for (size_t i = 0; i < n_places; i++) {
    struct tide_symbol_frame frames[CHAIN_MAX];
    size_t n = tide_symboliser_lookup(s, m, places[i], frames, CHAIN_MAX);
    for (size_t j = 0; j < n; j++) {
      char place[4096];
      snprintf(place, sizeof place, "%s:%u", frames[j].file ? frames[j].file : "??",
               frames[j].line);
      tidy_path(place);
      chain_add(&ours[i], frames[j].function ? frames[j].function : "??");
      chain_add(&ours[i], place);
    }
  }
  tide_symboliser_free(s);
}

static void write_places(size_t n_places)
{
  FILE *list = fopen(fixture_path("places.txt"), "w");
  assert_non_null(list);
  for (size_t i = 0; i < n_places; i++)
    fprintf(list, "0x%lx\n", places[i]);
  fclose(list);
}

static void add_function(struct chain *chain, char *name)
{
  char *text = tide_demangle(name);
  chain_add(chain, text);
  free(text);
}

// "file:line", "file:?", "file:line (discriminator 3)" or "file:line:column" to "file:line".
static void add_place(struct chain *chain, char *place, bool has_column)
{
  char *end = strstr(place, " (discriminator");
  if (has_column)
    end = strrchr(place, ':');
  if (end)
    *end = 0;
  end = strrchr(place, ':');
  if (end && strcmp(end, ":?") == 0)
    end[1] = '0';
  tidy_path(place);
  chain_add(chain, place);
}

// Both tools print an address first, then two lines for each frame.
static bool ask_tool(const char *command, const char *program, struct chain *chains,
                     size_t n_places, bool has_column)
{
  static char line[1 << 16];
  snprintf(line, sizeof line, "cd '%s' && %s '%s' <places.txt 2>/dev/null", fixture_dir, command,
           program);
  FILE *out = popen(line, "r");
  assert_non_null(out);
  size_t n_asked = 0;
  bool is_place = false;
  while (fgets(line, sizeof line, out)) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "0x", 2) == 0 && strspn(line + 2, "0123456789abcdef") == strlen(line + 2)) {
      n_asked++;
      is_place = false;
    } else if (line[0] && n_asked && n_asked <= n_places) {
      if (is_place)
        add_place(&chains[n_asked - 1], line, has_column);
      else
        add_function(&chains[n_asked - 1], line);
      is_place = !is_place;
    }
  }
  return pclose(out) == 0 && n_asked == n_places;
}

// Functions without a mangled name we call by their place ("ns::f"), the tools just "f".
static bool same_line(const char *our, const char *their)
{
  size_t our_len = strlen(our), their_len = strlen(their);
  if (our_len < their_len || strcmp(our + our_len - their_len, their) != 0)
    return false;
  return our_len == their_len ||
         (our_len > their_len + 2 && strncmp(our + our_len - their_len - 2, "::", 2) == 0);
}

static bool same(const struct chain *our, const struct chain *their)
{
  if (our->n != their->n)
    return false;
  for (size_t i = 0; i < our->n; i++)
    if (!same_line(our->lines[i], their->lines[i]))
      return false;
  return true;
}

static void show(const char *who, const struct chain *chain)
{
  print_error("%s:\n", who);
  for (size_t i = 0; i + 1 < chain->n; i += 2)
    print_error("  %.200s\n    %s\n", chain->lines[i], chain->lines[i + 1]);
}

// What comes without debug info (startup code, static libraries) has no lines to compare; the tools
// then give the name of the object file, without a directory.
static bool has_line(const struct chain *chain)
{
  return chain->n && chain->lines[1][0] == '/';
}

static void compare(const char *program)
{
  size_t n_places = find_places(program), n_compared = 0, n_wrong = 0;
  write_places(n_places);
  ask_us(program, n_places);
  assert_true(ask_tool("addr2line -a -i -f -e", program, gnu, n_places, false));
  bool have_llvm = ask_tool("llvm-symbolizer --no-demangle --print-address --inlines --obj",
                            program, llvm, n_places, true);
  for (size_t i = 0; i < n_places; i++) {
    if (has_line(&gnu[i]) || has_line(&ours[i])) {
      n_compared++;
      if (!same(&ours[i], &gnu[i]) && !(have_llvm && same(&ours[i], &llvm[i])) && !n_wrong++) {
        print_error("%s at %#lx\n", program, places[i]);
        show("ours", &ours[i]);
        show("addr2line", &gnu[i]);
        show("llvm-symbolizer", &llvm[i]);
      }
    }
    chain_done(&ours[i]);
    chain_done(&gnu[i]);
    chain_done(&llvm[i]);
  }
  print_message("%s: %zu places, %zu compared, %zu otherwise\n", program, n_places, n_compared,
                n_wrong);
  assert_true(n_compared >= 400);
  assert_int_equal(n_wrong, 0);
}

static void test_cxx_like_others(void **state)
{
  fixture_must("g++ -g -O2 $S/busy.cc -o busy_gcc");
  compare("busy_gcc");
  fixture_must("g++ -g -O0 $S/busy.cc -o busy_gcc_plain");
  compare("busy_gcc_plain");
}

static void test_cxx_by_clang_like_others(void **state)
{
  if (!fixture_has("clang++")) {
    print_message("no clang++ here\n");
    skip();
  }
  // Version 4 without llvm-symbolizer: addr2line loses frames of clang's version 5.
  fixture_must("clang++ -gdwarf-%d -O2 $S/busy.cc -o busy_clang",
               fixture_has("llvm-symbolizer") ? 5 : 4);
  compare("busy_clang");
}

static void test_rust_like_others(void **state)
{
  if (!fixture_has("rustc")) {
    print_message("no rustc here\n");
    skip();
  }
  fixture_must("rustc -g -O $S/busy.rs -o busy_rust");
  compare("busy_rust");
  fixture_must("rustc -g $S/busy.rs -o busy_rust_plain");
  compare("busy_rust_plain");
}

static void look_everywhere(const char *path)
{
  struct tide_symboliser *s = tide_symboliser_new();
  uint32_t m = tide_symboliser_add(s, path, NULL, 0);
  struct tide_symbol_frame frames[CHAIN_MAX];
  for (uint64_t addr = 0x1000; addr < 0x1600; addr += 7) {
    size_t n = tide_symboliser_lookup(s, m, addr, frames, CHAIN_MAX);
    assert_true(n <= CHAIN_MAX);
    for (size_t i = 0; i < n; i++) { // the strings have to be strings
      assert_true(!frames[i].function || strlen(frames[i].function) < 1 << 20);
      assert_true(!frames[i].file || strlen(frames[i].file) < 1 << 20);
    }
  }
  assert_true(strlen(tide_symboliser_object(s, m)->note) < 256);
  tide_symboliser_free(s);
}

struct bytes {
  uint8_t *data;
  size_t n;
};

static struct bytes read_file(const char *name)
{
  FILE *in = fopen(fixture_path(name), "r");
  assert_non_null(in);
  struct bytes bytes = {malloc(1 << 20), 0};
  bytes.n = fread(bytes.data, 1, 1 << 20, in);
  fclose(in);
  return bytes;
}

static void write_and_look(const struct bytes *bytes, size_t n)
{
  const char *path = fixture_path("damaged");
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes->data, 1, n, out), n);
  fclose(out);
  look_everywhere(path);
}

static void test_cut_files(void **state)
{
  fixture_must("gcc -g -O2 -fPIE -pie $S/chain.c mark.o -o chain");
  struct bytes whole = read_file("chain");
  for (size_t n = 0; n < 200; n += 7)
    write_and_look(&whole, n);
  for (size_t i = 0; i < 200; i++)
    write_and_look(&whole, whole.n * i / 200);
  free(whole.data);
}

static uint32_t next_random(uint32_t *state)
{
  return *state = *state * 1664525 + 1013904223;
}

// Overwrites a few bytes, again and again in another copy. Always the same ones.
static void damage(const char *program, unsigned rounds)
{
  struct bytes whole = read_file(program), copy = {malloc(whole.n), whole.n};
  uint32_t random = 1;
  for (unsigned round = 0; round < rounds; round++) {
    memcpy(copy.data, whole.data, whole.n);
    for (unsigned i = 0; i <= round % 16; i++) {
      size_t at = (next_random(&random) >> 4) % whole.n;
      copy.data[at] = (uint8_t)(next_random(&random) >> 16);
    }
    write_and_look(&copy, copy.n);
  }
  free(copy.data);
  free(whole.data);
}

static void test_damaged_files(void **state)
{
  fixture_must("gcc -gdwarf-5 -O2 -fPIE -pie $S/chain.c mark.o -o chain5");
  damage("chain5", 400);
  fixture_must("gcc -gdwarf-4 -O2 -fPIE -pie $S/chain.c mark.o -o chain4");
  damage("chain4", 400);
  if (fixture_try("objcopy --compress-debug-sections=zstd chain4 packed4"))
    damage("packed4", 400);
}

UNIT_TESTS(symbol_compare_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cxx_like_others),  cmocka_unit_test(test_cxx_by_clang_like_others),
      cmocka_unit_test(test_rust_like_others), cmocka_unit_test(test_cut_files),
      cmocka_unit_test(test_damaged_files),
  };
  return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
