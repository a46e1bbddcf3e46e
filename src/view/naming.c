// SPDX-License-Identifier: Apache-2.0
//
// Names stored in the capture come first; only what they lack is asked of the source.
// One look-up per distinct (module, address, flags), found again through a small open-addressing
// table; a node remembers its answer, so walking a stack twice costs array reads.
#include "view/naming.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "model/stored_names.h"
#include "view/resolver.h"

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
  const struct tide_rules *rules; // not owned; NULL: the built-in ones
  struct tide_resolver *resolver; // NULL with another source
  bool owns_resolver;
  uint32_t *ids; // module index -> the resolver's id + 1; 0: not announced
  struct chain *chains;
  size_t n_chains, cap_chains;
  uint32_t *of_node; // node -> chain + 1
  uint32_t *table;   // hash -> chain + 1
  size_t table_n;    // a power of two
  struct tide_told_names told;
  size_t n_left; // look-ups the culprit may still make
  enum tide_blamed blamed;
  struct tide_wrapper *wrappers;
  size_t n_wrappers, cap_wrappers;
  char **made; // names of ours
  size_t n_made, cap_made;
  // By function, file and module, as they lie in memory: what their layer is. Addresses are many
  // more than what they are called.
  struct tide_intern judged;
  enum tide_layer *layers;
  size_t cap_layers;
  uint8_t *in_library; // module index -> 1: no, 2: all its code is a library's; 0: not asked
  uint8_t *noted;      // node -> enum noted; NULL: nothing noted
};

static uint32_t announce_module(struct tide_naming *naming, uint32_t module)
{
  if (!naming->ids[module]) {
    const struct tide_module *m = &naming->image->modules[module];
    uint32_t id = tide_resolver_add(naming->resolver, m->path, m->build_id, m->build_id_len);
    naming->ids[module] = id + 1;
  }
  return naming->ids[module] - 1;
}

static size_t resolver_lookup(void *context, uint32_t module, uint64_t addr,
                              struct tide_symbol_frame *out, size_t max)
{
  struct tide_naming *naming = context;
  return tide_resolver_lookup(naming->resolver, announce_module(naming, module), addr, out, max);
}

static const struct tide_symbol_object *resolver_object(void *context, uint32_t module)
{
  struct tide_naming *naming = context;
  return tide_resolver_object(naming->resolver, announce_module(naming, module));
}

struct tide_naming *tide_naming_new_from(const struct tide_image *image,
                                         const struct tide_name_source *source)
{
  struct tide_naming *naming = tide_alloc(sizeof *naming);
  naming->image = image;
  naming->source = *source;
  naming->ids = tide_alloc_array(image->n_modules, sizeof *naming->ids);
  naming->of_node = tide_alloc_array(image->n_frames, sizeof *naming->of_node);
  naming->n_left = SIZE_MAX;
  naming->in_library = tide_alloc_array(image->n_modules, sizeof *naming->in_library);
  naming->table_n = 256;
  naming->table = tide_alloc_array(naming->table_n, sizeof *naming->table);
  return naming;
}

struct tide_naming *tide_naming_new_with(const struct tide_image *image,
                                         struct tide_resolver *resolver)
{
  struct tide_name_source source = {.lookup = resolver_lookup, .object = resolver_object};
  struct tide_naming *naming = tide_naming_new_from(image, &source);
  naming->source.context = naming;
  naming->resolver = resolver;
  return naming;
}

struct tide_naming *tide_naming_new(const struct tide_image *image,
                                    struct tide_resolver *own_resolver)
{
  struct tide_naming *naming = tide_naming_new_with(image, own_resolver);
  naming->owns_resolver = true;
  return naming;
}

void tide_naming_set_rules(struct tide_naming *naming, const struct tide_rules *rules)
{
  naming->rules = rules;
}

void tide_naming_set_blame(struct tide_naming *naming, enum tide_blamed blamed)
{
  naming->blamed = blamed;
}

enum tide_blamed tide_naming_blamed(const struct tide_naming *naming)
{
  return naming->blamed;
}

const struct tide_image *tide_naming_image(const struct tide_naming *naming)
{
  return naming->image;
}

