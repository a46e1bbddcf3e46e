// SPDX-License-Identifier: Apache-2.0
//
// Code coming and going. dlopen looks at its caller (for $ORIGIN and RUNPATH), so ours must leave
// no frame: it jumps. New code needs no notice; it is met when it first stands in a stack.

#include "record/modules.h"
#include "preload/hook.h"

#include <dlfcn.h>

void *dlopen(const char *file, int mode)
{
  if (TIDE_UNLIKELY(!tide_real.dlopen))
    tide_real_resolve();
  return tide_real.dlopen(file, mode);
}

int dlclose(void *handle)
{
  tide_real_resolve();
  int ret = tide_real.dlclose(handle);
  struct tide_thread *t = tide_enter(&tide_self);
  if (t) {
    tide_modules_unloaded();
    tide_leave(t);
  }
  return ret;
}
