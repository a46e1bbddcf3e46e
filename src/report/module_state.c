// SPDX-License-Identifier: Apache-2.0
//
// Recorded objects against the files of today.
#include "report/module_state.h"

#include <stdio.h>
#include <unistd.h>

const char *tide_module_state(struct tide_symboliser *symboliser, const struct tide_module *module,
                              const char **ret_note)
{
  uint32_t id =
      tide_symboliser_add(symboliser, module->path, module->build_id, module->build_id_len);
  const struct tide_symbol_object *object = tide_symboliser_object(symboliser, id);
  *ret_note = object ? object->note : "";
  if (object && object->opened)
    return object->has_debug_info ? "lines" : "names";
  if (module->path[0] == '[')
    return "kernel";
  return access(module->path, F_OK) == 0 ? "changed" : "gone";
}

void tide_module_build_id(const struct tide_module *module, char out[65])
{
  uint32_t n = module->build_id_len < 32 ? module->build_id_len : 32;
  out[0] = 0;
  for (uint32_t i = 0; i < n; i++)
    snprintf(out + 2 * i, 3, "%02x", module->build_id[i]);
}
