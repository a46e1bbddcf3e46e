// SPDX-License-Identifier: Apache-2.0
//
// Whose a frame is: the user's own, a library's (shown, but a site is blamed on the user's line
// that called it), or that of a runtime, which is folded. A rule is a line,
//
//   own|library|fold  function|crate|trait|file|module  PATTERN
//
// where * in a pattern stands for any text. The last rule that matches decides; the user's come
// after the built-in ones. docs/runtime-frames.md explains and lists them.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

// Not folded are the user's frames and libraries'. What a folded frame is part of follows, from the
// inside outwards: where a stack has nothing else, the first frame of the highest layer says most.
enum tide_layer {
  TIDE_LAYER_USER,
  TIDE_LAYER_LIBRARY,
  TIDE_LAYER_ALLOCATOR,
  TIDE_LAYER_START,
  TIDE_LAYER_C,
  TIDE_LAYER_CONTAINER,
  TIDE_LAYER_RUNTIME,
  TIDE_LAYER_FRAMEWORK,
  TIDE_LAYER_CHOSEN, // by a rule of the user's
};

static inline bool tide_layer_is_folded(enum tide_layer layer)
{
  return layer > TIDE_LAYER_LIBRARY;
}

enum tide_name_rule_kind {
  TIDE_RULE_FUNCTION,
  TIDE_RULE_CRATE,
  TIDE_RULE_TRAIT,
  TIDE_RULE_FILE,
  TIDE_RULE_MODULE,
  TIDE_RULE_KINDS_N,
};
extern const char *const tide_rule_kind_words[];

struct tide_name_rule {
  enum tide_layer layer; // USER: own
  enum tide_name_rule_kind kind;
  const char *pattern;
};

// The built-in rules, in the order of the documentation; sections by layer.
extern const struct tide_name_rule tide_builtin_rules[];
extern const size_t tide_builtin_rules_n;

// What libraries are told by; asked where no rule above matches. Those of code without a source
// file are not asked where it is known: a crate of that name may well be the user's.
extern const struct tide_name_rule tide_library_rules[], tide_fileless_rules[];
extern const size_t tide_library_rules_n, tide_fileless_rules_n;

struct tide_rules; // the user's, on top of the built-in ones

struct tide_rules *tide_rules_new(void);
void tide_rules_free(struct tide_rules *rules); // NULL is fine

// Adds the rules of a file, or of text that a file would hold; name is for messages. On failure,
// which names the line, nothing was added.
enum tide_err tide_rules_read(struct tide_rules *rules, const char *path, struct tide_diag *diag);
enum tide_err tide_rules_parse(struct tide_rules *rules, const char *name, const char *text,
                               struct tide_diag *diag);

// rules may be NULL: the built-in ones. function and file may be NULL, module (a path) not.
enum tide_layer tide_rules_judge(const struct tide_rules *rules, const char *function,
                                 const char *file, const char *module);

// Whether a rule of the user's, not a built-in one, decides.
bool tide_rules_are_about(const struct tide_rules *rules, const char *function, const char *file,
                          const char *module);

// Whether all code of a module is a library's, or folded, whatever its names are.
bool tide_rules_module_is_library(const struct tide_rules *rules, const char *module);
