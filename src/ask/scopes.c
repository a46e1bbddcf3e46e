// SPDX-License-Identifier: Apache-2.0
//
// Scopes of the program (tidemark.h): where each thread is, kept by number (record/scope.h).
#include "ask/ask.h"
#include "record/record.h"
#include "record/scope.h"

#include <errno.h>

// 1 to TIDE_SCOPE_NAME_BYTES - 1 bytes, without control characters.
static bool is_scope_name(const char *name)
{
  uint32_t n = 0;
  for (; name[n]; n++)
    if (n == TIDE_SCOPE_NAME_BYTES - 1 || (unsigned char)name[n] < ' ' || name[n] == 127)
      return false;
  return n > 0;
}

static bool is_here(struct tide_seat *seat)
{
  return tide_boot_ready() || tide_boot(seat);
}

long tide_ask_scope_begin(struct tide_seat *seat, struct tide_asking *own, const char *name)
{
  if (!name || !is_scope_name(name))
    return -EINVAL;
  if (!is_here(seat))
    return -ENODATA;
  if (own->n_more++)
    return 0;
  uint32_t scope = tide_scope_get(seat->scope, name);
  own->n_more = scope == TIDE_SCOPE_MORE;
  own->outer_scope = seat->scope;
  tide_thread_enter_scope(seat, scope);
  return 0;
}

long tide_ask_scope_end(struct tide_seat *seat, struct tide_asking *own)
{
  if (!is_here(seat))
    return -ENODATA;
  if (!seat->scope)
    return -EINVAL;
  if (own->n_more && --own->n_more)
    return 0;
  uint32_t outer =
      seat->scope == TIDE_SCOPE_MORE ? own->outer_scope : tide_scope_outer(seat->scope);
  tide_thread_enter_scope(seat, outer);
  return 0;
}
