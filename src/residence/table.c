// SPDX-License-Identifier: Apache-2.0
//
// The words of the table, and its end.
#include "residence/table.h"

#include <stdlib.h>
#include <unistd.h>

static const struct {
  const char *key, *words;
} kinds[TIDE_RESIDENCE_KINDS] = {
#define KIND(tag, key, words) {key, words},
#include "residence/kinds.def"
#undef KIND
};

const char *tide_residence_key(enum tide_residence_kind kind)
{
  return kinds[kind].key;
}

const char *tide_residence_words(enum tide_residence_kind kind)
{
  return kinds[kind].words;
}

void tide_residence_done(struct tide_residence *residence)
{
  for (size_t i = 0; i < residence->n_files; i++)
    free(residence->files[i].path);
  if (residence->store_fd >= 0)
    close(residence->store_fd);
  free(residence->arenas);
  free(residence->files);
  free(residence->sites);
  *residence = (struct tide_residence){.store_fd = -1};
}
