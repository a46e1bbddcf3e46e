// SPDX-License-Identifier: Apache-2.0
//
// One look-up per distinct (module, address, flags), found again through a small open-addressing
// table; a node remembers its answer, so walking a stack twice costs array reads.
#include "format/naming.h"

#include "base/alloc.h"
#include "format/runtime_frames.h"

#include <stdlib.h>
#include <string.h>

enum { INLINE_MAX = 64 };

struct chain { // the frames of one address
  struct tide_named_frame *frames;
  size_t n;
};

struct tide_naming {
  const struct tide_image *image;
  struct tide_name_source source;
  struct tide_symboliser *symboliser; // owned; NULL with another source
  uint32_t *ids;                      // module index -> the symboliser's id + 1; 0: not announced
  struct chain *chains;
  size_t n_chains, cap_chains;
  uint32_t *of_node; // node -> chain + 1
  uint32_t *table;   // hash -> chain + 1
  size_t table_n;    // a power of two
};

static uint32_t announce(struct tide_naming *naming, uint32_t module)
{
  if (!naming->ids[module]) {
    const struct tide_module *m = &naming->image->modules[module];
    uint32_t id = tide_symboliser_add(naming->symboliser, m->path, m->build_id, m->build_id_len);
    naming->ids[module] = id + 1;
  }
  return naming->ids[module] - 1;
}

static size_t symboliser_lookup(void *context, uint32_t module, uint64_t addr,
                                struct tide_symbol_frame *out, size_t max)
{
  struct tide_naming *naming = context;
  return tide_symboliser_lookup(naming->symboliser, announce(naming, module), addr, out, max);
}

static const struct tide_symbol_object *symboliser_object(void *context, uint32_t module)
{
  struct tide_naming *naming = context;
  return tide_symboliser_object(naming->symboliser, announce(naming, module));
}

struct tide_naming *tide_naming_new_from(const struct tide_image *image,
                                         const struct tide_name_source *source)
{
  struct tide_naming *naming = tide_alloc(sizeof *naming);
  naming->image = image;
  naming->source = *source;
  naming->ids = tide_alloc_array(image->n_modules, sizeof *naming->ids);
  naming->of_node = tide_alloc_array(image->n_frames, sizeof *naming->of_node);
  naming->table_n = 256;
  naming->table = tide_alloc_array(naming->table_n, sizeof *naming->table);
  return naming;
}

struct tide_naming *tide_naming_new(const struct tide_image *image)
{
  struct tide_name_source source = {.lookup = symboliser_lookup, .object = symboliser_object};
  struct tide_naming *naming = tide_naming_new_from(image, &source);
  naming->source.context = naming;
  naming->symboliser = tide_symboliser_new();
  return naming;
}

void tide_naming_free(struct tide_naming *naming)
{
  if (!naming)
    return;
  for (size_t i = 0; i < naming->n_chains; i++)
    free(naming->chains[i].frames);
  tide_symboliser_free(naming->symboliser);
  free(naming->ids);
  free(naming->chains);
  free(naming->of_node);
  free(naming->table);
  free(naming);
}

static size_t slot_of(const struct tide_naming *naming, const struct tide_named_frame *key)
{
  uint64_t mixed = (key->pc ^ (uint64_t)key->module << 48 ^ (uint64_t)key->flags << 40);
  mixed *= 0x9e3779b97f4a7c15ull;
  for (size_t slot = (size_t)(mixed >> 32);; slot++) {
    slot &= naming->table_n - 1;
    uint32_t id = naming->table[slot];
    if (!id)
      return slot;
    const struct tide_named_frame *held = naming->chains[id - 1].frames;
    if (held->pc == key->pc && held->module == key->module && held->flags == key->flags)
      return slot;
  }
}

static void grow_table(struct tide_naming *naming)
{
  if (naming->n_chains * 2 < naming->table_n)
    return;
  free(naming->table);
  naming->table_n *= 4;
  naming->table = tide_alloc_array(naming->table_n, sizeof *naming->table);
  for (size_t i = 0; i < naming->n_chains; i++)
    naming->table[slot_of(naming, naming->chains[i].frames)] = (uint32_t)i + 1;
}

