// SPDX-License-Identifier: Apache-2.0
//
// Where names come from when the file itself has none: debug directories, MiniDebugInfo, the
// kernel's vDSO.
#define _GNU_SOURCE
#include "symbol_fixture.h"

#include "base/alloc.h"

#include "symbol/advice.h"
#include "symbol/elf.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>
#include "unit.h"

#define N(array) (sizeof(array) / sizeof *(array))

static const char *hints(enum tide_hint hint)
{
  return hint == TIDE_HINT_DEBUG_DIR ? "name it so" : NULL;
}

static uint32_t add(struct tide_symboliser *s, const char *name)
{
  return tide_symboliser_add(s, fixture_path(name), NULL, 0);
}

// As rpm makes it: the names of functions that .dynsym has not, packed.
// The packed file is spoilt before it is put in.
static void make_mini(const char *name, const char *spoil)
{
  fixture_must("gcc -g -O2 -fPIE -pie -rdynamic $S/chain.c mark.o -o whole");
  fixture_must("nm -D --format=posix --defined-only whole | cut -d' ' -f1 | sort >exported && "
               "nm --format=posix --defined-only whole | awk '$2 ~ /[TtD]/ {print $1}' | sort | "
               "comm -13 exported - >others && grep -qx hidden others && ! grep -qx outer others");
  fixture_must("objcopy --only-keep-debug whole whole.debug && "
               "objcopy -S --keep-symbols=others whole.debug mini && rm -f mini.xz && xz -k mini");
  fixture_must("%s", spoil);
  fixture_must("strip --strip-all -o %s whole && "
               "objcopy --add-section .gnu_debugdata=mini.xz %s",
               name, name);
}

static void test_mini_debug_info(void **state)
{
  static const struct expected_frame outer[] = {{"outer", NULL, NULL}};
  static const struct expected_frame hidden[] = {{"hidden", NULL, NULL}};
  make_mini("mini_program", "true");
  struct tide_symboliser *s = tide_symboliser_new();
  uint32_t m = add(s, "mini_program");
  fixture_expect(s, m, fixture_address("mini_program", "chain"), outer, 1);
  fixture_expect(s, m, fixture_address("mini_program", "static"), hidden, 1);
  tide_symboliser_free(s);
}

// What cannot be unpacked is left out; the exported names are still there.
static void test_mini_debug_info_damaged(void **state)
{
  static const struct expected_frame outer[] = {{"outer", NULL, NULL}};
  static const char *const spoils[] = {
      "truncate -s 200 mini.xz",
      "printf XXXX | dd of=mini.xz bs=1 seek=100 conv=notrunc",
      "head -c 1000 /dev/zero >mini.xz",
      "head -c 1000 /dev/zero | xz >mini.xz",   // packs well, but is no ELF file
      "head -c 80M /dev/zero | xz -0 >mini.xz", // is larger than any
      "printf '\\177ELF' | xz >mini.xz",        // breaks off
      "cp whole.debug mini.xz",                 // is not packed
      "{ cat mini; head -c 100 /dev/urandom; } | head -c 900 | xz >mini.xz",
  };
  for (size_t i = 0; i < N(spoils); i++) {
    make_mini("mini_damaged", spoils[i]);
    struct tide_symboliser *s = tide_symboliser_new();
    uint32_t m = add(s, "mini_damaged");
    fixture_expect(s, m, fixture_address("mini_damaged", "chain"), outer, 1);
    fixture_expect(s, m, fixture_address("mini_damaged", "static"), NULL, 0);
    tide_symboliser_free(s);
  }
}

// The build id of this process's vDSO, as libdw finds it in the mapped page.
static uint32_t vdso_build_id(uint8_t id[32])
{
  elf_version(EV_CURRENT);
  Elf *elf = elf_memory((char *)getauxval(AT_SYSINFO_EHDR), 4096);
  const void *found = NULL;
  ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &found) : 0;
  if (n > 0 && n <= 32)
    memcpy(id, found, (size_t)n);
  elf_end(elf);
  return n > 0 && n <= 32 ? (uint32_t)n : 0;
}

