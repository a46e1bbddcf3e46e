// SPDX-License-Identifier: Apache-2.0
//
// Is a symbol there at all? dlsym says so too, but where it is not dlsym allocates its message
// through whatever malloc the program has; and that malloc, in the program itself where we do not
// hook it, may be the very one that called us, with its locks held.
#pragma once
#include "rt/base.h"

// Does an object after the one that holds `address`, in the order of loading, define `name`?
bool tide_defined_after(const void *address, const char *name);
