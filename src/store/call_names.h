// SPDX-License-Identifier: Apache-2.0
//
// Which call of enum tide_call a function of an allocator is. For those who know other programs'
// names, preload and attach: not for the recorder's core.
#pragma once
#include "store/codes.h"
#include <string.h>

// Which call of enum tide_call a function is, by its role and its name, which decides where a role
// does not tell. Of a name that is written out it is a constant.
static inline enum tide_call tide_call_of(enum tide_role role, const char *name)
{
  switch (role) {
  case TIDE_ROLE_MAP: return TIDE_CALL_MMAP;
  case TIDE_ROLE_REMAP: return TIDE_CALL_MREMAP;
  case TIDE_ROLE_BREAK: return TIDE_CALL_BRK;
  case TIDE_ROLE_NEW:
  case TIDE_ROLE_NEW_ALIGNED: return TIDE_CALL_NEW;
  case TIDE_ROLE_CALLOC:
  case TIDE_ROLE_ARENA_CALLOC: return TIDE_CALL_CALLOC;
  case TIDE_ROLE_REALLOC:
  case TIDE_ROLE_REALLOC_ARRAY:
  case TIDE_ROLE_REALLOC_FOURTH:
  case TIDE_ROLE_RESIZE_IN_PLACE:
  case TIDE_ROLE_ARENA_REALLOC: return TIDE_CALL_REALLOC;
  case TIDE_ROLE_ALLOC:
  case TIDE_ROLE_ALLOC_ALIGNED:
  case TIDE_ROLE_ALLOC_SECOND:
  case TIDE_ROLE_POSIX:
  case TIDE_ROLE_ARENA_ALIGNED: break;
  default: return TIDE_CALL_MALLOC;
  }
  if (strncmp(name, "_Zn", 3) == 0)
    return TIDE_CALL_NEW;
  if (strstr(name, "zalloc") || strstr(name, "_zeroed"))
    return TIDE_CALL_CALLOC;
  return role != TIDE_ROLE_ALLOC || strstr(name, "valloc") ? TIDE_CALL_ALIGNED : TIDE_CALL_MALLOC;
}
