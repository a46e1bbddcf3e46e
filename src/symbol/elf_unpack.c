// SPDX-License-Identifier: Apache-2.0
//
// What lies packed in an ELF file, unpacked. It comes from outside: what it may unpack to, and the
// memory that the unpacking itself may take, are bounded far above what distributions ship, far
// below what would hurt.
#define _GNU_SOURCE
#include "symbol/elf.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

// ---- debug sections packed by zstd ----
//
// libelf knows them from 0.189 on. For an older one an ELF file is made in memory: the same section
// headers, debug sections unpacked, all else without its bytes.
//
// 1. What a section says it unpacks to is not believed: memory grows with what came out.
// 2. All sections together may unpack to SECTIONS_UNPACKED_MAX, far more than distributions ship.

#define SECTIONS_UNPACKED_MAX ((size_t)1 << 30)
#define SECTIONS_STEP ((size_t)1 << 20)

// Appends what the bytes unpack to; false unless it is exactly n bytes.
static bool unpack_zstd(struct tide_section packed, uint64_t n, struct tide_buf *out)
{
  ZSTD_DStream *stream = ZSTD_createDStream();
  ZSTD_inBuffer in = {packed.data, packed.n, 0};
  size_t start = out->n, left = 1;
  while (left && !ZSTD_isError(left) && out->n - start <= n && out->n < SECTIONS_UNPACKED_MAX) {
    ZSTD_outBuffer room = {tide_buf_extend(out, SECTIONS_STEP), SECTIONS_STEP, 0};
    left = ZSTD_decompressStream(stream, &room, &in);
    out->n -= SECTIONS_STEP - room.pos;
    if (room.pos == 0 && in.pos == in.size)
      break; // cut short
  }
  ZSTD_freeDStream(stream);
  return left == 0 && out->n - start == n;
}

static bool is_for_dwarf(const char *name)
{
  return strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0 ||
         strncmp(name, ".gnu_debug", 10) == 0;
}

// Appends the bytes of a section and turns its header into that of the copy.
static bool add_section(Elf_Scn *scn, Elf64_Shdr *header, struct tide_buf *out)
{
  Elf_Data *raw = elf_rawdata(scn, NULL);
  GElf_Chdr packed;
  if (!raw || (raw->d_size && !raw->d_buf))
    return false;
  while (out->n % 8)
    tide_buf_u8(out, 0);
  header->sh_offset = out->n;
  if (!(header->sh_flags & SHF_COMPRESSED) || !gelf_getchdr(scn, &packed) ||
      packed.ch_type != ELFCOMPRESS_ZSTD) {
    tide_buf_append(out, raw->d_buf, raw->d_size);
    return true;
  }
  if (raw->d_size < sizeof(Elf64_Chdr) ||
      !unpack_zstd((struct tide_section){(const uint8_t *)raw->d_buf + sizeof(Elf64_Chdr),
                                         raw->d_size - sizeof(Elf64_Chdr)},
                   packed.ch_size, out))
    return false;
  header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
  header->sh_size = packed.ch_size;
  header->sh_addralign = packed.ch_addralign;
  return true;
}

static bool add_sections(Elf *elf, size_t n_sections, Elf64_Shdr *headers, struct tide_buf *out)
{
  size_t names;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return false;
  for (size_t i = 0; i < n_sections; i++) {
    Elf_Scn *scn = elf_getscn(elf, i);
    GElf_Shdr header;
    if (!scn || !gelf_getshdr(scn, &header))
      return false;
    headers[i] = header;
    const char *name = i ? elf_strptr(elf, names, header.sh_name) : NULL;
    bool wanted = i == names || (name && is_for_dwarf(name));
    if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL)
      continue;
    if (!wanted)
      headers[i].sh_type = SHT_NOBITS;
    else if (!add_section(scn, &headers[i], out))
      return false;
  }
  return true;
}

static struct tide_elf *open_unpacked(const struct tide_elf *elf)
{
  GElf_Ehdr header;
  size_t n_sections;
  if (!gelf_getehdr(elf->elf, &header) || elf_getshdrnum(elf->elf, &n_sections) != 0 ||
      n_sections == 0)
    return NULL;
  TIDE_CLEANUP_FREE Elf64_Shdr *headers = tide_alloc_array(n_sections, sizeof *headers);
  struct tide_buf out = {0};
  struct tide_elf *unpacked;
  tide_buf_append(&out, &header, sizeof header);
  if (!add_sections(elf->elf, n_sections, headers, &out)) {
    tide_buf_done(&out);
    return NULL;
  }
  while (out.n % 8)
    tide_buf_u8(&out, 0);
  header.e_shoff = out.n;
  header.e_phoff = header.e_phnum = 0;
  memcpy(out.data, &header, sizeof header);
  tide_buf_append(&out, headers, n_sections * sizeof *headers);
  return tide_elf_open_bytes(elf->path, out.data, out.n, &unpacked, NULL) ? NULL : unpacked;
}

Elf *tide_elf_for_dwarf(struct tide_elf *elf)
{
  if (elf->debug != TIDE_ELF_DEBUG_ZSTD)
    return elf->elf;
  if (!elf->unpacked)
    elf->unpacked = open_unpacked(elf);
  return elf->unpacked ? elf->unpacked->elf : NULL;
}

// ---- MiniDebugInfo, packed by xz ----

#define MINI_UNPACKED_MAX ((size_t)64 << 20)
#define MINI_WORK_MAX ((uint64_t)128 << 20)
#define MINI_STEP ((size_t)256 << 10)

static bool unpack_xz(struct tide_section packed, struct tide_buf *out)
{
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, MINI_WORK_MAX, 0) != LZMA_OK)
    return false;
  stream.next_in = packed.data;
  stream.avail_in = packed.n;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out->n < MINI_UNPACKED_MAX) {
    stream.next_out = tide_buf_extend(out, MINI_STEP);
    stream.avail_out = MINI_STEP;
    result = lzma_code(&stream, LZMA_FINISH);
    out->n -= stream.avail_out;
  }
  lzma_end(&stream);
  return result == LZMA_STREAM_END;
}

struct tide_elf *tide_elf_open_debugdata(const struct tide_elf *elf)
{
  struct tide_section packed = tide_elf_section(elf->elf, "gnu_debugdata");
  struct tide_buf bytes = {0};
  struct tide_elf *found;
  if (!packed.data)
    return NULL;
  if (!unpack_xz(packed, &bytes)) {
    tide_buf_done(&bytes);
    return NULL;
  }
  return tide_elf_open_bytes(elf->path, bytes.data, bytes.n, &found, NULL) ? NULL : found;
}
