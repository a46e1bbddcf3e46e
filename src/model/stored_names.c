// SPDX-License-Identifier: Apache-2.0
//
// Stored names: a binary search to read, and a builder that keeps each text once.
//
// The builder appends places as they come and sorts when it is finished. Texts and, for invented
// addresses, whole chains are found again through open-addressing tables that are at most half
// full; a slot holds an index + 1, so zeroed memory is an empty table.
#include "model/stored_names.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

// The first place that is not before the one given.
static size_t place_from(const struct tide_stored_names *names, uint32_t module, uint64_t addr)
{
  struct tide_stored_place key = {.module = module, .addr = addr};
  size_t low = 0, high = names->n_places;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (tide_stored_place_is_before(&names->places[middle], &key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool tide_stored_names_has_module(const struct tide_stored_names *names, uint32_t module)
{
  size_t at = place_from(names, module, 0);
  return at < names->n_places && names->places[at].module == module;
}

size_t tide_stored_names_place(const struct tide_stored_names *names, uint32_t module,
                               uint64_t addr)
{
  size_t at = place_from(names, module, addr);
  if (at >= names->n_places) // there may be none at all
    return SIZE_MAX;
  const struct tide_stored_place *place = &names->places[at];
  return place->module == module && place->addr == addr ? at : SIZE_MAX;
}

size_t tide_stored_names_find(const struct tide_stored_names *names, uint32_t module, uint64_t addr,
                              const struct tide_stored_frame **ret_frames)
{
  size_t at = tide_stored_names_place(names, module, addr);
  if (at == SIZE_MAX)
    return 0;
  const struct tide_stored_place *place = &names->places[at];
  *ret_frames = names->frames + place->first_frame;
  return place->n_frames;
}

void tide_stored_names_done(struct tide_stored_names *names)
{
  free(names->places);
  free(names->frames);
  free(names->text);
  *names = (struct tide_stored_names){0};
}

struct table { // hash -> index + 1
  uint32_t *slots;
  size_t n, cap; // cap is 0 or a power of two
};

struct tide_names_builder {
  struct tide_stored_place *places; // as they came; first_frame in frames below
  size_t n_places, places_cap;
  struct tide_stored_frame *frames;
  size_t n_frames, frames_cap;
  struct tide_buf text;
  struct table texts;   // of offsets in text
  struct table chains;  // of places, for invented addresses
  bool text_is_too_big; // an offset did not fit 32 bits
};

struct tide_names_builder *tide_names_builder_new(void)
{
  return tide_alloc(sizeof(struct tide_names_builder));
}

static void clear(struct tide_names_builder *b)
{
  free(b->places);
  free(b->frames);
  free(b->texts.slots);
  free(b->chains.slots);
  tide_buf_done(&b->text);
  *b = (struct tide_names_builder){0};
}

void tide_names_builder_free(struct tide_names_builder *builder)
{
  if (!builder)
    return;
  clear(builder);
  free(builder);
}

static const char *text_at(const struct tide_names_builder *b, uint32_t offset)
{
  return (const char *)b->text.data + offset;
}

static uint64_t hash_text(const struct tide_names_builder *b, uint32_t offset)
{
  return tide_hash_bytes(0, text_at(b, offset), strlen(text_at(b, offset)));
}

// Field by field: the padding of a frame is nobody's.
static uint64_t hash_chain(const struct tide_names_builder *b, uint32_t place_idx)
{
  const struct tide_stored_place *place = &b->places[place_idx];
  uint64_t h = 0xcbf29ce484222325u ^ place->module;
  for (uint32_t i = 0; i < place->n_frames; i++) {
    const struct tide_stored_frame *f = &b->frames[place->first_frame + i];
    uint32_t fields[] = {f->function, f->file, f->line, f->inlined};
    h = tide_hash_bytes(h, fields, sizeof fields);
  }
  return h;
}

typedef uint64_t hash_function(const struct tide_names_builder *b, uint32_t index);

static size_t free_slot(const struct table *t, uint64_t h)
{
  size_t at = (size_t)(h ^ h >> 29) & (t->cap - 1);
  while (t->slots[at])
    at = (at + 1) & (t->cap - 1);
  return at;
}

// Makes room for one more.
static void table_grow(const struct tide_names_builder *b, struct table *t, hash_function *hash)
{
  if (t->n * 2 < t->cap)
    return;
  struct table bigger = {.n = t->n, .cap = t->cap ? t->cap * 2 : 256};
  bigger.slots = tide_alloc_array(bigger.cap, sizeof *bigger.slots);
  for (size_t i = 0; i < t->cap; i++)
    if (t->slots[i])
      bigger.slots[free_slot(&bigger, hash(b, t->slots[i] - 1))] = t->slots[i];
  free(t->slots);
  *t = bigger;
}

// The offset of a text, stored once.
static uint32_t keep_text(struct tide_names_builder *b, const char *text)
{
  if (!text || !*text)
    return 0;
  if (b->text.n == 0)
    tide_buf_u8(&b->text, 0);
  table_grow(b, &b->texts, hash_text);
  size_t n = strlen(text) + 1;
  uint64_t h = tide_hash_bytes(0, text, n - 1);
  size_t at = (size_t)(h ^ h >> 29) & (b->texts.cap - 1);
  for (; b->texts.slots[at]; at = (at + 1) & (b->texts.cap - 1))
    if (strcmp(text_at(b, b->texts.slots[at] - 1), text) == 0)
      return b->texts.slots[at] - 1;
  if (b->text.n + n >= UINT32_MAX) {
    b->text_is_too_big = true;
    return 0;
  }
  uint32_t offset = (uint32_t)b->text.n;
  tide_buf_append(&b->text, text, n);
  b->texts.slots[at] = offset + 1;
  b->texts.n++;
  return offset;
}

void tide_names_builder_add(struct tide_names_builder *b, uint32_t module, uint64_t addr,
                            const struct tide_names_frame *frames, size_t n)
{
  if (n == 0)
    return;
  TIDE_GROW(b->places, b->n_places, b->places_cap);
  b->places[b->n_places++] = (struct tide_stored_place){
      .addr = addr, .module = module, .n_frames = (uint32_t)n, .first_frame = b->n_frames};
  for (size_t i = 0; i < n; i++) {
    TIDE_GROW(b->frames, b->n_frames, b->frames_cap);
    b->frames[b->n_frames++] = (struct tide_stored_frame){
        .function = keep_text(b, frames[i].function),
        .file = keep_text(b, frames[i].file),
        .line = frames[i].line,
        .inlined = frames[i].inlined,
    };
  }
}

static bool same_chain(const struct tide_names_builder *b, const struct tide_stored_place *left,
                       const struct tide_stored_place *right)
{
  if (left->module != right->module || left->n_frames != right->n_frames)
    return false;
  for (uint32_t i = 0; i < left->n_frames; i++) {
    const struct tide_stored_frame *x = &b->frames[left->first_frame + i];
    const struct tide_stored_frame *y = &b->frames[right->first_frame + i];
    if (x->function != y->function || x->file != y->file || x->line != y->line ||
        x->inlined != y->inlined)
      return false;
  }
  return true;
}

uint64_t tide_names_builder_invent(struct tide_names_builder *b, uint32_t module,
                                   const struct tide_names_frame *frames, size_t n)
{
  tide_names_builder_add(b, module, b->n_places + 1, frames, n);
  struct tide_stored_place *added = &b->places[b->n_places - 1];
  table_grow(b, &b->chains, hash_chain);
  uint64_t h = hash_chain(b, (uint32_t)b->n_places - 1);
  size_t at = (size_t)(h ^ h >> 29) & (b->chains.cap - 1);
  for (; b->chains.slots[at]; at = (at + 1) & (b->chains.cap - 1)) {
    const struct tide_stored_place *held = &b->places[b->chains.slots[at] - 1];
    if (!same_chain(b, held, added))
      continue;
    b->n_frames = added->first_frame; // takes back what was added
    b->n_places--;
    return held->addr;
  }
  b->chains.slots[at] = (uint32_t)b->n_places;
  b->chains.n++;
  return added->addr;
}

void tide_names_builder_add_all(struct tide_names_builder *b, const struct tide_stored_names *names)
{
  struct tide_names_frame *chain = NULL;
  for (size_t i = 0; i < names->n_places; i++) {
    const struct tide_stored_place *place = &names->places[i];
    chain = tide_realloc_array(chain, place->n_frames, sizeof *chain);
    for (uint32_t k = 0; k < place->n_frames; k++) {
      const struct tide_stored_frame *f = &names->frames[place->first_frame + k];
      chain[k] = (struct tide_names_frame){tide_stored_text(names, f->function),
                                           tide_stored_text(names, f->file), f->line, f->inlined};
    }
    tide_names_builder_add(b, place->module, place->addr, chain, place->n_frames);
  }
  free(chain);
}

// Of equal places the one added last comes first.
static int by_place(const void *left, const void *right)
{
  const struct tide_stored_place *a = left, *b = right;
  if (tide_stored_place_is_before(a, b))
    return -1;
  if (tide_stored_place_is_before(b, a))
    return 1;
  return (a->first_frame < b->first_frame) - (a->first_frame > b->first_frame);
}

bool tide_names_builder_finish(struct tide_names_builder *b, struct tide_image *image)
{
  if (b->text_is_too_big)
    return false;
  struct tide_stored_names names = {0};
  tide_stored_names_done(&image->names);
  if (b->n_places == 0)
    return true;
  names.places = tide_alloc_array(b->n_places, sizeof *names.places);
  names.frames = tide_alloc_array(b->n_frames, sizeof *names.frames);
  qsort(b->places, b->n_places, sizeof *b->places, by_place);
  for (size_t i = 0; i < b->n_places; i++) {
    struct tide_stored_place place = b->places[i];
    if (i > 0 && !tide_stored_place_is_before(&b->places[i - 1], &place))
      continue; // an older chain of the same place
    memcpy(names.frames + names.n_frames, b->frames + place.first_frame,
           place.n_frames * sizeof *names.frames);
    place.first_frame = names.n_frames;
    names.n_frames += place.n_frames;
    names.places[names.n_places++] = place;
  }
  if (b->text.n == 0)
    tide_buf_u8(&b->text, 0);
  names.text = (char *)b->text.data;
  names.text_bytes = b->text.n;
  b->text = (struct tide_buf){0};
  clear(b);
  image->names = names;
  return true;
}