static void test_vdso(void **state)
{
#ifdef __aarch64__
  const char *symbol = "__kernel_clock_gettime", *name = symbol;
#else
  const char *symbol = "__vdso_clock_gettime", *name = "clock_gettime";
#endif
  uint8_t id[32];
  uint32_t n = getauxval(AT_SYSINFO_EHDR) ? vdso_build_id(id) : 0;
  void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  char *code = vdso ? dlsym(vdso, symbol) : NULL;
  if (!n || !code) {
    print_message("no vDSO with a build id here\n");
    skip();
  }
  uint64_t addr = (uint64_t)code - getauxval(AT_SYSINFO_EHDR) + 1;
  struct tide_symboliser *s = tide_symboliser_new();
  uint32_t same = tide_symboliser_add(s, "[vdso]", id, n);
  const struct expected_frame expected[] = {{name, NULL, NULL}};
  fixture_expect(s, same, addr, expected, 1);
  assert_true(tide_symboliser_object(s, same)->opened);
  assert_string_equal(tide_symboliser_object(s, same)->note, "");
  id[0] ^= 1; // another kernel's
  fixture_expect(s, tide_symboliser_add(s, "[vdso]", id, n), addr, NULL, 0);
  fixture_expect(s, tide_symboliser_add(s, "[vdso]", NULL, 0), addr, NULL, 0);
  tide_symboliser_free(s);
  dlclose(vdso);
}

static const struct expected_frame whole_chain[] = {
    {"c", "chain.c", "c"},
    {"b", "chain.c", "b"},
    {"a", "chain.c", "a"},
    {"outer", "chain.c", "outer"},
};

// A program without debug info, "bare", and its debug info, "bare.full".
static void make_bare(void)
{
  fixture_must("rm -rf dir other *.debug && mkdir -p dir other");
  fixture_must(
      "gcc -g -O2 -fPIE -pie $S/chain.c mark.o -o whole && strip --strip-all -o bare whole "
      "&& objcopy --only-keep-debug whole bare.full");
}

// Is the debug info found when these directories are searched? Names are relative to the scratch
// directory.
static bool finds(const char *program, const char *first, const char *second)
{
  char dirs[1200] = "";
  snprintf(dirs, sizeof dirs, "%s::%s", fixture_path(first), fixture_path(second));
  struct tide_symboliser *s = tide_symboliser_new();
  tide_symboliser_set_sources(s, &(struct tide_symbol_sources){.debug_dirs = dirs, .hints = hints});
  uint32_t m = add(s, program);
  bool found = tide_symboliser_object(s, m)->has_debug_info;
  if (found)
    fixture_expect(s, m, fixture_address(program, "chain"), whole_chain, N(whole_chain));
  tide_symboliser_free(s);
  return found;
}

// Each place by itself: the file is put there by a shell command.
static void test_debug_dir(void **state)
{
  static const char *const puts[] = {
      "id=$(readelf -n bare | sed -n 's/.*Build ID: //p') && rest=${id#??} && "
      "mkdir -p dir/.build-id/${id%$rest} && cp bare.full dir/.build-id/${id%$rest}/$rest.debug",
      "mkdir -p dir/$PWD && cp bare.full dir/$PWD/bare.debug",
      "mkdir -p dir/$PWD && cp whole dir/$PWD/bare",
      "cp bare.full dir/bare.debug",
      "cp whole dir/bare",
      "cp bare dir/bare.debug && cp whole dir/bare", // the first belongs to it but has nothing
  };
  for (size_t i = 0; i < N(puts); i++) {
    make_bare();
    assert_false(finds("bare", "dir", "other"));
    fixture_must("%s", puts[i]);
    if (!finds("bare", "dir", "other") || !finds("bare", "other", "dir"))
      fail_msg("not found after: %s", puts[i]);
    assert_false(finds("bare", "other", "nowhere"));
  }
}

