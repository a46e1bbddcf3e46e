// SPDX-License-Identifier: Apache-2.0
//
// The header's functions are weak: a dynamic program that calls one has its name among the symbols
// that it does not define, recorder or not. A static one has resolved them to nothing, and cannot
// be told from one that does not ask. Read from outside, once the process runs again.
#define _GNU_SOURCE
#include "attach/asks.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define ASKED "tidemark_v1_"

static bool section_asks(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
  Elf_Data *data = elf_getdata(scn, NULL);
  GElf_Sym symbol;
  for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
    const char *name =
        symbol.st_shndx == SHN_UNDEF ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
    if (name && !strncmp(name, ASKED, sizeof ASKED - 1))
      return true;
  }
  return false;
}

bool tide_program_asks(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  elf_version(EV_CURRENT);
  Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
  bool asks = false;
  for (Elf_Scn *scn = NULL; elf && !asks && (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) && header.sh_type == SHT_DYNSYM)
      asks = section_asks(elf, scn, &header);
  }
  elf_end(elf);
  if (fd >= 0)
    close(fd);
  return asks;
}
