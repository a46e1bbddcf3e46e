// SPDX-License-Identifier: Apache-2.0
//
// Stacks of addresses joined with names. A node of the frame trie becomes one frame or, where
// functions were inlined, several, innermost first. Each distinct address is looked up once, and
// only when somebody asks: a report that shows ten places resolves ten. Names stored in the capture
// are taken before any other.
#pragma once
#include "model/model.h"
#include "symbol/symbol.h"
#include "view/resolver.h"
#include "view/rules.h"

struct tide_named_frame {
  const char *function;  // NULL when unknown
  const char *file;      // NULL when unknown
  uint32_t line;         // 0 when unknown
  bool inlined;          // inlined into the next frame
  uint32_t module;       // index in the image's modules
  uint64_t pc;           // runtime address
  uint16_t flags;        // enum tide_frame_flags
  enum tide_layer layer; // whose it is, or what it is folded as
};

enum tide_blamed { // whom a stack is blamed on: see view/blame.h
  TIDE_BLAMED_OWN,
  TIDE_BLAMED_LIBRARY,
  TIDE_BLAMED_N,
};

// Where names come from that the capture does not hold: a resolver, or something else (tests).
// module is an index of the image's modules; addr an ELF address inside the instruction meant.
struct tide_name_source {
  void *context;
  size_t (*lookup)(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                   size_t max);
  const struct tide_symbol_object *(*object)(void *context, uint32_t module);
};

struct tide_naming;

// The image must outlive the names. Strings in frames live as long as the names (and the source).
// With a resolver that is freed along with them, with one that outlives them (several images share
// it), or with another source.
struct tide_naming *tide_naming_new(const struct tide_image *image,
                                    struct tide_resolver *own_resolver);
struct tide_naming *tide_naming_new_with(const struct tide_image *image,
                                         struct tide_resolver *resolver);
struct tide_naming *tide_naming_new_from(const struct tide_image *image,
                                         const struct tide_name_source *source);
void tide_naming_free(struct tide_naming *naming); // NULL is fine

// Own code, if nothing else is said.
void tide_naming_set_blame(struct tide_naming *naming, enum tide_blamed blamed);
enum tide_blamed tide_naming_blamed(const struct tide_naming *naming);
const struct tide_image *tide_naming_image(const struct tide_naming *naming);

// By which call a stack's blocks were allocated. An operator new that calls malloc is the call that
// the program made.
enum tide_call tide_naming_call(struct tide_naming *naming, uint32_t stack);

// Rules of the user's, which must outlive the names. To be set before the first look-up.
void tide_naming_set_rules(struct tide_naming *naming, const struct tide_rules *rules);

// Functions folded as allocators for their shape (view/blame.h), by name and their module's base
// name. Adding one changes the frames that are known already; not one that a rule of the user's is
// about, nor one twice. n_callers is for who reads it.
struct tide_wrapper {
  char *function, *module;
  size_t n_callers;
};
void tide_naming_add_wrapper(struct tide_naming *naming, const struct tide_named_frame *frame,
                             size_t n_callers);
void tide_naming_add_wrapper_named(struct tide_naming *naming, const char *function,
                                   const char *module, size_t n_callers);
const struct tide_wrapper *tide_naming_wrappers(const struct tide_naming *naming, size_t *ret_n);

// The frames of one node, innermost first; at least one. The array stays valid until the names are
// freed; flags and pc are the node's.
const struct tide_named_frame *tide_naming_of_node(struct tide_naming *naming, uint32_t node,
                                                   size_t *ret_n);

// A small number for the node's address: equal addresses (of a module) have equal ones, from 0 up
// to tide_naming_addresses() - 1. For whoever keeps something per address.
size_t tide_naming_address(struct tide_naming *naming, uint32_t node);
size_t tide_naming_addresses(const struct tide_naming *naming);

// From now on at most n more addresses are looked up for tide_naming_try_node(), which says NULL
// when it would have to look up one more and is the frames of the node otherwise.
void tide_naming_limit(struct tide_naming *naming, size_t n);
const struct tide_named_frame *tide_naming_try_node(struct tide_naming *naming, uint32_t node,
                                                    size_t *ret_n);

// Whether no name could make the frames of a node the user's: known without looking them up.
bool tide_naming_is_in_library(struct tide_naming *naming, uint32_t node);

// What is known of a stack since somebody walked it to its end: none of its frames is the user's
// own. Names that are folded later change nothing about that.
void tide_naming_note_no_own(struct tide_naming *naming, uint32_t stack);
bool tide_naming_has_no_own(const struct tide_naming *naming, uint32_t stack);
// Notes that all of a stack's blame has been looked up: once is enough for who asks for the culprit
// again.
void tide_naming_note_told(struct tide_naming *naming, uint32_t stack);
bool tide_naming_is_told(const struct tide_naming *naming, uint32_t stack);

// Path of a frame's module, "" for the unknown one.
const char *tide_naming_module_path(const struct tide_naming *naming,
                                    const struct tide_named_frame *name);

// Base name of a frame's module, "?" for the unknown one.
const char *tide_naming_module(const struct tide_naming *naming,
                               const struct tide_named_frame *name);

// A frame's address as its file has it, the same in every run; in unknown code, as it ran.
uint64_t tide_naming_elf_address(const struct tide_naming *naming,
                                 const struct tide_named_frame *frame);

// Why a frame's module has no names or lines, or no line for this frame, and what to do about it;
// NULL when all is well. Lives as long as the naming and its source.
const char *tide_naming_note(struct tide_naming *naming, const struct tide_named_frame *frame);
