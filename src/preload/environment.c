// SPDX-License-Identifier: Apache-2.0
//
// The initial stack holds argc, argv, NULL, envp, NULL and the auxiliary vector.
#include "preload/environment.h"

#include "rt/sys.h"
#include "rt/text.h"
#include "store/weight.h"

#include <elf.h>
#include <fcntl.h>

extern void *__libc_stack_end; // the loader's; points at argc

void tide_environment_read(struct tide_environment *ret_environment)
{
  const uint64_t *p = __libc_stack_end;
  struct tide_environment e = {
      .argc = *p, .options = "", .preload = "", .stack_origin = (uint64_t)p};
  e.argv = (const char *const *)(p + 1);
  const char *const *env = e.argv + e.argc + 1;
  for (; *env; env++) {
    if (tide_text_starts(*env, "TIDEMARK_OPTIONS="))
      e.options = *env + sizeof "TIDEMARK_OPTIONS=" - 1;
    else if (tide_text_starts(*env, "LD_PRELOAD="))
      e.preload = *env + sizeof "LD_PRELOAD=" - 1;
  }
  const Elf64_auxv_t *aux = (const Elf64_auxv_t *)(env + 1);
  uint64_t execfn = 0;
  for (; aux->a_type != AT_NULL; aux++) {
    if (aux->a_type == AT_SYSINFO_EHDR)
      e.vdso = aux->a_un.a_val;
    else if (aux->a_type == AT_PHDR)
      e.headers = aux->a_un.a_val;
    else if (aux->a_type == AT_PHNUM)
      e.n_headers = aux->a_un.a_val;
    else if (aux->a_type == AT_BASE)
      e.loader = aux->a_un.a_val;
    else if (aux->a_type == AT_PAGESZ)
      tide_sys_page_bytes = aux->a_un.a_val;
    else if (aux->a_type == AT_EXECFN) // a string near the very top of the stack
      execfn = aux->a_un.a_val;
  }
  uint64_t top = (uint64_t)(aux + 1);
  e.stack_top = ((execfn > top ? execfn : top) + 4096) & ~4095ull;
  *ret_environment = e;
}

static void copy_text(char *to, size_t cap, const char *from, size_t n)
{
  struct tide_line line = {to, 0, cap};
  tide_line_add_n(&line, from, n);
}

static bool is_key(const char *at, size_t n, const char *key)
{
  return tide_text_len(key) == n && tide_text_starts(at, key);
}

// Bytes, kilobytes ("512K", "512KiB"), megabytes or "on".
static uint32_t sample_bits_of(const char *value)
{
  bool ok;
  uint64_t bytes = tide_text_number(value, &ok);
  while (*value >= '0' && *value <= '9')
    value++;
  if (!ok)
    return tide_text_starts(value, "on") ? TIDE_SAMPLE_USUAL_BITS : 0;
  return tide_weight_bits(bytes << (*value == 'K' ? 10 : *value == 'M' ? 20 : 0));
}

static void take_option(struct tide_options *o, const char *key, size_t key_n, const char *value,
                        size_t value_n)
{
  bool ok;
  if (is_key(key, key_n, "socket"))
    copy_text(o->door, sizeof o->door, value, value_n);
  else if (is_key(key, key_n, "out"))
    copy_text(o->output, sizeof o->output, value, value_n);
  else if (is_key(key, key_n, "depth"))
    o->depth = (uint32_t)tide_text_number(value, &ok);
  else if (is_key(key, key_n, "sample"))
    o->sample_bits = sample_bits_of(value);
  else if (is_key(key, key_n, "seed"))
    o->sample_seed = tide_text_number(value, &ok);
  else if (is_key(key, key_n, "filters"))
    o->filters = (uint32_t)tide_text_number(value, &ok);
  else if (is_key(key, key_n, "paused"))
    o->paused = !(value_n == 1 && value[0] == '0');
  else if (is_key(key, key_n, "follow"))
    o->follow = !(value_n == 1 && value[0] == '0');
  else if (!o->unknown[0])
    copy_text(o->unknown, sizeof o->unknown, key, key_n);
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
      take_option(&o, text, eq, eq < n ? text + eq + 1 : text + n, eq < n ? n - eq - 1 : 0);
    text += n + (text[n] == ',');
  }
  if (o.depth == 1)
    o.depth = 2; // one frame for each end
  *ret_options = o;
}

// Filters that were there before us, as /proc tells. Containers put one on all that they run, and
// whoever records there is under it as well: only a filter more than that is a reason to keep
// still.
enum { STATUS_BYTES = 4096 };

static bool read_status(const char *path, char *text)
{
  long fd = TIDE_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (tide_sys_failed(fd))
    return false;
  long n = TIDE_SYS(SYS_read, fd, text, STATUS_BYTES - 1);
  TIDE_SYS(SYS_close, fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

static uint32_t number_of(const char *status, const char *key)
{
  const char *at = tide_text_find(status, key);
  bool ok;
  return at ? (uint32_t)tide_text_number(at + tide_text_len(key), &ok) : 0;
}

// Kernels before 5.9 count none: there, one is as good as several. Both lines are near the end of a
// text that every process reads when it starts, so it is searched once.
static uint32_t filters_in(const char *status)
{
  const char *mode = tide_text_find(status, "\nSeccomp:\t");
  if (!mode || !number_of(mode, "\nSeccomp:\t"))
    return 0;
  uint32_t n = number_of(mode, "\nSeccomp_filters:\t");
  return n ? n : 1;
}

// The fewest that any ancestor is under, as far as they can be seen: in a container all are under
// the same ones, and the parent of the first process has the number 0.
static uint32_t fewest_filters(char *status, uint32_t fewest)
{
  enum { MAX_ANCESTORS = 256 };
  for (int i = 0; i < MAX_ANCESTORS; i++) {
    char path[64];
    struct tide_line line = TIDE_LINE(path);
    uint32_t parent = number_of(status, "\nPPid:\t");
    tide_line_add(&line, "/proc/");
    tide_line_number(&line, parent);
    tide_line_add(&line, "/status");
    if (!parent || !read_status(path, status))
      break;
    uint32_t n = filters_in(status);
    fewest = n < fewest ? n : fewest;
  }
  return fewest;
}

bool tide_sandbox_inherited(uint32_t run_filters)
{
  char status[STATUS_BYTES];
  if (!read_status("/proc/self/status", status))
    return false;
  uint32_t own = filters_in(status);
  if (!own)
    return false;
  tide_sys_filtered_at_start = true;
  uint32_t usual = run_filters != UINT32_MAX ? run_filters : fewest_filters(status, own);
  return own > usual;
}
