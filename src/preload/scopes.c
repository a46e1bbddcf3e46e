// SPDX-License-Identifier: Apache-2.0
//
// Scopes of the program (tidemark.h): where each thread is, kept by number (record/scope.h).
#include "preload/hook.h"
#include "record/scope.h"

#include <errno.h>
#pragma GCC visibility push(default)
#include <tidemark/tidemark.h>
#pragma GCC visibility pop

// Scopes that found no number, one within another, count as one.
static __thread struct {
  uint32_t n;
  uint32_t outer; // the scope that the outermost of them is in
} more __attribute__((tls_model("initial-exec")));

static int scope_answer(int error)
{
  if (error)
    errno = error;
  return error ? -1 : 0;
}

// 1 to TIDE_SCOPE_NAME_BYTES - 1 bytes, without control characters.
static bool is_scope_name(const char *name)
{
  uint32_t n = 0;
  for (; name[n]; n++)
    if (n == TIDE_SCOPE_NAME_BYTES - 1 || (unsigned char)name[n] < ' ' || name[n] == 127)
      return false;
  return n > 0;
}

static bool is_here(void)
{
  return tide_boot_ready() || tide_boot(&tide_self);
}

int tidemark_v1_scope_begin(const char *name)
{
  struct tide_seat *seat = &tide_self;
  if (!name || !is_scope_name(name))
    return scope_answer(EINVAL);
  if (!is_here())
    return scope_answer(ENODATA);
  if (more.n++)
    return 0;
  uint32_t scope = tide_scope_get(seat->scope, name);
  more.n = scope == TIDE_SCOPE_MORE;
  more.outer = seat->scope;
  tide_thread_enter_scope(seat, scope);
  return 0;
}

int tidemark_v1_scope_end(void)
{
  struct tide_seat *seat = &tide_self;
  if (!is_here())
    return scope_answer(ENODATA);
  if (!seat->scope)
    return scope_answer(EINVAL);
  if (more.n && --more.n)
    return 0;
  uint32_t outer = seat->scope == TIDE_SCOPE_MORE ? more.outer : tide_scope_outer(seat->scope);
  tide_thread_enter_scope(seat, outer);
  return 0;
}
