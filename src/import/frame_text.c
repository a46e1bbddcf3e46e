// SPDX-License-Identifier: Apache-2.0
//
// From the end to the front: the last parentheses are the place.
#define _GNU_SOURCE
#include "import/builder.h"

#include <stdlib.h>
#include <string.h>

// "0x10917A: " in front, if it is there.
static char *take_address(char *text, uint64_t *ret_addr)
{
  if (strncmp(text, "0x", 2) != 0)
    return text;
  char *end;
  uint64_t addr = strtoull(text, &end, 16);
  if (end == text + 2 || end[0] != ':' || end[1] != ' ')
    return text;
  *ret_addr = addr;
  return end + 2;
}

static bool all_digits(const char *text)
{
  return *text && text[strspn(text, "0123456789")] == 0;
}

// Takes ":12" off the end of a text.
static bool take_number(char *text, uint32_t *ret_number)
{
  char *colon = strrchr(text, ':');
  if (!colon || colon == text || !all_digits(colon + 1))
    return false;
  unsigned long long value = strtoull(colon + 1, NULL, 10);
  *ret_number = value <= UINT32_MAX ? (uint32_t)value : 0;
  *colon = 0;
  return true;
}

// What stands in the parentheses: "in OBJECT", "FILE:LINE", "FILE:LINE:COLUMN" or "FILE".
static void take_place(char *text, struct tide_frame_text *frame)
{
  if (strncmp(text, "in ", 3) == 0) {
    frame->object = strcmp(text + 3, "???") == 0 ? "" : text + 3;
    return;
  }
  uint32_t last, before;
  frame->name.file = text;
  if (!take_number(text, &last))
    return;
  frame->name.line = take_number(text, &before) ? before : last;
}

void tide_frame_text_parse(const char *text, size_t n, struct tide_buf *scratch,
                           struct tide_frame_text *ret_frame)
{
  *ret_frame = (struct tide_frame_text){.object = ""};
  tide_buf_clear(scratch);
  tide_buf_append(scratch, text, n);
  tide_buf_u8(scratch, 0);
  char *function = take_address((char *)scratch->data, &ret_frame->addr);
  size_t length = strlen(function);
  char *open = NULL;
  for (char *at = function; (at = strstr(at, " (")); at += 2)
    open = at;
  if (open && length && function[length - 1] == ')') {
    function[length - 1] = 0;
    *open = 0;
    take_place(open + 2, ret_frame);
  }
  if (*function && strcmp(function, "???") != 0)
    ret_frame->name.function = function;
}

// What our own exports write where there is no frame.
static uint16_t flags_of(const struct tide_frame_text *frame)
{
  const char *function = frame->name.function;
  if (frame->addr || !function)
    return 0;
  if (strcmp(function, "[stack not recorded]") == 0)
    return TIDE_FRAME_LOST;
  return strcmp(function, "[frames left out]") == 0 ? TIDE_FRAME_CUT : 0;
}

struct tide_import_place tide_frame_text_place(struct tide_builder *b,
                                               const struct tide_frame_text *frame)
{
  uint16_t flags = flags_of(frame);
  if (flags)
    return (struct tide_import_place){.flags = flags};
  return tide_builder_place(b, tide_builder_named_module(b, frame->object), frame->addr,
                            &frame->name, 1);
}
