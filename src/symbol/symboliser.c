// SPDX-License-Identifier: Apache-2.0
//
// The table of modules, and the answers given so far. A module is opened by the first question
// about it. Names and lines come from its DWARF; what that does not know comes from the symbol
// table. Answers are kept per (module, address): a heap profile asks for the same few thousand
// addresses again and again, once for each stack they stand in.
#define _GNU_SOURCE
#include "symbol/symbol.h"

#include "base/alloc.h"
#include "symbol/advice.h"
#include "symbol/module.h"
#include "symbol/names.h"

#include <stdlib.h>
#include <string.h>

struct answer {
  uint32_t module; // index + 1; 0 marks a free slot
  uint32_t n_frames;
  uint64_t addr;
  size_t first_frame;
};

struct tide_symboliser {
  struct tide_symbol_sources sources;
  struct tide_debuginfod *servers;     // NULL: not to be asked
  struct tide_symbol_module **modules; // each stays where it is: objects are handed out
  size_t n_modules, modules_cap;
  struct answer *answers; // open addressing
  size_t n_answers, answers_cap;
  struct tide_symbol_frame *frames; // of all answers
  size_t n_frames, frames_cap;
  struct tide_names names;
};

struct tide_symboliser *tide_symboliser_new(void)
{
  return tide_alloc(sizeof(struct tide_symboliser));
}

void tide_symboliser_set_sources(struct tide_symboliser *s,
                                 const struct tide_symbol_sources *sources)
{
  s->sources = sources ? *sources : (struct tide_symbol_sources){0};
  tide_debuginfod_free(s->servers);
  s->servers = s->sources.download ? tide_debuginfod_new(s->sources.watch) : NULL;
}

void tide_symboliser_free(struct tide_symboliser *s)
{
  if (!s)
    return;
  for (size_t i = 0; i < s->n_modules; i++)
    tide_symbol_module_free(s->modules[i]);
  tide_debuginfod_free(s->servers);
  free(s->modules);
  free(s->answers);
  free(s->frames);
  tide_names_done(&s->names);
  free(s);
}

uint32_t tide_symboliser_add(struct tide_symboliser *s, const char *path, const uint8_t *build_id,
                             uint32_t build_id_len)
{
  TIDE_GROW(s->modules, s->n_modules, s->modules_cap);
  s->modules[s->n_modules] = tide_symbol_module_new(path, build_id, build_id_len);
  return (uint32_t)s->n_modules++;
}

static struct tide_symbol_module *module_at(struct tide_symboliser *s, uint32_t module)
{
  if (module >= s->n_modules)
    return NULL;
  tide_symbol_module_settle(s->modules[module], &s->sources, s->servers);
  return s->modules[module];
}

const struct tide_symbol_object *tide_symboliser_object(struct tide_symboliser *s, uint32_t module)
{
  struct tide_symbol_module *m = module_at(s, module);
  return m ? &m->object : NULL;
}

static bool is_mangled(const char *name)
{
  return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

// DWARF knows C++ functions of internal linkage by their short name alone ("push"); the symbol
// table has the mangled one. out has room for TIDE_INLINE_DEPTH_MAX + 1 frames.
static size_t resolve(struct tide_symboliser *s, struct tide_symbol_module *m, uint64_t addr,
                      struct tide_symbol_frame *out)
{
  if (!m->elf)
    return 0;
  bool has_whole_name = false;
  struct tide_dwarf *dwarf = tide_symbol_module_dwarf(m, &s->sources, s->servers, &s->names);
  size_t n = 0;
  if (dwarf) {
    n = tide_dwarf_lookup(dwarf, addr, out, &has_whole_name);
    tide_advise_missing_part(m);
    if (tide_dwarf_missing(dwarf))
      m->object.inputs = 0;
  }
  if (has_whole_name)
    return n;
  struct tide_elf *from = m->debug && m->debug->has_symtab ? m->debug : m->elf;
  const char *symbol = tide_elf_function(from, addr);
  if (!symbol)
    return n;
  if (n == 0)
    out[n++] = (struct tide_symbol_frame){0};
  if (!out[n - 1].function || is_mangled(symbol))
    out[n - 1].function = tide_names_get(&s->names, symbol);
  return n;
}

static struct answer *answer_slot(struct answer *answers, size_t cap, uint32_t key, uint64_t addr)
{
  uint64_t h = (addr ^ (uint64_t)key << 40) * 0x9e3779b97f4a7c15u;
  for (size_t i = (size_t)(h >> 32);; i++) {
    struct answer *a = &answers[i & (cap - 1)];
    if (a->module == 0 || (a->module == key && a->addr == addr))
      return a;
  }
}

static void grow_answers(struct tide_symboliser *s)
{
  size_t cap = s->answers_cap ? s->answers_cap * 2 : 1024;
  struct answer *bigger = tide_alloc_array(cap, sizeof *bigger);
  for (size_t i = 0; i < s->answers_cap; i++)
    if (s->answers[i].module)
      *answer_slot(bigger, cap, s->answers[i].module, s->answers[i].addr) = s->answers[i];
  free(s->answers);
  s->answers = bigger;
  s->answers_cap = cap;
}

static const struct answer *answer(struct tide_symboliser *s, uint32_t module, uint64_t addr)
{
  if (s->n_answers * 2 >= s->answers_cap)
    grow_answers(s);
  struct answer *a = answer_slot(s->answers, s->answers_cap, module + 1, addr);
  if (a->module)
    return a;
  struct tide_symbol_frame frames[TIDE_INLINE_DEPTH_MAX + 1];
  size_t n = resolve(s, module_at(s, module), addr, frames);
  *a = (struct answer){module + 1, (uint32_t)n, addr, s->n_frames};
  s->n_answers++;
  for (size_t i = 0; i < n; i++) {
    TIDE_GROW(s->frames, s->n_frames, s->frames_cap);
    s->frames[s->n_frames++] = frames[i];
  }
  return a;
}

size_t tide_symboliser_lookup(struct tide_symboliser *s, uint32_t module, uint64_t addr,
                              struct tide_symbol_frame *out, size_t max)
{
  if (module >= s->n_modules || max == 0)
    return 0;
  const struct answer *a = answer(s, module, addr);
  size_t n = a->n_frames < max ? a->n_frames : max;
  if (n == 0)
    return 0;
  const struct tide_symbol_frame *frames = s->frames + a->first_frame;
  memcpy(out, frames, (n - 1) * sizeof *out);
  out[n - 1] = frames[a->n_frames - 1];
  return n;
}