static void test_debug_dir_of_another_build(void **state)
{
  make_bare();
  fixture_must("gcc -g -O1 -fPIE -pie $S/chain.c mark.o -o dir/bare && cp dir/bare dir/bare.debug");
  assert_false(finds("bare", "dir", "other"));
}

static void test_debug_dir_by_link(void **state)
{
  make_bare();
  fixture_must("cp bare.full other.name && objcopy --add-gnu-debuglink=other.name bare && "
               "mv other.name dir");
  assert_true(finds("bare", "dir", "other"));
  make_bare();
  fixture_must("cp bare.full other.name && objcopy --add-gnu-debuglink=other.name bare && "
               "mkdir -p dir/$PWD && mv other.name dir/$PWD");
  assert_true(finds("bare", "dir", "other"));
}

// A symbol table is better than nothing.
static void test_debug_dir_with_names_alone(void **state)
{
  static const struct expected_frame outer[] = {{"outer", NULL, NULL}};
  make_bare();
  fixture_must("strip --strip-debug -o dir/bare whole");
  assert_false(finds("bare", "dir", "other"));
  char dirs[600];
  snprintf(dirs, sizeof dirs, "%s", fixture_path("dir"));
  struct tide_symboliser *s = tide_symboliser_new();
  tide_symboliser_set_sources(s, &(struct tide_symbol_sources){.debug_dirs = dirs, .hints = hints});
  fixture_expect(s, add(s, "bare"), fixture_address("bare", "chain"), outer, 1);
  tide_symboliser_free(s);
}

// The program itself is gone, or another one by now: a copy with the recorded build id will do.
static void test_debug_dir_of_a_file_that_is_gone(void **state)
{
  make_bare();
  uint8_t id[32];
  uint32_t n = fixture_build_id("bare", id);
  uint64_t addr = fixture_address("bare", "chain");
  char dirs[600];
  snprintf(dirs, sizeof dirs, "%s", fixture_path("dir"));
  static const char *const fates[] = {"rm bare", "cp $S/chain.c bare", "cp mark.o bare"};
  static const char *const puts[] = {"cp whole dir/bare", "cp bare.full dir/bare.debug"};
  for (size_t i = 0; i < N(fates) * N(puts); i++) {
    fixture_must("rm -rf dir; mkdir dir; rm -f bare; %s", puts[i % N(puts)]);
    fixture_try("%s", fates[i / N(puts)]);
    struct tide_symboliser *s = tide_symboliser_new();
    tide_symboliser_set_sources(s,
                                &(struct tide_symbol_sources){.debug_dirs = dirs, .hints = hints});
    const char *path = fixture_path(i % 2 ? "bare" : "bare (deleted)");
    uint32_t m = tide_symboliser_add(s, path, id, n);
    fixture_expect(s, m, addr, whole_chain, N(whole_chain));
    assert_string_equal(tide_symboliser_object(s, m)->note, "");
    id[3] ^= 1;
    uint32_t other = tide_symboliser_add(s, path, id, n);
    fixture_expect(s, other, addr, NULL, 0);
    const char *note = tide_symboliser_object(s, other)->note;
    if (!strstr(note, "shown as addresses; if a copy is kept, name it so"))
      fail_msg("\"%s\"", note);
    id[3] ^= 1;
    tide_symboliser_free(s);
  }
}

// With the debug directory of that name (NULL: none), the chain and no note, or the note.
static void expect_whole_chain(const char *program, const char *dir, const char *note)
{
  char dirs[600] = "";
  if (dir)
    snprintf(dirs, sizeof dirs, "%s", fixture_path(dir));
  struct tide_symboliser *s = tide_symboliser_new();
  tide_symboliser_set_sources(s, &(struct tide_symbol_sources){.debug_dirs = dirs, .hints = hints});
  uint32_t m = add(s, program);
  if (!*note)
    fixture_expect(s, m, fixture_address(program, "chain"), whole_chain, N(whole_chain));
  struct tide_symbol_frame frames[64];
  tide_symboliser_lookup(s, m, fixture_address(program, "chain"), frames, 64);
  const struct tide_symbol_object *object = tide_symboliser_object(s, m);
  if (*note ? !strstr(object->note, note) : object->note[0])
    fail_msg("\"%s\" is not \"%s\"", object->note, note);
  tide_symboliser_free(s);
}