// Asked of every frame of a stack, and modules are few.
bool tide_naming_is_in_library(struct tide_naming *naming, uint32_t node)
{
  uint32_t module = naming->image->frames[node].module;
  uint8_t *known = &naming->in_library[module];
  if (!*known) {
    const char *path = naming->image->modules[module].path;
    *known = 1 + (path && tide_rules_module_is_library(naming->rules, path));
  }
  return *known == 2;
}

// Of a node, as the end of a stack.
enum noted {
  HAS_NO_OWN = 1, // no frame of it is of own code
  IS_TOLD = 2,    // whoever stands beside its culprit has been looked up
};

static uint8_t *notes_of(struct tide_naming *naming)
{
  if (!naming->noted)
    naming->noted = tide_alloc_array(naming->image->n_frames, sizeof *naming->noted);
  return naming->noted;
}

// With every stack that it is the end of.
void tide_naming_note_no_own(struct tide_naming *naming, uint32_t stack)
{
  uint8_t *noted = notes_of(naming);
  for (uint32_t node = stack; node && !(noted[node] & HAS_NO_OWN);
       node = naming->image->frames[node].parent)
    noted[node] |= HAS_NO_OWN;
}

bool tide_naming_has_no_own(const struct tide_naming *naming, uint32_t stack)
{
  return naming->noted && naming->noted[stack] & HAS_NO_OWN;
}

void tide_naming_note_told(struct tide_naming *naming, uint32_t stack)
{
  notes_of(naming)[stack] |= IS_TOLD;
}

bool tide_naming_is_told(const struct tide_naming *naming, uint32_t stack)
{
  return naming->noted && naming->noted[stack] & IS_TOLD;
}

// The culprits may be others now.
static void forget_told(struct tide_naming *naming)
{
  for (size_t i = 0; naming->noted && i < naming->image->n_frames; i++)
    naming->noted[i] &= (uint8_t)~IS_TOLD;
}

