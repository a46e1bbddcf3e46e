// SPDX-License-Identifier: Apache-2.0
//
// Names, which everybody has to tell in the same way.
#include "check/ruling.h"

#include <string.h>

const char *const tide_ruling_words[TIDE_RULINGS_N] = {"kept", "broken", "unknown"};

const char *tide_check_base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char *tide_check_program(const struct tide_image *image)
{
  return image->exe && *image->exe ? tide_check_base_name(image->exe) : "?";
}
