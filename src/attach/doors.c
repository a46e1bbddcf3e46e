// SPDX-License-Identifier: Apache-2.0
//
// Where programs and libraries that have tidemark.h ask their recorder: a function that their file
// tells of by a note, which is there in stripped files, too. From the program headers, and checked:
// whatever a file holds, the function lies in its code or there is none.
#include "attach/families.h"
#include "base/alloc.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

static const char NAME[] = "Tidemark";
enum { KIND_DOOR = 0x746d, MOST_NOTE_BYTES = 1 << 20, MOST_DOOR_BYTES = 64 };

struct told {       // by the note
  int32_t distance; // from here to the function
  uint32_t bytes;
};

static bool is_entered(const struct tide_hookables *entries, uint64_t at)
{
  for (size_t i = 0; i < entries->n; i++)
    if (entries->all[i].at == at)
      return true;
  return false;
}

static void take_door(const struct tide_loaded *loaded, uint64_t at, uint64_t bytes,
                      struct tide_hookables *entries)
{
  if (at < loaded->code_lo || at >= loaded->code_hi || bytes > MOST_DOOR_BYTES ||
      is_entered(entries, at))
    return;
  TIDE_GROW(entries->all, entries->n, entries->cap);
  struct tide_hookable *entry = &entries->all[entries->n++];
  *entry = (struct tide_hookable){.loaded = loaded,
                                  .family = TIDE_FAMILY_PAGES, // no allocator's
                                  .role = TIDE_ROLE_ASK,
                                  .at = at,
                                  .bytes = bytes};
  snprintf(entry->name, sizeof entry->name, "tidemark.h");
}

// address: the file's, of the first byte of the notes.
static void look_through_notes(const struct tide_loaded *loaded, Elf_Data *notes, uint64_t address,
                               struct tide_hookables *entries)
{
  GElf_Nhdr note;
  size_t at = 0, name, desc;
  while (at < notes->d_size && (at = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
    struct told told;
    const char *bytes = notes->d_buf;
    if (note.n_type != KIND_DOOR || note.n_namesz != sizeof NAME || note.n_descsz < sizeof told ||
        memcmp(bytes + name, NAME, sizeof NAME) != 0)
      continue;
    memcpy(&told, bytes + desc, sizeof told);
    uint64_t here = loaded->bias + address + desc;
    take_door(loaded, here + (uint64_t)(int64_t)told.distance, told.bytes, entries);
  }
}

static void look_into(const struct tide_loaded *loaded, struct tide_hookables *entries)
{
  Elf *elf = loaded->elf->elf;
  size_t n = 0;
  GElf_Phdr header;
  elf_getphdrnum(elf, &n);
  for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &header); i++) {
    if (header.p_type != PT_NOTE || header.p_filesz > MOST_NOTE_BYTES)
      continue;
    Elf_Data *notes = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
                                           header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (notes && notes->d_buf)
      look_through_notes(loaded, notes, header.p_vaddr, entries);
  }
}

void tide_hookables_find_doors(const struct tide_loaded_list *list, struct tide_hookables *entries)
{
  for (size_t i = 0; i < list->n; i++)
    look_into(&list->all[i], entries);
}
