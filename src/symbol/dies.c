// SPDX-License-Identifier: Apache-2.0
//
// Walking the entries of a unit: an abbreviation code says what attributes follow and whether
// children do, so each entry is stepped over by the forms of its attributes.
//
// 1. All bytes are read through a cursor that cannot leave the unit.
// 2. Every step takes at least one byte, so a damaged unit ends.
// 3. owners[d] is the kept entry around what is at depth d; lexical blocks and other entries that
//    are not kept do not show.
#include "symbol/dwarf.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/lookup.h"

#include <dwarf.h>
#include <stdlib.h>

#define DEPTH_MAX 1024
#define CODE_MAX (1 << 20)
#define FORM_UNKNOWN (-1)
#define FORM_VARIES (-2)

struct abbrev {
  uint16_t tag; // 0: no such code
  bool has_children, has_code;
  int32_t fixed_bytes; // of all attributes, or FORM_VARIES
  uint32_t first_form, n_forms;
};

struct reader {
  struct tide_cursor at;
  unsigned version, address_bytes, offset_bytes;
  struct abbrev *abbrevs; // by code
  size_t n_abbrevs;
  uint16_t *forms; // of all abbreviations
  size_t n_forms, forms_cap;
};

// Bytes of a value in this form, or FORM_VARIES.
static int form_bytes(const struct reader *r, unsigned form)
{
  switch (form) {
  case DW_FORM_flag_present:
  case DW_FORM_implicit_const: return 0;
  case DW_FORM_data1:
  case DW_FORM_ref1:
  case DW_FORM_flag:
  case DW_FORM_strx1:
  case DW_FORM_addrx1: return 1;
  case DW_FORM_data2:
  case DW_FORM_ref2:
  case DW_FORM_strx2:
  case DW_FORM_addrx2: return 2;
  case DW_FORM_strx3:
  case DW_FORM_addrx3: return 3;
  case DW_FORM_data4:
  case DW_FORM_ref4:
  case DW_FORM_ref_sup4:
  case DW_FORM_strx4:
  case DW_FORM_addrx4: return 4;
  case DW_FORM_data8:
  case DW_FORM_ref8:
  case DW_FORM_ref_sup8:
  case DW_FORM_ref_sig8: return 8;
  case DW_FORM_data16: return 16;
  case DW_FORM_addr: return (int)r->address_bytes;
  case DW_FORM_ref_addr: return (int)(r->version == 2 ? r->address_bytes : r->offset_bytes);
  case DW_FORM_strp:
  case DW_FORM_line_strp:
  case DW_FORM_strp_sup:
  case DW_FORM_sec_offset:
  case DW_FORM_GNU_ref_alt:
  case DW_FORM_GNU_strp_alt: return (int)r->offset_bytes;
  case DW_FORM_udata:
  case DW_FORM_sdata:
  case DW_FORM_ref_udata:
  case DW_FORM_strx:
  case DW_FORM_addrx:
  case DW_FORM_loclistx:
  case DW_FORM_rnglistx:
  case DW_FORM_GNU_addr_index:
  case DW_FORM_GNU_str_index:
  case DW_FORM_string:
  case DW_FORM_block1:
  case DW_FORM_block2:
  case DW_FORM_block4:
  case DW_FORM_block:
  case DW_FORM_exprloc:
  case DW_FORM_indirect: return FORM_VARIES;
  default: return FORM_UNKNOWN;
  }
}

static void skip_bytes(struct tide_cursor *c, uint64_t n)
{
  if (n > tide_cursor_left(c))
    c->bad = true;
  else
    c->at += n;
}

static void skip_leb(struct tide_cursor *c)
{
  while (tide_cursor_u8(c) & 0x80)
    ;
}

static void skip_string(struct tide_cursor *c)
{
  while (tide_cursor_u8(c))
    ;
}