// dwz moves what programs have in common to a file of its own.
static void test_common_debug_file(void **state)
{
  if (!fixture_has("dwz")) {
    print_message("no dwz here\n");
    skip();
  }
  fixture_must("rm -rf dir && mkdir dir");
  for (int version = 4; version <= 5; version++) {
    fixture_must("for i in 1 2 3; do gcc -gdwarf-%d -O2 -fPIE -pie $S/chain.c mark.o "
                 "-Wl,--defsym=x$i=$i -o dwz$i; done && rm -f common.debug && "
                 "dwz -m common.debug dwz1 dwz2 dwz3 && "
                 "readelf --debug-dump=info dwz1 | grep -q 'alt '",
                 version);
    expect_whole_chain("dwz1", NULL, "");
    // Not where the link says, but under its build id.
    fixture_must("rm -rf dir && id=$(readelf -n common.debug | sed -n 's/.*Build ID: //p') && "
                 "rest=${id#??} && mkdir -p dir/.build-id/${id%%$rest} && "
                 "cp common.debug dir/.build-id/${id%%$rest}/$rest.debug && mv common.debug moved");
    expect_whole_chain("dwz2", "dir", "");
    expect_whole_chain("dwz2", NULL, "has part of its debug info in common.debug");
    // Another file under the right name.
    fixture_must("for i in 1 2 3; do gcc -g -O1 -fPIE -pie $S/chain.c mark.o -o odd$i; done && "
                 "dwz -m common.debug odd1 odd2 odd3");
    expect_whole_chain("dwz2", NULL, "has part of its debug info in common.debug");
    fixture_must("head -c 500 moved >common.debug");
    expect_whole_chain("dwz2", NULL, "has part of its debug info in common.debug");
  }
}

static void test_split_debug_info(void **state)
{
  static const char *const compilers[] = {"gcc -gdwarf-5", "gcc -gdwarf-4", "clang -gdwarf-5",
                                          "clang -gdwarf-4"};
  for (size_t i = 0; i < N(compilers); i++) {
    if (!fixture_try("command -v %s", compilers[i]))
      continue;
    fixture_must("rm -f split* && %s -gsplit-dwarf -O2 -fPIE -c $S/chain.c -o split.o && "
                 "gcc -pie split.o mark.o -o split",
                 compilers[i]);
    expect_whole_chain("split", NULL, "");
    fixture_must("mv split.dwo elsewhere");
    expect_whole_chain("split", NULL,
                       "has part of its debug info in split.dwo, which is not there");
    fixture_must("touch split.dwp");
    expect_whole_chain("split", NULL, "split.dwp");
  }
}

static void expect_note(const char *program, const char *note)
{
  struct tide_symboliser *s = tide_symboliser_new();
  tide_symboliser_set_sources(s, &(struct tide_symbol_sources){.hints = hints});
  const struct tide_symbol_object *object = tide_symboliser_object(s, add(s, program));
  if (!strstr(object->note, note))
    fail_msg("\"%s\" does not say \"%s\"", object->note, note);
  tide_symboliser_free(s);
}

static void test_advice_for_c(void **state)
{
  fixture_must("gcc -O2 -fPIE -pie $S/chain.c mark.o -o plain && objcopy --strip-debug plain && "
               "strip -o stripped plain && cp plain linked && echo >gone.debug && "
               "objcopy --add-gnu-debuglink=gone.debug linked");
  expect_note("plain", "has no debug info: lines are unknown; compile with -g");
  expect_note("stripped", "lines and most names are unknown; compile with -g and do not strip");
  expect_note("linked", "they are in gone.debug: name it so");
}

