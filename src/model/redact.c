// SPDX-License-Identifier: Apache-2.0
//
// See redact.h. A command line is argv joined by NULs, with or without one at its end.
#include "model/redact.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RECORDED_BYTES = 65536 }; // of a command line; what is longer was cut there

static uint64_t count_arguments(const char *at, const char *end)
{
  uint64_t n = 0;
  for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1)
    n++;
  return n;
}

static bool is_redacted(const char *argument)
{
  int n = 0;
  const char *at = strncmp(argument, "[at least ", 10) == 0 ? argument + 10 : argument + 1;
  sscanf(at, "%*u %*[a-z] left out]%n", &n);
  return argument[0] == '[' && n && !at[n];
}

bool tide_image_redact_args(struct tide_image *image)
{
  const char *line = image->cmdline, *end = line ? line + image->cmdline_len : NULL;
  const char *rest = line ? line + strnlen(line, image->cmdline_len) + 1 : NULL;
  uint64_t n = rest < end ? count_arguments(rest, end) : 0;
  if (!n || (n == 1 && is_redacted(rest)))
    return false;
  struct tide_buf text = {0};
  tide_buf_append(&text, line, (size_t)(rest - line));
  tide_buf_printf(&text, "[%s%" PRIu64 " argument%s left out]",
                  image->cmdline_len > MAX_RECORDED_BYTES ? "at least " : "", n, n == 1 ? "" : "s");
  tide_buf_u8(&text, 0);
  free(image->cmdline);
  image->cmdline_len = (uint32_t)text.n;
  tide_buf_u8(&text, 0); // one behind it, as everywhere
  image->cmdline = (char *)text.data;
  return true;
}

bool tide_capture_redact_args(struct tide_capture *capture)
{
  bool any = false;
  for (size_t i = 0; i < capture->n_images; i++)
    any |= tide_image_redact_args(&capture->images[i]);
  return any;
}