static void skip_form(struct reader *r, uint64_t form)
{
  struct tide_cursor *c = &r->at;
  if (form == DW_FORM_indirect)
    form = tide_cursor_varint(c);
  int n = form <= UINT16_MAX ? form_bytes(r, (unsigned)form) : FORM_UNKNOWN;
  if (n >= 0) {
    skip_bytes(c, (uint64_t)n);
    return;
  }
  switch (form) {
  case DW_FORM_string: skip_string(c); break;
  case DW_FORM_block1: skip_bytes(c, tide_cursor_u8(c)); break;
  case DW_FORM_block2: skip_bytes(c, tide_cursor_u16(c)); break;
  case DW_FORM_block4: skip_bytes(c, tide_cursor_u32(c)); break;
  case DW_FORM_block:
  case DW_FORM_exprloc: skip_bytes(c, tide_cursor_varint(c)); break;
  case DW_FORM_indirect: c->bad = true; break; // twice
  default:
    if (n == FORM_UNKNOWN)
      c->bad = true;
    else
      skip_leb(c);
  }
}

static void add_form(struct reader *r, struct abbrev *a, uint64_t form)
{
  TIDE_GROW(r->forms, r->n_forms, r->forms_cap);
  r->forms[r->n_forms++] = form <= UINT16_MAX ? (uint16_t)form : 0; // 0 is no form
  a->n_forms++;
  int n = form_bytes(r, r->forms[r->n_forms - 1]);
  if (n < 0 || a->fixed_bytes > 1 << 20)
    a->fixed_bytes = FORM_VARIES;
  else if (a->fixed_bytes >= 0)
    a->fixed_bytes += n;
}

static struct abbrev *abbrev_slot(struct reader *r, uint64_t code)
{
  if (code >= r->n_abbrevs) {
    size_t n = (size_t)code + 1 > r->n_abbrevs * 2 ? (size_t)code + 1 : r->n_abbrevs * 2;
    r->abbrevs = tide_realloc_array(r->abbrevs, n, sizeof *r->abbrevs);
    for (size_t i = r->n_abbrevs; i < n; i++)
      r->abbrevs[i] = (struct abbrev){0};
    r->n_abbrevs = n;
  }
  return &r->abbrevs[code];
}

static void read_abbrevs(struct reader *r, const struct tide_section *section, uint64_t offset)
{
  if (!section->data || offset >= section->n)
    return;
  struct tide_cursor c = tide_cursor_make(section->data + offset, section->n - (size_t)offset);
  for (;;) {
    uint64_t code = tide_cursor_varint(&c), tag = tide_cursor_varint(&c);
    if (c.bad || code == 0 || code > CODE_MAX)
      return;
    struct abbrev *a = abbrev_slot(r, code);
    *a = (struct abbrev){.first_form = (uint32_t)r->n_forms};
    a->has_children = tide_cursor_u8(&c) != 0;
    for (;;) {
      uint64_t name = tide_cursor_varint(&c), form = tide_cursor_varint(&c);
      if (c.bad || (name == 0 && form == 0))
        break;
      if (form == DW_FORM_implicit_const)
        skip_leb(&c);
      if (name == DW_AT_low_pc || name == DW_AT_ranges)
        a->has_code = true;
      add_form(r, a, form);
    }
    a->tag = tag <= UINT16_MAX ? (uint16_t)tag : DW_TAG_hi_user;
  }
}

// Leaves the cursor at the first entry and ends it with the unit.
static bool read_header(struct reader *r, const struct tide_section *abbrev)
{
  struct tide_cursor *c = &r->at;
  uint64_t n = tide_cursor_u32(c), abbrev_offset;
  r->offset_bytes = n == 0xffffffff ? 8 : 4;
  if (n == 0xffffffff)
    n = tide_cursor_u64(c);
  if (n < tide_cursor_left(c))
    c->end = c->at + n;
  r->version = tide_cursor_u16(c);
  unsigned type = DW_UT_compile;
  if (r->version == 5) {
    type = tide_cursor_u8(c);
    r->address_bytes = tide_cursor_u8(c);
  }
  abbrev_offset = r->offset_bytes == 8 ? tide_cursor_u64(c) : tide_cursor_u32(c);
  if (r->version < 5)
    r->address_bytes = tide_cursor_u8(c);
  if (type == DW_UT_skeleton || type == DW_UT_split_compile)
    tide_cursor_u64(c); // identity of the split unit
  if (c->bad || r->version < 2 || r->version > 5)
    return false;
  read_abbrevs(r, abbrev, abbrev_offset);
  return true;
}

