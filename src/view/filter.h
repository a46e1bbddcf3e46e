// SPDX-License-Identifier: Apache-2.0
//
// Which stacks and frames a reader wants to see, by extended regular expressions. A pattern is
// looked for anywhere in the text; ^ and $ tie it to the ends. A frame without a name is matched
// by its module's.
#pragma once
#include "base/err.h"
#include "view/naming.h"

struct tide_filter_options {            // patterns; NULL: none
  const char *function, *file, *module; // only stacks with a frame like this, for each one given
  const char *ignore;                   // no stack with such a function
  const char *focus;                    // only stacks with such a function, seen from it inwards
  const char *hide;                     // leave frames of such functions out
  const char *callers; // only stacks with such a function, seen from the innermost one outwards
  const char *callees; // as focus, by another name
};

enum tide_filter_bits {
  TIDE_FILTER_FUNCTION = 1,
  TIDE_FILTER_FILE = 2,
  TIDE_FILTER_MODULE = 4,
  TIDE_FILTER_IGNORE = 8,
  TIDE_FILTER_FOCUS = 16,
  TIDE_FILTER_HIDE = 32,
  TIDE_FILTER_CALLERS = 64,
  TIDE_FILTER_CALLEES = 128,
};

struct tide_filter;

// Fails, with what is wrong with it, on a pattern that is none. Patterns are copied.
enum tide_err tide_filter_new(const struct tide_filter_options *options,
                              struct tide_filter **ret_filter, struct tide_diag *diag);
void tide_filter_free(struct tide_filter *filter); // NULL is fine

bool tide_filter_is_empty(const struct tide_filter *filter); // as NULL is

// Which patterns a frame matches. The module's path is the naming's to know.
unsigned tide_filter_judge(const struct tide_filter *filter, const struct tide_naming *naming,
                           const struct tide_named_frame *frame);

// Whether a stack is wanted, by the bits of all its frames together.
bool tide_filter_wants(const struct tide_filter *filter, unsigned bits);