// A program without -g and a library with it in one file: what its own code lacks, and no word of
// the file as a whole.
static void test_advice_for_a_part(void **state)
{
  fixture_must("gcc -O2 -g0 -fPIE -c $S/chain.c -o lineless.o && "
               "gcc -O2 -g -fPIE -c $S/mark.c -o lined.o && gcc -pie lineless.o lined.o -o mixed");
  struct tide_symboliser *s = tide_symboliser_new();
  const struct tide_symbol_object *object = tide_symboliser_object(s, add(s, "mixed"));
  assert_true(object->has_debug_info);
  assert_false(object->main_is_made);
  assert_string_equal(object->note, "");
  assert_non_null(strstr(object->part_note, "mixed has no debug info for some of its code: lines "
                                            "there are unknown; compile with -g"));
  tide_symboliser_free(s);
}

// A Rust program has code without lines however it was built; only where none of its own has any is
// it worth a word of its profile.
static void test_advice_for_a_part_of_rust(void **state)
{
  static const char *const built[][2] = {
      {"-Cdebuginfo=0", "add `debug = 1`"},
      {"-Cdebuginfo=1", NULL},
      {"-Cdebuginfo=2", NULL},
      {"-Cdebuginfo=line-tables-only", NULL},
      {"-Cdebuginfo=1 -Csplit-debuginfo=unpacked", NULL},
  };
  if (system("rustc --version >/dev/null 2>&1") != 0)
    skip();
  for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
    TIDE_CLEANUP_FREE char *make = tide_sprintf("echo 'fn main() { print!(\"{}\", 1) }' >crab.rs "
                                                "&& rustc -Copt-level=1 %s crab.rs -o crab%zu",
                                                built[i][0], i);
    TIDE_CLEANUP_FREE char *name = tide_sprintf("crab%zu", i);
    fixture_must(make);
    struct tide_symboliser *s = tide_symboliser_new();
    const struct tide_symbol_object *object = tide_symboliser_object(s, add(s, name));
    assert_true(object->has_debug_info); // std's, if no other
    assert_true(object->main_is_made);
    bool advised = strstr(object->part_note, "Cargo.toml") != NULL;
    if (advised != (built[i][1] != NULL))
      fail_msg("%s: '%s'", built[i][0], object->part_note);
    tide_symboliser_free(s);
  }
}

// Cargo's profile shows in the path.
static void test_advice_for_rust(void **state)
{
  static const char *const pairs[][2] = {
      {"p", "[profile.release]"},
      {"target/release/p", "[profile.release]"},
      {"target/debug/p", "[profile.dev]"},
      {"target/debug/deps/p", "[profile.dev]"},
      {"target/release/examples/p", "[profile.release]"},
      {"target/x86_64-unknown-linux-gnu/bench/deps/p", "[profile.bench]"},
      {"target/x/target/fast/p", "[profile.fast]"},
      {"target/p", "[profile.release]"},
  };
  fixture_must("gcc -O2 -fPIE -pie $S/chain.c mark.o -o plain && objcopy --strip-debug plain && "
               "echo 'rustc version 1.95.0' >comment && "
               "objcopy --update-section .comment=comment plain");
  for (size_t i = 0; i < N(pairs); i++) {
    char note[128];
    snprintf(note, sizeof note, "lines are unknown; add `debug = 1` under `%s` in Cargo.toml",
             pairs[i][1]);
    fixture_must("mkdir -p $(dirname %s) && cp plain %s", pairs[i][0], pairs[i][0]);
    expect_note(pairs[i][0], note);
  }
  fixture_must("strip -s --keep-section=.comment -o bare_rust plain");
  expect_note("bare_rust", "add `debug = 1` and `strip = false` under `[profile.release]`");
}

