// SPDX-License-Identifier: Apache-2.0
//
// The agent's file made ready to lie somewhere in a process: segments side by side, relocations
// done, so that nothing there has to load it. It needs no library, no TLS and no symbol of others;
// a file that does is refused.
#pragma once
#include "symbol/elf.h"

struct tide_agent_image {
  struct tide_elf *elf;
  uint8_t *bytes; // all of it, zeros at its end included
  uint64_t n_bytes;
  uint64_t code_bytes; // from the beginning: to be read and executed; the rest is for writing
  uint64_t base;       // where it is relocated to; 0: nowhere yet
};

enum tide_err tide_agent_image_read(const char *path, struct tide_agent_image *ret_image,
                                    struct tide_diag *diag);
void tide_agent_image_done(struct tide_agent_image *image);

// Relocates it, once.
enum tide_err tide_agent_image_place(struct tide_agent_image *image, uint64_t base,
                                     struct tide_diag *diag);
// The address of a symbol once it is placed; 0: it has none of that name.
uint64_t tide_agent_image_find(const struct tide_agent_image *image, const char *name);
