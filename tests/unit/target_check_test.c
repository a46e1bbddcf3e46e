// SPDX-License-Identifier: Apache-2.0
//
// Programs that cannot be recorded are told by looking at them, and the sentence names the reason.
// The programs are made here, byte by byte: headers alone, as nothing of them is run.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "supervise/target_check.h"
#include "rt/arch.h"
#include "store/layout.h"
#include "store/program_signs.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GLIBC "/lib64/ld-linux-x86-64.so.2"
#define HERE (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? EM_X86_64 : EM_AARCH64)

static char directory[256];

struct program {
  const char *loader;         // NULL: static
  const char *const *symbols; // defined ones; NULL: stripped
  const char *needed;         // a library it asks for
  const char *rodata;
  uint16_t machine;
  uint8_t class;
};

static int enter_directory(void **state)
{
  const char *base = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/tidemark-target-test-XXXXXX", base ? base : P_tmpdir);
  return !mkdtemp(directory) || chdir(directory);
}

static int leave_directory(void **state)
{
  char command[sizeof directory + 16];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return chdir("/") || system(command);
}

struct image {
  uint8_t bytes[8192];
  size_t n;
};

static size_t put(struct image *image, const void *data, size_t n)
{
  size_t at = (image->n + 7) & ~(size_t)7;
  memcpy(image->bytes + at, data, n);
  image->n = at + n;
  return at;
}

enum { NAMES = 1, STRINGS, SYMBOLS, DYNAMIC, RODATA, N_SECTIONS };

static void put_symbols(struct image *image, const struct program *p, Elf64_Shdr *sections)
{
  char strings[1024] = "";
  size_t n = 1;
  Elf64_Sym symbols[16] = {{0}};
  size_t n_symbols = 1;
  for (const char *const *s = p->symbols; s && *s; s++) {
    symbols[n_symbols++] = (Elf64_Sym){.st_name = (Elf64_Word)n,
                                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                       .st_shndx = **s == '?' ? SHN_UNDEF : 1};
    n += (size_t)sprintf(strings + n, "%s", *s + (**s == '?')) + 1;
  }
  Elf64_Dyn dynamic[2] = {{0}};
  if (p->needed) {
    dynamic[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = n};
    n += (size_t)sprintf(strings + n, "%s", p->needed) + 1;
  }
  sections[STRINGS] =
      (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = put(image, strings, n), .sh_size = n};
  sections[SYMBOLS] = (Elf64_Shdr){.sh_type = p->symbols ? SHT_SYMTAB : SHT_NULL,
                                   .sh_offset = put(image, symbols, sizeof symbols),
                                   .sh_size = n_symbols * sizeof *symbols,
                                   .sh_info = 1,
                                   .sh_link = STRINGS};
  sections[DYNAMIC] = (Elf64_Shdr){.sh_type = SHT_DYNAMIC,
                                   .sh_offset = put(image, dynamic, sizeof dynamic),
                                   .sh_size = sizeof dynamic,
                                   .sh_link = STRINGS};
}

static void write_file(const char *name, const void *data, size_t n)
{
  unlink(name); // a file that is emptied and filled again is flushed by some file systems
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  assert_int_equal(write(fd, data, n), (ssize_t)n);
  close(fd);
}

static struct image make(const struct program *p)
{
  static const char names[] = "\0.rodata";
  struct image image = {.n = sizeof(Elf64_Ehdr)};
  Elf64_Shdr sections[N_SECTIONS] = {{0}};
  Elf64_Phdr segment = {.p_type = p->loader ? PT_INTERP : PT_NULL};
  if (p->loader) {
    segment.p_offset = put(&image, p->loader, strlen(p->loader) + 1);
    segment.p_filesz = strlen(p->loader) + 1;
  }
  sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                 .sh_offset = put(&image, names, sizeof names),
                                 .sh_size = sizeof names};
  put_symbols(&image, p, sections);
  if (p->rodata)
    sections[RODATA] = (Elf64_Shdr){.sh_name = 1,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = put(&image, p->rodata, strlen(p->rodata)),
                                    .sh_size = strlen(p->rodata)};
  Elf64_Ehdr head = {
      .e_ident = {0x7f, 'E', 'L', 'F', p->class ? p->class : ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_DYN,
      .e_machine = p->machine ? p->machine : HERE,
      .e_phentsize = sizeof segment,
      .e_phnum = 1,
      .e_shentsize = sizeof *sections,
      .e_shnum = N_SECTIONS,
      .e_shstrndx = NAMES};
  head.e_phoff = put(&image, &segment, sizeof segment);
  head.e_shoff = put(&image, sections, sizeof sections);
  memcpy(image.bytes, &head, sizeof head);
  return image;
}