// As dpkg itself says, for libraries in packages of a like name and of another.
static void test_package(void **state)
{
  static const char *const names[] = {"libzstd.so.1", "libcrypto.so.3", "libdw.so.1",
                                      "libc.so.6",    "libstdc++.so.6", "libelf.so.1"};
  if (!fixture_has("dpkg")) {
    print_message("no dpkg here\n");
    skip();
  }
  unsigned n_seen = 0;
  for (size_t i = 0; i < N(names); i++) {
    if (!fixture_try("dpkg -S $(readlink -f $(gcc -print-file-name=%s)) >package || "
                     "dpkg -S $(readlink -f $(gcc -print-file-name=%s) | sed s,^/usr,,) >package",
                     names[i], names[i]))
      continue;
    fixture_must("gcc -print-file-name=%s | xargs readlink -f >path", names[i]);
    char path[512] = "", said[512] = "";
    FILE *in = fopen(fixture_path("path"), "r"), *by_dpkg = fopen(fixture_path("package"), "r");
    assert_true(in && by_dpkg && fgets(path, sizeof path, in) && fgets(said, sizeof said, by_dpkg));
    fclose(in);
    fclose(by_dpkg);
    path[strcspn(path, "\n")] = 0;
    said[strcspn(said, ":")] = 0;
    char *package = tide_package_of(path);
    assert_non_null(package);
    assert_string_equal(package, said);
    free(package);
    n_seen++;
  }
  assert_true(n_seen >= 2);
  assert_null(tide_package_of("/usr/lib/no-such-library.so.1"));
  assert_null(tide_package_of("/usr/li"));
}

static void expect_package_note(const char *path, const char *package, const char *more)
{
  struct tide_symboliser *s = tide_symboliser_new();
  const struct tide_symbol_object *object =
      tide_symboliser_object(s, tide_symboliser_add(s, path, NULL, 0));
  char part[256];
  snprintf(part, sizeof part, "install %s-dbgsym%s", package, more);
  if (!object->has_debug_info && !strstr(object->note, part))
    fail_msg("\"%s\" does not say \"%s\"", object->note, part);
  tide_symboliser_free(s);
}

// Of a library that is installed wherever this is built. Where its debug info is too, nothing is
// wrong.
static void test_advice_for_packages(void **state)
{
  Dl_info info;
  assert_int_not_equal(dladdr((void *)elf_version, &info), 0);
  char *package = tide_package_of(info.dli_fname);
  if (!package) {
    print_message("libelf is of no package\n");
    skip();
  }
  const char *before = getenv("DEBUGINFOD_URLS");
  unsetenv("DEBUGINFOD_URLS");
  expect_package_note(info.dli_fname, package, ", or set DEBUGINFOD_URLS");
  setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9", 1);
  expect_package_note(info.dli_fname, package, "; `tidemark report` can fetch it");
  if (before)
    setenv("DEBUGINFOD_URLS", before, 1);
  else
    unsetenv("DEBUGINFOD_URLS");
  free(package);
}

UNIT_TESTS(symbol_sources_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_advice_for_c),
      cmocka_unit_test(test_advice_for_a_part),
      cmocka_unit_test(test_advice_for_a_part_of_rust),
      cmocka_unit_test(test_advice_for_rust),
      cmocka_unit_test(test_package),
      cmocka_unit_test(test_advice_for_packages),
      cmocka_unit_test(test_common_debug_file),
      cmocka_unit_test(test_split_debug_info),
      cmocka_unit_test(test_debug_dir),
      cmocka_unit_test(test_debug_dir_of_another_build),
      cmocka_unit_test(test_debug_dir_by_link),
      cmocka_unit_test(test_debug_dir_with_names_alone),
      cmocka_unit_test(test_debug_dir_of_a_file_that_is_gone),
      cmocka_unit_test(test_mini_debug_info),
      cmocka_unit_test(test_mini_debug_info_damaged),
      cmocka_unit_test(test_vdso),
  };
  return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