static void look_up(struct tide_naming *naming, const struct tide_named_frame *key,
                    struct chain *chain)
{
  const uint16_t no_frame = TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST;
  struct tide_symbol_frame found[INLINE_MAX];
  size_t n = 0;
  if (key->module && !(key->flags & no_frame)) {
    uint64_t pc = key->flags & TIDE_FRAME_IS_EXACT ? key->pc : key->pc - 1;
    uint64_t addr = pc - naming->image->modules[key->module].bias;
    n = naming->source.lookup(naming->source.context, key->module, addr, found, INLINE_MAX);
  }
  chain->n = n ? n : 1;
  chain->frames = tide_alloc_array(chain->n, sizeof *chain->frames);
  chain->frames[0] = *key;
  for (size_t i = 0; i < n; i++) {
    chain->frames[i] = *key;
    chain->frames[i].function = found[i].function;
    chain->frames[i].file = found[i].file;
    chain->frames[i].line = found[i].line;
    chain->frames[i].inlined = found[i].inlined;
  }
}

const struct tide_named_frame *tide_naming_of_node(struct tide_naming *naming, uint32_t node,
                                                   size_t *ret_n)
{
  if (!naming->of_node[node]) {
    const struct tide_frame *frame = &naming->image->frames[node];
    struct tide_named_frame key = {.pc = frame->pc, .module = frame->module, .flags = frame->flags};
    size_t slot = slot_of(naming, &key);
    if (!naming->table[slot]) {
      TIDE_GROW(naming->chains, naming->n_chains, naming->cap_chains);
      look_up(naming, &key, &naming->chains[naming->n_chains++]);
      naming->table[slot] = (uint32_t)naming->n_chains;
    }
    naming->of_node[node] = naming->table[slot];
    grow_table(naming);
  }
  const struct chain *chain = &naming->chains[naming->of_node[node] - 1];
  *ret_n = chain->n;
  return chain->frames;
}

const char *tide_naming_module(const struct tide_naming *naming,
                               const struct tide_named_frame *name)
{
  const char *path = naming->image->modules[name->module].path;
  if (!path || !*path)
    return "?";
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

uint64_t tide_naming_elf_address(const struct tide_naming *naming,
                                 const struct tide_named_frame *frame)
{
  return frame->pc - naming->image->modules[frame->module].bias;
}

// Of frames that are all runtime: the innermost behind the allocator's entry, or a named one of the
// same module further out. "call_init in ld.so" would be true of everything before main.
static bool is_better_fallback(const struct tide_naming *naming,
                               const struct tide_named_frame *held,
                               const struct tide_named_frame *offered)
{
  if (tide_frame_is_allocator(held->function, tide_naming_module(naming, held)))
    return true;
  return !held->function && offered->function && offered->module == held->module;
}

struct tide_named_frame tide_naming_culprit(struct tide_naming *naming, uint32_t stack)
{
  struct tide_named_frame fallback = {0};
  bool has_fallback = false;
  for (uint32_t node = stack; node; node = naming->image->frames[node].parent) {
    uint16_t flags = naming->image->frames[node].flags;
    if (flags & (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST))
      continue;
    size_t n;
    const struct tide_named_frame *frames = tide_naming_of_node(naming, node, &n);
    for (size_t i = 0; i < n; i++) {
      const struct tide_named_frame *f = &frames[i];
      if (!tide_frame_is_runtime(f->function, f->file, tide_naming_module(naming, f)))
        return *f;
      if (!has_fallback || is_better_fallback(naming, &fallback, f))
        fallback = *f;
      has_fallback = true;
    }
  }
  return fallback;
}

const char *tide_naming_note(struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (!frame->module || !naming->source.object)
    return NULL;
  const struct tide_symbol_object *object =
      naming->source.object(naming->source.context, frame->module);
  return object && object->note[0] ? object->note : NULL;
}
