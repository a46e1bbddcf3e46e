// SPDX-License-Identifier: Apache-2.0
//
// A node of the image becomes a node of the document for each of its frames: inlined calls are
// frames of their own. Parents have smaller numbers than their children, as in the image.
#include "report/stack_json.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

// ---- names ----
//
// Texts are told apart as they will be written: two that differ in broken bytes alone are one.

void tide_name_json_init(struct tide_name_json *names, struct tide_naming *naming)
{
  *names = (struct tide_name_json){.naming = naming};
}

static void table_done(struct tide_name_table *table)
{
  tide_intern_done(&table->texts);
  tide_intern_done(&table->pointers);
  free(table->numbers);
}

void tide_name_json_done(struct tide_name_json *names)
{
  table_done(&names->functions);
  table_done(&names->files);
  table_done(&names->modules);
  tide_buf_done(&names->scratch);
  *names = (struct tide_name_json){0};
}

static uint32_t number_of(struct tide_name_table *table, const char *text, struct tide_buf *scratch)
{
  if (!text)
    return 0;
  size_t n_known = table->pointers.n;
  uint32_t pointer = tide_intern_add(&table->pointers, &text, sizeof text);
  if (pointer == n_known) {
    TIDE_GROW(table->numbers, n_known, table->cap_numbers);
    table->numbers[pointer] = 1 + tide_intern_text(&table->texts, tide_utf8_mend(text, scratch));
  }
  return table->numbers[pointer];
}

uint32_t tide_name_json_function(struct tide_name_json *names, const struct tide_named_frame *of)
{
  return number_of(&names->functions, of->function, &names->scratch);
}

uint32_t tide_name_json_file(struct tide_name_json *names, const struct tide_named_frame *of)
{
  return number_of(&names->files, of->file, &names->scratch);
}

uint32_t tide_name_json_module(struct tide_name_json *names, const struct tide_named_frame *of)
{
  const char *path = tide_naming_module_path(names->naming, of);
  return number_of(&names->modules, *path ? path : NULL, &names->scratch);
}

static void write_texts(struct tide_json *json, const char *key, const struct tide_intern *texts)
{
  tide_json_key(json, key);
  tide_json_open_array(json);
  tide_json_text(json, NULL);
  for (size_t i = 0; i < texts->n; i++) {
    size_t n;
    const char *text = tide_intern_get(texts, (uint32_t)i, &n);
    tide_json_text_n(json, text, n);
  }
  tide_json_close_array(json);
}

void tide_name_json_write(const struct tide_name_json *names, struct tide_json *json)
{
  write_texts(json, "functions", &names->functions.texts);
  write_texts(json, "files", &names->files.texts);
  write_texts(json, "modules", &names->modules.texts);
}

// ---- stacks ----

void tide_stack_json_init(struct tide_stack_json *stacks, const struct tide_image *image,
                          struct tide_naming *naming)
{
  *stacks = (struct tide_stack_json){.image = image, .naming = naming};
  stacks->of_node = tide_alloc_array(image->n_frames + 1, sizeof *stacks->of_node);
  tide_name_json_init(&stacks->names, naming);
  stacks->n_frames = stacks->n_stacks = 1;
}

void tide_stack_json_done(struct tide_stack_json *stacks)
{
  tide_name_json_done(&stacks->names);
  free(stacks->of_node);
  free(stacks->of_address);
  free(stacks->nodes);
  *stacks = (struct tide_stack_json){0};
}

void tide_stack_json_need(struct tide_stack_json *stacks, uint32_t stack)
{
  for (uint32_t node = stack; node && !stacks->of_node[node];
       node = stacks->image->frames[node].parent)
    stacks->of_node[node] = 1;
}

static void grow_addresses(struct tide_stack_json *stacks, size_t address)
{
  size_t n = stacks->n_addresses ? stacks->n_addresses : 1024;
  while (n <= address)
    n *= 2;
  stacks->of_address = tide_realloc_array(stacks->of_address, n, sizeof *stacks->of_address);
  memset(stacks->of_address + stacks->n_addresses, 0,
         (n - stacks->n_addresses) * sizeof *stacks->of_address);
  stacks->n_addresses = n;
}

static void number_frames(struct tide_stack_json *stacks, uint32_t node,
                          const struct tide_named_frame *frames, size_t n)
{
  size_t address = tide_naming_address(stacks->naming, node);
  if (address >= stacks->n_addresses)
    grow_addresses(stacks, address);
  if (stacks->of_address[address])
    return;
  stacks->of_address[address] = stacks->n_frames;
  stacks->n_frames += n;
  TIDE_GROW(stacks->nodes, stacks->n_nodes, stacks->cap_nodes);
  stacks->nodes[stacks->n_nodes++] = node;
  for (size_t i = 0; i < n; i++) {
    tide_name_json_function(&stacks->names, &frames[i]);
    tide_name_json_file(&stacks->names, &frames[i]);
    tide_name_json_module(&stacks->names, &frames[i]);
  }
}

