// SPDX-License-Identifier: Apache-2.0
//
// The header's functions are weak: a dynamic program that calls one has its name among the symbols
// that it does not define, recorder or not. A static one has resolved them to nothing, and cannot
// be told from one that does not ask. One with a door (doors.c) can be answered. Read from outside,
// once the process runs again.
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

static bool is_door(Elf *elf, const GElf_Shdr *header)
{
  size_t names;
  const char *name =
      elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, header->sh_name);
  return header->sh_type == SHT_NOTE && name && !strcmp(name, ".note.tidemark");
}

bool tide_program_asks_in_vain(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  elf_version(EV_CURRENT);
  Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
  bool asks = false, has_door = false;
  for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    if (!gelf_getshdr(scn, &header))
      continue;
    asks |= header.sh_type == SHT_DYNSYM && section_asks(elf, scn, &header);
    has_door |= is_door(elf, &header);
  }
  elf_end(elf);
  if (fd >= 0)
    close(fd);
  return asks && !has_door;
}
