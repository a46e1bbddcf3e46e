// SPDX-License-Identifier: Apache-2.0
//
// Mangled names to readable ones through libiberty. Rust comes first: its legacy scheme is valid
// C++ mangling too and would otherwise keep the "::h0123456789abcdef" hash. DMGL_VERBOSE stays off
// for the same reason. libiberty bounds its recursion, so hostile names are safe; it gives NULL for
// names it does not understand, and those are handed back as they are.
#include "symbol/symbol.h"

#include "base/alloc.h"

#include <libiberty/demangle.h>

char *tide_demangle(const char *name)
{
  if (name[0] != '_')
    return tide_strdup(name); // no mangling starts otherwise; spares most C names the trouble
  char *text = rust_demangle(name, 0);
  if (!text)
    text = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
  return text ? text : tide_strdup(name);
}
