// SPDX-License-Identifier: Apache-2.0
//
// Does a program bring an allocator of its own, which the hooks would not see? Told by the global
// symbols that its file defines: a few microseconds where it is stripped. What is too large to be
// looked at is taken to bring none.
#pragma once
#include <elf.h>
#include <stdbool.h>

bool tide_exec_allocator_inside(long fd, const Elf64_Ehdr *elf);