void tide_naming_free(struct tide_naming *naming)
{
  if (!naming)
    return;
  for (size_t i = 0; i < naming->n_chains; i++)
    free(naming->chains[i].frames);
  if (naming->owns_resolver)
    tide_resolver_free(naming->resolver);
  tide_told_names_done(&naming->told);
  free(naming->ids);
  tide_intern_done(&naming->judged);
  free(naming->layers);
  free(naming->in_library);
  free(naming->noted);
  for (size_t i = 0; i < naming->n_made; i++)
    free(naming->made[i]);
  free(naming->made);
  for (size_t i = 0; i < naming->n_wrappers; i++) {
    free(naming->wrappers[i].function);
    free(naming->wrappers[i].module);
  }
  free(naming->wrappers);
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

static const struct tide_wrapper *find_wrapper(const struct tide_naming *naming,
                                               const char *function, const char *module)
{
  for (size_t i = 0; i < naming->n_wrappers; i++)
    if (strcmp(naming->wrappers[i].function, function) == 0 &&
        strcmp(naming->wrappers[i].module, module) == 0)
      return &naming->wrappers[i];
  return NULL;
}

// What a rule folds stays what it is folded as.
static void fold_wrapper(const struct tide_naming *naming, struct tide_named_frame *frame)
{
  const char *path = tide_naming_module_path(naming, frame);
  if (frame->function && !tide_layer_is_folded(frame->layer) &&
      find_wrapper(naming, frame->function, tide_naming_module(naming, frame)) &&
      !tide_rules_are_about(naming->rules, frame->function, frame->file, path))
    frame->layer = TIDE_LAYER_ALLOCATOR;
}

static void judge_frame(struct tide_naming *naming, struct tide_named_frame *frame)
{
  const char *path = tide_naming_module_path(naming, frame);
  const char *const key[] = {frame->function, frame->file, path};
  size_t n_before = naming->judged.n;
  uint32_t id = tide_intern_add(&naming->judged, key, sizeof key);
  if (naming->judged.n > n_before) {
    TIDE_GROW(naming->layers, n_before, naming->cap_layers);
    naming->layers[id] = tide_rules_judge(naming->rules, frame->function, frame->file, path);
  }
  frame->layer = naming->layers[id];
  if (naming->n_wrappers)
    fold_wrapper(naming, frame);
}

void tide_naming_add_wrapper_named(struct tide_naming *naming, const char *function,
                                   const char *module, size_t n_callers)
{
  if (find_wrapper(naming, function, module))
    return;
  TIDE_GROW(naming->wrappers, naming->n_wrappers, naming->cap_wrappers);
  naming->wrappers[naming->n_wrappers++] =
      (struct tide_wrapper){tide_strdup(function), tide_strdup(module), n_callers};
  for (size_t i = 0; i < naming->n_chains; i++)
    for (size_t k = 0; k < naming->chains[i].n; k++)
      fold_wrapper(naming, &naming->chains[i].frames[k]);
  forget_told(naming);
}

void tide_naming_add_wrapper(struct tide_naming *naming, const struct tide_named_frame *frame,
                             size_t n_callers)
{
  const char *path = tide_naming_module_path(naming, frame);
  if (frame->function && !tide_rules_are_about(naming->rules, frame->function, frame->file, path))
    tide_naming_add_wrapper_named(naming, frame->function, tide_naming_module(naming, frame),
                                  n_callers);
}

const struct tide_wrapper *tide_naming_wrappers(const struct tide_naming *naming, size_t *ret_n)
{
  *ret_n = naming->n_wrappers;
  return naming->wrappers;
}

// A chain of n frames (at least one) that have no names yet.
static void chain_start(struct chain *chain, const struct tide_named_frame *key, size_t n)
{
  chain->n = n ? n : 1;
  chain->frames = tide_alloc_array(chain->n, sizeof *chain->frames);
  for (size_t i = 0; i < chain->n; i++)
    chain->frames[i] = *key;
}

static bool find_stored(struct tide_naming *naming, const struct tide_named_frame *key,
                        uint64_t addr, struct chain *chain)
{
  const struct tide_stored_names *names = &naming->image->names;
  const struct tide_stored_frame *stored;
  size_t n = tide_stored_names_find(names, key->module, addr, &stored);
  if (n == 0)
    return false;
  chain_start(chain, key, n);
  for (size_t i = 0; i < n; i++) {
    chain->frames[i].function = tide_told_names_function(&naming->told, names, stored[i].function);
    chain->frames[i].file = tide_stored_text(names, stored[i].file);
    chain->frames[i].line = stored[i].line;
    chain->frames[i].inlined = stored[i].inlined;
  }
  return true;
}

static void ask_source(const struct tide_naming *naming, const struct tide_named_frame *key,
                       uint64_t addr, struct chain *chain)
{
  struct tide_symbol_frame found[INLINE_MAX];
  size_t n = 0;
  if (key->module)
    n = naming->source.lookup(naming->source.context, key->module, addr, found, INLINE_MAX);
  chain_start(chain, key, n);
  for (size_t i = 0; i < n; i++) {
    chain->frames[i].function = found[i].function;
    chain->frames[i].file = found[i].file;
    chain->frames[i].line = found[i].line;
    chain->frames[i].inlined = found[i].inlined;
  }
}

static bool is_function(const struct tide_named_frame *frame)
{
  return frame->function && frame->function[0] != '{';
}

static bool has_file_of(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  return a->file && b->file && strcmp(a->file, b->file) == 0;
}

// A closure's name says nothing without that of a function. Where debug information leaves out the
// one that it is written in (line tables only), we say into which of the same file it was inlined,
// or else what it all became part of: "{closure#0} in app::main", which need not be the former.
// Judged by its own name before: whose it is, its file says.
static void name_closures(struct tide_naming *naming, struct chain *chain)
{
  for (size_t i = 0; i + 1 < chain->n; i++) {
    struct tide_named_frame *frame = &chain->frames[i];
    if (!frame->function || frame->function[0] != '{')
      continue;
    size_t outer = i + 1;
    while (outer + 1 < chain->n &&
           !(is_function(&chain->frames[outer]) && has_file_of(&chain->frames[outer], frame)))
      outer++;
    if (!is_function(&chain->frames[outer]))
      continue;
    TIDE_GROW(naming->made, naming->n_made, naming->cap_made);
    naming->made[naming->n_made] =
        tide_sprintf("%s in %s", frame->function, chain->frames[outer].function);
    frame->function = naming->made[naming->n_made++];
  }
}

static void look_up(struct tide_naming *naming, const struct tide_named_frame *key,
                    struct chain *chain)
{
  if (key->flags & (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST)) {
    chain_start(chain, key, 1);
    return;
  }
  uint64_t pc = key->flags & TIDE_FRAME_IS_EXACT ? key->pc : key->pc - 1;
  uint64_t addr = pc - naming->image->modules[key->module].bias;
  if (!find_stored(naming, key, addr, chain))
    ask_source(naming, key, addr, chain);
  for (size_t i = 0; i < chain->n; i++)
    judge_frame(naming, &chain->frames[i]);
  name_closures(naming, chain);
}

// The chain of a node; NULL when it would have to be looked up and must not.
static const struct chain *chain_of(struct tide_naming *naming, uint32_t node, bool may_look_up)
{
  if (!naming->of_node[node]) {
    const struct tide_frame *frame = &naming->image->frames[node];
    struct tide_named_frame key = {.pc = frame->pc,
                                   .module = frame->module,
                                   .flags = frame->flags & (uint16_t)~TIDE_FRAME_CALL};
    size_t slot = slot_of(naming, &key);
    if (!naming->table[slot] && !may_look_up)
      return NULL;
    if (!naming->table[slot]) {
      TIDE_GROW(naming->chains, naming->n_chains, naming->cap_chains);
      look_up(naming, &key, &naming->chains[naming->n_chains++]);
      naming->table[slot] = (uint32_t)naming->n_chains;
    }
    naming->of_node[node] = naming->table[slot];
    grow_table(naming);
  }
  return &naming->chains[naming->of_node[node] - 1];
}

const struct tide_named_frame *tide_naming_of_node(struct tide_naming *naming, uint32_t node,
                                                   size_t *ret_n)
{
  const struct chain *chain = chain_of(naming, node, true);
  *ret_n = chain->n;
  return chain->frames;
}

const struct tide_named_frame *tide_naming_try_node(struct tide_naming *naming, uint32_t node,
                                                    size_t *ret_n)
{
  size_t n_before = naming->n_chains;
  const struct chain *chain = chain_of(naming, node, naming->n_left > 0);
  if (!chain)
    return NULL;
  naming->n_left -= naming->n_chains - n_before;
  *ret_n = chain->n;
  return chain->frames;
}

size_t tide_naming_address(struct tide_naming *naming, uint32_t node)
{
  return (size_t)(chain_of(naming, node, true) - naming->chains);
}

size_t tide_naming_addresses(const struct tide_naming *naming)
{
  return naming->n_chains;
}

void tide_naming_limit(struct tide_naming *naming, size_t n)
{
  naming->n_left = n;
}

const char *tide_naming_module_path(const struct tide_naming *naming,
                                    const struct tide_named_frame *name)
{
  const char *path = naming->image->modules[name->module].path;
  return path ? path : "";
}

const char *tide_naming_module(const struct tide_naming *naming,
                               const struct tide_named_frame *name)
{
  const char *path = tide_naming_module_path(naming, name);
  if (!*path)
    return "?";
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

uint64_t tide_naming_elf_address(const struct tide_naming *naming,
                                 const struct tide_named_frame *frame)
{
  return frame->pc - naming->image->modules[frame->module].bias;
}

const char *tide_naming_note(struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (!frame->module || !naming->source.object)
    return NULL;
  const struct tide_symbol_object *object =
      naming->source.object(naming->source.context, frame->module);
  if (!object || (frame->function && !object->opened))
    return NULL; // the name is a stored one: the file's absence is no news
  // Startup code never has lines, and that is nobody's fault.
  bool is_made = object->main_is_made && frame->function && strcmp(frame->function, "main") == 0;
  bool in_part = !frame->file && !tide_layer_is_folded(frame->layer) && !is_made;
  const char *note = object->note[0] || !in_part ? object->note : object->part_note;
  return note[0] ? note : NULL;
}

enum tide_call tide_naming_call(struct tide_naming *naming, uint32_t stack)
{
  static const char word[] = "operator new";
  enum tide_call call = tide_call_of_flags(naming->image->frames[stack].flags);
  if (call != TIDE_CALL_MALLOC && call != TIDE_CALL_ALIGNED)
    return call;
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(naming, stack, &n);
  bool is_new = n && frames[0].function && !strncmp(frames[0].function, word, sizeof word - 1);
  return is_new ? TIDE_CALL_NEW : call;
}
