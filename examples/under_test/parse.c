// SPDX-License-Identifier: Apache-2.0
//
// Fields between commas. With -DLEAKY it has the fault that the tests beside it find.
#include "parse.h"

#include <stdlib.h>
#include <string.h>

static char *field_new(const char *text, size_t n)
{
  char *field = malloc(n + 1);
  memcpy(field, text, n);
  field[n] = 0;
  return field;
}

struct fields parse_line(const char *line)
{
  struct fields fields = {NULL, 0};
  for (;;) {
    size_t n = strcspn(line, ",");
    fields.texts = realloc(fields.texts, (fields.n + 1) * sizeof *fields.texts);
    fields.texts[fields.n++] = field_new(line, n);
    if (!line[n])
      return fields;
    line += n + 1;
  }
}

void fields_done(struct fields *fields)
{
#ifndef LEAKY
  for (size_t i = 0; i < fields->n; i++)
    free(fields->texts[i]);
#endif
  free(fields->texts);
}