enum { FINE = -1 };

static int why_of(const struct tide_target *target)
{
  return target->unfit ? (int)target->why : FINE;
}

static void check(const struct program *p, int why, const char *words)
{
  struct image image = make(p);
  write_file("program", image.bytes, image.n);
  struct tide_target target;
  tide_target_check("./program", &target);
  assert_int_equal(why_of(&target), why);
  assert_string_equal(target.path, "./program");
  if (words && !strstr(target.sentence, words))
    fail_msg("\"%s\" does not say \"%s\"", target.sentence, words);
  if (!words)
    assert_null(target.sentence);
  tide_target_done(&target);
}

static const char *const PLAIN[] = {"main", "?malloc", NULL};

static void kinds_of_programs(void **state)
{
  check(&(struct program){.loader = GLIBC, .symbols = PLAIN}, FINE, NULL);
  check(&(struct program){.loader = GLIBC}, FINE, NULL);
  check(&(struct program){.symbols = PLAIN}, TIDE_WHY_STATIC, "statically linked");
  check(&(struct program){.loader = "/lib/ld-musl-x86_64.so.1"}, TIDE_WHY_MUSL, "musl");
  check(&(struct program){.loader = "/system/bin/linker64"}, TIDE_WHY_OTHER_LOADER,
        "/system/bin/linker64");
  check(&(struct program){.loader = GLIBC, .class = ELFCLASS32}, TIDE_WHY_BITS_32, "32-bit");
  check(&(struct program){.loader = GLIBC, .machine = EM_RISCV}, TIDE_WHY_OTHER_MACHINE,
        "another processor");
}

