// SPDX-License-Identifier: Apache-2.0
//
// The table of formats.
#include "export/exports.h"

#include <string.h>

static const struct tide_export_format formats[] = {
#define EXPORT(word, function, suffix, room, summary) {word, suffix, summary, room, function},
#include "export/exports.def"
#undef EXPORT
};

const struct tide_export_format *tide_export_find(const char *word)
{
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strcmp(formats[i].word, word) == 0)
      return &formats[i];
  return NULL;
}
