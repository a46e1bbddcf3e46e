// SPDX-License-Identifier: Apache-2.0
//
// Two open-addressing tables: from a frame's pointer to its name, and from texts to the name.
#include "view/frame_names.h"

#include "base/alloc.h"
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 1024 }; // powers of two, at most half full

void tide_frame_names_init(struct tide_frame_names *names, const struct tide_naming *naming,
                           bool by_line)
{
  *names = (struct tide_frame_names){.naming = naming, .by_line = by_line};
  names->n_by_text = names->n_by_pointer = TABLE_FIRST;
  names->by_text = tide_alloc_array(TABLE_FIRST, sizeof *names->by_text);
  names->by_pointer = tide_alloc_array(TABLE_FIRST, sizeof *names->by_pointer);
  TIDE_GROW(names->items, names->n, names->cap);
  names->items[names->n++] = NULL;
  TIDE_GROW(names->frames, names->n_frames, names->cap_frames);
  names->frames[names->n_frames++] = (struct tide_frame_name){NULL, 0};
}

void tide_frame_names_done(struct tide_frame_names *names)
{
  free(names->items);
  free(names->by_text);
  free(names->frames);
  free(names->by_pointer);
  *names = (struct tide_frame_names){0};
}

static int compare_text(const char *a, const char *b)
{
  if (!a || !b)
    return (a != NULL) - (b != NULL);
  return a == b ? 0 : strcmp(a, b);
}

static int compare_frames(const struct tide_frame_names *names, const struct tide_named_frame *a,
                          const struct tide_named_frame *b)
{
  int order = compare_text(a->function, b->function);
  if (!order)
    order = compare_text(a->file, b->file);
  if (!order && names->by_line)
    order = (a->line > b->line) - (a->line < b->line);
  if (!order && !a->file) // not by index: a library loaded again has another
    order = strcmp(tide_naming_module_path(names->naming, a),
                   tide_naming_module_path(names->naming, b));
  if (order || a->function)
    return order;
  uint64_t at = tide_naming_elf_address(names->naming, a);
  uint64_t bt = tide_naming_elf_address(names->naming, b);
  order = (at > bt) - (at < bt);
  return order ? order : (a->flags & TIDE_FRAME_CUT) - (b->flags & TIDE_FRAME_CUT);
}

int tide_frame_names_compare(const struct tide_frame_names *names, uint32_t a, uint32_t b)
{
  if (a == b || !a || !b)
    return (a != 0) - (b != 0);
  return compare_frames(names, names->items[a], names->items[b]);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
  for (; text && *text; text++)
    hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
  return tide_hash_word(hash, text != NULL);
}

// Of less than what compare_frames() looks at, but enough.
static uint64_t hash_frame(const struct tide_frame_names *names,
                           const struct tide_named_frame *frame)
{
  uint64_t hash = hash_text(hash_text(0xcbf29ce484222325ull, frame->function), frame->file);
  if (names->by_line)
    hash = tide_hash_word(hash, frame->line);
  return frame->function ? hash
                         : tide_hash_word(hash, tide_naming_elf_address(names->naming, frame));
}

static size_t text_slot(const struct tide_frame_names *names, const struct tide_named_frame *frame)
{
  size_t slot = (size_t)hash_frame(names, frame);
  for (;; slot++) {
    slot &= names->n_by_text - 1;
    uint32_t name = names->by_text[slot];
    if (!name || compare_frames(names, names->items[name], frame) == 0)
      return slot;
  }
}

static void grow_texts(struct tide_frame_names *names)
{
  if (names->n * 2ull < names->n_by_text)
    return;
  free(names->by_text);
  names->n_by_text *= 4;
  names->by_text = tide_alloc_array(names->n_by_text, sizeof *names->by_text);
  for (uint32_t i = 1; i < names->n; i++)
    names->by_text[text_slot(names, names->items[i])] = i;
}

static uint32_t name_of_text(struct tide_frame_names *names, const struct tide_named_frame *frame)
{
  grow_texts(names);
  size_t slot = text_slot(names, frame);
  if (!names->by_text[slot]) {
    TIDE_GROW(names->items, names->n, names->cap);
    names->items[names->n] = frame;
    names->by_text[slot] = names->n++;
  }
  return names->by_text[slot];
}

static uint32_t *pointer_slot(const struct tide_frame_names *names,
                              const struct tide_named_frame *frame)
{
  size_t slot = (size_t)tide_hash_word(0, (uint64_t)(uintptr_t)frame >> 3);
  for (;; slot++) {
    uint32_t *held = &names->by_pointer[slot & (names->n_by_pointer - 1)];
    if (!*held || names->frames[*held].frame == frame)
      return held;
  }
}

static void grow_pointers(struct tide_frame_names *names)
{
  if (names->n_frames * 2ull < names->n_by_pointer)
    return;
  free(names->by_pointer);
  names->n_by_pointer *= 4;
  names->by_pointer = tide_alloc_array(names->n_by_pointer, sizeof *names->by_pointer);
  for (uint32_t i = 1; i < names->n_frames; i++)
    *pointer_slot(names, names->frames[i].frame) = i;
}

uint32_t tide_frame_names_add(struct tide_frame_names *names, const struct tide_named_frame *frame)
{
  uint32_t held = frame ? *pointer_slot(names, frame) : 0;
  if (held || !frame)
    return held;
  grow_pointers(names);
  uint32_t name = name_of_text(names, frame);
  TIDE_GROW(names->frames, names->n_frames, names->cap_frames);
  names->frames[names->n_frames] = (struct tide_frame_name){frame, name};
  *pointer_slot(names, frame) = names->n_frames;
  return names->n_frames++;
}