static bool is_kept(unsigned tag)
{
  switch (tag) {
  case DW_TAG_subprogram:
  case DW_TAG_inlined_subroutine:
  case DW_TAG_namespace:
  case DW_TAG_module:
  case DW_TAG_structure_type:
  case DW_TAG_class_type:
  case DW_TAG_union_type:
  case DW_TAG_enumeration_type:
  case DW_TAG_interface_type: return true;
  default: return false;
  }
}

static uint32_t keep_die(struct tide_dies *dies, const struct abbrev *a, uint64_t offset,
                         uint32_t parent)
{
  TIDE_GROW(dies->items, dies->n, dies->cap);
  dies->items[dies->n] = (struct tide_die){.offset = offset,
                                           .parent = parent,
                                           .end = (uint32_t)dies->n + 1,
                                           .tag = a->tag,
                                           .has_code = a->has_code};
  return (uint32_t)dies->n++;
}

// All that is within has been read. Types without functions, most of all types, are of no use.
static void close_entry(struct tide_dies *dies, uint32_t idx)
{
  struct tide_die *die = &dies->items[idx];
  die->end = (uint32_t)dies->n;
  if (die->end == idx + 1 && die->tag != DW_TAG_subprogram && die->tag != DW_TAG_inlined_subroutine)
    dies->n = idx;
}

static void walk(struct reader *r, struct tide_dies *dies, const uint8_t *section_start)
{
  uint32_t owners[DEPTH_MAX + 1] = {TIDE_DIE_NONE};
  unsigned depth = 0;
  while (tide_cursor_left(&r->at)) {
    uint64_t offset = (uint64_t)(r->at.at - section_start);
    // Most codes are one byte: the general case is a call.
    uint64_t code = *r->at.at < 0x80 ? *r->at.at++ : tide_cursor_varint(&r->at);
    if (code == 0 && depth > 0) {
      uint32_t closed = owners[depth--];
      if (closed != owners[depth])
        close_entry(dies, closed);
      continue;
    }
    const struct abbrev *a = code < r->n_abbrevs ? &r->abbrevs[code] : NULL;
    if (!a || a->tag == 0)
      break; // the padding at the end, or damage
    if (a->fixed_bytes >= 0)
      skip_bytes(&r->at, (uint64_t)a->fixed_bytes);
    for (uint32_t i = 0; a->fixed_bytes < 0 && i < a->n_forms; i++)
      skip_form(r, r->forms[a->first_form + i]);
    if (r->at.bad)
      break;
    uint32_t owner = owners[depth];
    if (is_kept(a->tag))
      owner = keep_die(dies, a, offset, owner);
    if (!a->has_children && owner != owners[depth])
      close_entry(dies, owner);
    if (!a->has_children)
      continue;
    if (depth == DEPTH_MAX)
      break;
    owners[++depth] = owner;
  }
  for (; depth > 0; depth--)
    if (owners[depth] != owners[depth - 1])
      close_entry(dies, owners[depth]);
}

void tide_dies_read(struct tide_dies *dies, const struct tide_section *info,
                    const struct tide_section *abbrev, uint64_t offset)
{
  if (!info->data || offset >= info->n)
    return;
  struct reader r = {.at = tide_cursor_make(info->data + offset, info->n - (size_t)offset)};
  if (read_header(&r, abbrev))
    walk(&r, dies, info->data);
  free(r.abbrevs);
  free(r.forms);
}

void tide_dies_done(struct tide_dies *dies)
{
  free(dies->items);
  *dies = (struct tide_dies){0};
}

uint32_t tide_dies_find(const struct tide_dies *dies, uint64_t offset)
{
  size_t found = TIDE_FIRST_NOT_BELOW(dies->items, dies->n, offset, offset);
  return found < dies->n && dies->items[found].offset == offset ? (uint32_t)found : TIDE_DIE_NONE;
}