static void allocators_are_named(void **state)
{
  static const struct {
    const char *symbol, *name;
  } known[] = {
      {"_rjem_malloc", "jemalloc"},          {"je_mallocx", "jemalloc"},
      {"mi_malloc_small", "mimalloc"},       {"tc_malloc", "tcmalloc"},
      {"__tsan_init", "ThreadSanitizer"},    {"TCMallocInternalMalloc", "tcmalloc"},
      {"malloc", "an allocator of its own"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    check(&(struct program){.loader = GLIBC,
                            .symbols = (const char *[]){"main", known[i].symbol, "malloc", NULL}},
          TIDE_WHY_OWN_ALLOCATOR, known[i].name);
  // Configuring a shared jemalloc is no allocator linked in. A shared one that is called by names
  // of its own is as little seen by preloads.
  check(&(struct program){.loader = GLIBC, .symbols = (const char *[]){"malloc_conf", NULL}}, FINE,
        NULL);
  check(&(struct program){.loader = GLIBC, .symbols = (const char *[]){"?mi_malloc", NULL}},
        TIDE_WHY_OWN_ALLOCATOR, "mimalloc");
  check(&(struct program){.loader = GLIBC, .rodata = "...<jemalloc>: Error"},
        TIDE_WHY_OWN_ALLOCATOR, "jemalloc");
}

// Wherever it stands in the file, and nothing that only looks like it.
static int why_in_place(const char *const symbols[])
{
  struct image image = make(&(struct program){.loader = GLIBC, .symbols = symbols});
  int fd = open("in-place", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  assert_int_equal(write(fd, image.bytes, image.n), (ssize_t)image.n);
  close(fd);
  struct tide_target target;
  tide_target_check("./in-place", &target);
  int why = why_of(&target);
  tide_target_done(&target);
  return why;
}

// The same file, as large as before, at about the same time. What has not changed is told again.
static void what_is_remembered_of_a_file_is_not_out_of_date(void **state)
{
  (void)state;
  static const char *const other[] = {"mi_mallox", NULL}, *const own[] = {"mi_malloc", NULL};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(why_in_place(other), FINE);
    assert_int_equal(why_in_place(own), TIDE_WHY_OWN_ALLOCATOR);
  }
  for (int i = 0; i < 3; i++) {
    struct tide_target target;
    tide_target_check("/bin/sh", &target);
    assert_int_equal(why_of(&target), FINE);
    tide_target_done(&target);
    assert_int_equal(why_in_place(i % 2 ? other : own), i % 2 ? FINE : TIDE_WHY_OWN_ALLOCATOR);
  }
}

static void messages_are_found_everywhere(void **state)
{
  static const char *const messages[][2] = {
      {"<jemalloc>: ", "jemalloc"}, {"mimalloc: ", "mimalloc"}, {"tcmalloc: ", "tcmalloc"}};
  enum { BYTES = 200 };
  for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
    for (size_t at = 0; at + strlen(messages[i][0]) <= BYTES; at++) {
      char text[BYTES + 1];
      memset(text, 'c', BYTES);
      text[BYTES] = 0;
      memcpy(text + at, messages[i][0], strlen(messages[i][0]));
      check(&(struct program){.loader = GLIBC, .rodata = text}, TIDE_WHY_OWN_ALLOCATOR,
            messages[i][1]);
      text[at] = '-';
      check(&(struct program){.loader = GLIBC, .rodata = text}, FINE, NULL);
    }
}

static void sanitizers_run_without_us(void **state)
{
  struct program p = {.loader = GLIBC, .symbols = PLAIN, .needed = "libasan.so.8"};
  check(&p, TIDE_WHY_SANITIZER, "AddressSanitizer");
  struct tide_target target;
  tide_target_check("./program", &target);
  assert_false(target.preload);
  tide_target_done(&target);
}

static void scripts_are_followed(void **state)
{
  struct image image = make(&(struct program){.symbols = PLAIN});
  write_file("program", image.bytes, image.n);
  char script[512];
  int n = snprintf(script, sizeof script, "#! %s/program -x\n", directory);
  write_file("script", script, (size_t)n);
  write_file("loop", "#!./loop\n", 9);
  struct tide_target target;
  tide_target_check("./script", &target);
  assert_int_equal(why_of(&target), TIDE_WHY_STATIC);
  assert_true(target.preload); // what it starts can be recorded
  tide_target_done(&target);
  tide_target_check("./loop", &target);
  assert_int_equal(why_of(&target), FINE); // the kernel will complain
  tide_target_done(&target);
}

static void commands_are_found_as_exec_finds_them(void **state)
{
  struct tide_target target;
  char path[2 * sizeof directory + 32], *old_path = strdup(getenv("PATH"));
  struct image image = make(&(struct program){.symbols = PLAIN});
  mkdir("bin", 0755);
  write_file("bin/prog", image.bytes, image.n);
  mkdir("first", 0755);
  write_file("first/prog", "x", 1);
  chmod("first/prog", 0644); // not executable: passed over
  snprintf(path, sizeof path, "/nowhere:%s/first:%s/bin", directory, directory);
  setenv("PATH", path, 1);
  tide_target_check("prog", &target);
  assert_non_null(strstr(target.path, "/bin/prog"));
  assert_int_equal(why_of(&target), TIDE_WHY_STATIC);
  tide_target_done(&target);
  tide_target_check("not-there", &target);
  assert_null(target.path);
  assert_int_equal(why_of(&target), FINE);
  tide_target_done(&target);
  tide_target_check("", &target);
  assert_null(target.path);
  tide_target_done(&target);
  setenv("PATH", old_path, 1);
  free(old_path);
}

static void a_setuid_program_of_somebody_else(void **state)
{
  struct image image = make(&(struct program){.loader = GLIBC, .symbols = PLAIN});
  write_file("program", image.bytes, image.n);
  if (chown("program", 12345, (gid_t)-1) || chmod("program", 04755))
    skip(); // only root can make one
  struct tide_target target;
  tide_target_check("./program", &target);
  assert_int_equal(why_of(&target), TIDE_WHY_PRIVILEGED);
  assert_false(target.preload);
  tide_target_done(&target);
  assert_int_equal(chown("program", 0, (gid_t)-1) || chmod("program", 04755), 0);
  tide_target_check("./program", &target); // root gains nothing by becoming root
  assert_int_equal(why_of(&target), FINE);
  tide_target_done(&target);
}

// What the recorder and the command both judge by, whoever runs this test.
static void who_gains_by_a_program(void **state)
{
  enum { ROOT = 0, SHE = 1000, HE = 1001 };
  static const struct {
    mode_t mode;
    uint32_t owner, group;
    bool has_capabilities;
    struct tide_credentials c;
    bool gains;
  } CASES[] = {
      {0755, ROOT, ROOT, false, {SHE, SHE, SHE, SHE}, false},
      {04755, ROOT, ROOT, false, {SHE, SHE, SHE, SHE}, true},
      {04755, SHE, SHE, false, {SHE, SHE, SHE, SHE}, false},
      {04755, ROOT, ROOT, false, {ROOT, ROOT, ROOT, ROOT}, false},
      {04755, SHE, SHE, false, {ROOT, ROOT, ROOT, ROOT}, true},
      {04755, HE, SHE, false, {SHE, HE, SHE, SHE}, true}, // it is him in effect alone
      {02755, SHE, HE, false, {SHE, SHE, SHE, SHE}, true},
      {02755, SHE, SHE, false, {SHE, SHE, SHE, SHE}, false},
      {02755, SHE, HE, false, {SHE, SHE, SHE, HE}, true},
      {02745, SHE, HE, false, {SHE, SHE, SHE, SHE}, false}, // no setgid: not for its group
      {0755, ROOT, ROOT, true, {SHE, SHE, SHE, SHE}, true},
      {0755, ROOT, ROOT, true, {ROOT, ROOT, ROOT, ROOT}, false},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct stat file = {
        .st_mode = CASES[i].mode, .st_uid = CASES[i].owner, .st_gid = CASES[i].group};
    if (tide_program_gains(&file, CASES[i].has_capabilities, CASES[i].c) != CASES[i].gains)
      fail_msg("case %zu: gains is not %d", i, CASES[i].gains);
  }
}

static void sanitizers_are_known_by_their_libraries(void **state)
{
  assert_string_equal(tide_sanitizer_of("libasan.so.8"), "AddressSanitizer");
  assert_string_equal(tide_sanitizer_of("libclang_rt.tsan-x86_64.so"), "ThreadSanitizer");
  assert_string_equal(tide_sanitizer_of("liblsan.so.0"), "LeakSanitizer");
  assert_null(tide_sanitizer_of("libc.so.6"));
  assert_null(tide_sanitizer_of("libasan"));
  assert_null(tide_sanitizer_of(""));
  assert_null(tide_sanitizer_of("/lib/libasan.so.8")); // no name that a program asks for
  assert_string_equal(tide_sanitizer_in("/x/liba.so:/lib/libhwasan.so.0"), "HWAddressSanitizer");
  assert_string_equal(tide_sanitizer_in("libtsan.so.2 other.so"), "ThreadSanitizer");
  assert_null(tide_sanitizer_in("/x/liba.so:/lib/libubsan.so.1"));
  assert_null(tide_sanitizer_in(""));
  assert_null(tide_sanitizer_in(NULL));
}

// Any byte of the headers may be wrong, and the file may end anywhere.
static void damaged_files_do_no_harm(void **state)
{
  struct image good = make(&(struct program){.loader = GLIBC, .symbols = PLAIN, .rodata = "x"});
  struct tide_target target;
  for (size_t i = 0; i < good.n; i++) {
    struct image bad = good;
    bad.bytes[i] ^= 0xff;
    write_file("program", bad.bytes, i % 2 ? bad.n : i);
    tide_target_check("./program", &target);
    tide_target_done(&target);
  }
}

UNIT_TESTS(target_check_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_of_programs),
      cmocka_unit_test(allocators_are_named),
      cmocka_unit_test(what_is_remembered_of_a_file_is_not_out_of_date),
      cmocka_unit_test(messages_are_found_everywhere),
      cmocka_unit_test(sanitizers_run_without_us),
      cmocka_unit_test(scripts_are_followed),
      cmocka_unit_test(a_setuid_program_of_somebody_else),
      cmocka_unit_test(who_gains_by_a_program),
      cmocka_unit_test(sanitizers_are_known_by_their_libraries),
      cmocka_unit_test(damaged_files_do_no_harm),
      cmocka_unit_test(commands_are_found_as_exec_finds_them),
  };
  return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