// A root that only says "pages" or "lost" is its site's kind, not a frame of it.
static bool is_kind(const struct tide_stack_json *stacks, uint32_t node)
{
  return stacks->image->frames[node].flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST);
}

void tide_stack_json_number(struct tide_stack_json *stacks)
{
  for (uint32_t node = 1; node < stacks->image->n_frames; node++) {
    size_t n;
    if (!stacks->of_node[node])
      continue;
    if (is_kind(stacks, node)) {
      stacks->of_node[node] = stacks->of_node[stacks->image->frames[node].parent];
      continue;
    }
    const struct tide_named_frame *frames = tide_naming_of_node(stacks->naming, node, &n);
    number_frames(stacks, node, frames, n);
    stacks->n_stacks += n;
    stacks->of_node[node] = stacks->n_stacks - 1;
  }
}

uint64_t tide_stack_json_stack(const struct tide_stack_json *stacks, uint32_t stack)
{
  return stacks->of_node[stack];
}

uint64_t tide_stack_json_frame(const struct tide_stack_json *stacks, uint32_t node, size_t index)
{
  return stacks->of_address[tide_naming_address(stacks->naming, node)] + index;
}

// Few frames have any.
static void write_flags(struct tide_json *json, uint16_t flags)
{
  static const struct {
    uint16_t flag;
    const char *word;
  } words[] = {
      {TIDE_FRAME_IS_EXACT, "exact"}, {TIDE_FRAME_GUESSED, "guessed"}, {TIDE_FRAME_CUT, "cut"}};
  if (!(flags & (TIDE_FRAME_IS_EXACT | TIDE_FRAME_GUESSED | TIDE_FRAME_CUT)))
    return;
  tide_json_key(json, "flags");
  tide_json_open_array(json);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (flags & words[i].flag)
      tide_json_text(json, words[i].word);
  tide_json_close_array(json);
}

static void write_frame(struct tide_stack_json *stacks, struct tide_json *json,
                        const struct tide_named_frame *frame)
{
  tide_json_open_object(json);
  tide_json_put_u64(json, "function", tide_name_json_function(&stacks->names, frame));
  tide_json_put_u64(json, "file", tide_name_json_file(&stacks->names, frame));
  tide_json_put_u64(json, "line", frame->line);
  tide_json_put_u64(json, "module", tide_name_json_module(&stacks->names, frame));
  tide_json_key(json, "address");
  tide_json_hex(json, frame->pc);
  if (frame->inlined)
    tide_json_put_bool(json, "inlined", true);
  if (tide_layer_is_folded(frame->layer))
    tide_json_put_bool(json, "folded", true);
  if (frame->layer == TIDE_LAYER_LIBRARY)
    tide_json_put_bool(json, "library", true);
  write_flags(json, frame->flags);
  tide_json_close_object(json);
}

static void write_frame_defaults(struct tide_json *json)
{
  tide_json_key(json, "frame_defaults");
  tide_json_open_object(json);
  tide_json_put_bool(json, "inlined", false);
  tide_json_put_bool(json, "folded", false);
  tide_json_put_bool(json, "library", false);
  tide_json_key(json, "flags");
  tide_json_open_array(json);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static void write_frames(struct tide_stack_json *stacks, struct tide_json *json)
{
  static const struct tide_named_frame nothing; // of module 0, which has no path
  tide_json_key(json, "frames");
  tide_json_open_array(json);
  write_frame(stacks, json, &nothing);
  for (size_t i = 0; i < stacks->n_nodes; i++) {
    size_t n;
    const struct tide_named_frame *frames =
        tide_naming_of_node(stacks->naming, stacks->nodes[i], &n);
    for (size_t k = 0; k < n; k++)
      write_frame(stacks, json, &frames[k]);
  }
  tide_json_close_array(json);
}

// Both columns of the trie walk it in the same way, a node's frames from the outermost inwards.
static void write_column(struct tide_stack_json *stacks, struct tide_json *json, bool of_parents)
{
  tide_json_key(json, of_parents ? "parent" : "frame");
  tide_json_open_array(json);
  tide_json_u64(json, 0);
  for (uint32_t node = 1; node < stacks->image->n_frames; node++) {
    size_t n;
    if (!stacks->of_node[node] || is_kind(stacks, node))
      continue;
    tide_naming_of_node(stacks->naming, node, &n);
    uint64_t parent = stacks->of_node[stacks->image->frames[node].parent];
    uint64_t next = stacks->of_node[node] - n + 1, frame = tide_stack_json_frame(stacks, node, n);
    for (size_t i = 0; i < n; i++, parent = next++)
      tide_json_u64(json, of_parents ? parent : --frame);
  }
  tide_json_close_array(json);
}

void tide_stack_json_write(struct tide_stack_json *stacks, struct tide_json *json)
{
  json->is_tight = true;
  tide_name_json_write(&stacks->names, json);
  write_frame_defaults(json);
  write_frames(stacks, json);
  tide_json_key(json, "stacks");
  tide_json_open_object(json);
  write_column(stacks, json, false);
  write_column(stacks, json, true);
  tide_json_close_object(json);
  json->is_tight = false;
}
