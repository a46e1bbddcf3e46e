// SPDX-License-Identifier: Apache-2.0
//
// What an executable file tells about itself that matters to the recorder. The file may be damaged
// or not be an ELF file at all: every offset is checked.
#pragma once
#include <stdbool.h>

struct tide_target_elf {
  bool is_elf;
  bool is_32_bit, is_other_machine;
  char loader[256];   // the dynamic loader it asks for; "" when it is static
  char allocator[64]; // the allocator it carries, named if known (of a static program only then);
                      // "" when it uses libc's
  char sanitizer[64]; // "AddressSanitizer" and the like; "" when there is none
};

void tide_target_elf_read(const char *path, struct tide_target_elf *ret_elf);

// The sanitizer whose runtime a value of LD_PRELOAD names, which insists on being the first; NULL:
// none.
const char *tide_target_sanitizer_in(const char *preload);
