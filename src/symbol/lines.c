// SPDX-License-Identifier: Apache-2.0
//
// Runs a line-number program and keeps its rows, sequence by sequence. A sequence is a run of rows
// with rising addresses, closed by an end row; a look-up finds the sequence by range, then the last
// row at or before the address.
//
// 1. All bytes are read through a cursor that cannot leave its section.
// 2. Every step of every loop takes at least one byte, so a damaged table ends.
// 3. Sequences that do not lie in code are dropped: the linker sets those of discarded functions
//    to 0 or near it.
#include "symbol/dwarf.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/elf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

struct row {
  uint64_t addr;
  uint32_t line, file;
};

struct sequence {
  size_t first_row, n_rows;
};

struct file {
  const char *name; // in a section; NULL when it could not be read
  uint64_t dir;
  char *path; // owned; made when first asked for
};

struct tide_lines {
  const char *comp_dir;
  const char **dirs; // in a section each, may be NULL
  size_t n_dirs, dirs_cap;
  struct file *files;
  size_t n_files, files_cap;
  struct row *rows;
  size_t n_rows, rows_cap;
  struct sequence *sequences;
  size_t n_sequences, sequences_cap;
  struct tide_ranges ranges; // value: index in sequences
};

struct program { // the header of a table, and the state of its machine
  struct tide_cursor at;
  bool wide; // 64-bit DWARF: offsets have 8 bytes
  unsigned version;
  unsigned min_instruction_bytes;
  int line_base;
  unsigned line_range, opcode_base;
  const uint8_t *operands_n; // of the standard opcodes, from opcode 1 on
  struct row row;
  size_t first_row; // of the running sequence
};

static void add_dir(struct tide_lines *lines, const char *dir)
{
  TIDE_GROW(lines->dirs, lines->n_dirs, lines->dirs_cap);
  lines->dirs[lines->n_dirs++] = dir;
}

static void add_file(struct tide_lines *lines, const char *name, uint64_t dir)
{
  TIDE_GROW(lines->files, lines->n_files, lines->files_cap);
  lines->files[lines->n_files++] = (struct file){.name = name, .dir = dir};
}

// A string that ends within the cursor's bytes; NULL and a bad cursor otherwise.
static const char *read_string(struct tide_cursor *c)
{
  size_t left = tide_cursor_left(c);
  const uint8_t *end = left ? memchr(c->at, 0, left) : NULL;
  return (const char *)tide_cursor_bytes(c, end ? (size_t)(end - c->at) + 1 : left + 1);
}

static const char *string_at(const struct tide_section *section, uint64_t offset)
{
  if (!section->data || offset >= section->n)
    return NULL;
  struct tide_cursor c = tide_cursor_make(section->data + offset, section->n - (size_t)offset);
  return read_string(&c);
}

// tide_cursor_u8() without the call: most of a table is single bytes.
static inline uint8_t next_byte(struct tide_cursor *c)
{
  return c->at < c->end && !c->bad ? *c->at++ : tide_cursor_u8(c);
}

static inline uint64_t next_number(struct tide_cursor *c)
{
  if (c->at < c->end && !c->bad && *c->at < 0x80)
    return *c->at++;
  return tide_cursor_varint(c);
}

static int64_t read_signed(struct tide_cursor *c)
{
  uint64_t v = 0;
  unsigned shift = 0;
  uint8_t byte;
  do {
    byte = next_byte(c);
    if (shift < 64)
      v |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80 && !c->bad);
  if (shift < 64 && byte & 0x40)
    v |= ~(uint64_t)0 << shift;
  return (int64_t)v;
}

static uint64_t read_offset(struct program *p)
{
  return p->wide ? tide_cursor_u64(&p->at) : tide_cursor_u32(&p->at);
}

struct value { // of one field of a version 5 entry
  const char *text;
  uint64_t number;
};

static struct value read_form(const struct tide_line_source *source, struct program *p,
                              uint64_t form)
{
  struct tide_cursor *c = &p->at;
  struct value v = {0};
  switch (form) {
  case DW_FORM_string: v.text = read_string(c); break;
  case DW_FORM_line_strp: v.text = string_at(&source->line_str, read_offset(p)); break;
  case DW_FORM_strp: v.text = string_at(&source->str, read_offset(p)); break;
  case DW_FORM_udata: v.number = tide_cursor_varint(c); break;
  case DW_FORM_data1: v.number = tide_cursor_u8(c); break;
  case DW_FORM_data2: v.number = tide_cursor_u16(c); break;
  case DW_FORM_data4: v.number = tide_cursor_u32(c); break;
  case DW_FORM_data8: v.number = tide_cursor_u64(c); break;
  case DW_FORM_data16: tide_cursor_bytes(c, 16); break;
  case DW_FORM_block: {
    uint64_t n = tide_cursor_varint(c);
    tide_cursor_bytes(c, n <= tide_cursor_left(c) ? (size_t)n : SIZE_MAX);
    break;
  }
  default: c->bad = true; // its size is not known, so nothing behind it can be read
  }
  return v;
}

// Version 5: a description of the fields, then the entries. Directories and files alike.
static void read_entries(struct tide_lines *lines, const struct tide_line_source *source,
                         struct program *p, bool are_files)
{
  uint64_t types[256], forms[256];
  unsigned n_fields = tide_cursor_u8(&p->at);
  for (unsigned i = 0; i < n_fields; i++) {
    types[i] = tide_cursor_varint(&p->at);
    forms[i] = tide_cursor_varint(&p->at);
  }
  uint64_t n_entries = tide_cursor_varint(&p->at);
  if (n_fields == 0)
    return; // entries of no bytes: only damage asks for any
  for (uint64_t i = 0; i < n_entries && !p->at.bad; i++) {
    const char *path = NULL;
    uint64_t dir = 0;
    for (unsigned field = 0; field < n_fields; field++) {
      struct value v = read_form(source, p, forms[field]);
      if (types[field] == DW_LNCT_path)
        path = v.text;
      else if (types[field] == DW_LNCT_directory_index)
        dir = v.number;
    }
    if (p->at.bad)
      return;
    if (are_files)
      add_file(lines, path, dir);
    else
      add_dir(lines, path);
  }
}

static void read_old_file(struct tide_lines *lines, struct program *p, const char *name)
{
  uint64_t dir = tide_cursor_varint(&p->at);
  tide_cursor_varint(&p->at); // time of last change
  tide_cursor_varint(&p->at); // size
  if (!p->at.bad)
    add_file(lines, name, dir);
}

// Version 2 to 4: lists ended by an empty string. Directory 0 is comp_dir, file 0 is none.
static void read_old_entries(struct tide_lines *lines, struct program *p)
{
  add_dir(lines, lines->comp_dir);
  const char *text;
  while ((text = read_string(&p->at)) && *text)
    add_dir(lines, text);
  add_file(lines, NULL, 0);
  while ((text = read_string(&p->at)) && *text)
    read_old_file(lines, p, text);
}

// Leaves the cursor at the first opcode and ends it with the table.
static bool read_header(struct tide_lines *lines, const struct tide_line_source *source,
                        struct program *p)
{
  uint64_t n = tide_cursor_u32(&p->at);
  p->wide = n == 0xffffffff;
  if (p->wide)
    n = tide_cursor_u64(&p->at);
  if (n < tide_cursor_left(&p->at))
    p->at.end = p->at.at + n;
  p->version = tide_cursor_u16(&p->at);
  if (p->version < 2 || p->version > 5)
    return false;
  if (p->version == 5)
    tide_cursor_bytes(&p->at, 2); // sizes of addresses and segment selectors
  uint64_t header_bytes = read_offset(p);
  if (p->at.bad || header_bytes > tide_cursor_left(&p->at))
    return false;
  const uint8_t *first_opcode = p->at.at + header_bytes;
  p->min_instruction_bytes = tide_cursor_u8(&p->at);
  if (p->version >= 4)
    tide_cursor_u8(&p->at); // operations per instruction: 1 outside of VLIW machines
  tide_cursor_u8(&p->at);   // default_is_stmt: every row serves us
  p->line_base = (int8_t)tide_cursor_u8(&p->at);
  p->line_range = tide_cursor_u8(&p->at);
  p->opcode_base = tide_cursor_u8(&p->at);
  if (p->opcode_base == 0 || p->line_range == 0)
    return false;
  p->operands_n = tide_cursor_bytes(&p->at, p->opcode_base - 1);
  if (!p->operands_n)
    return false;
  if (p->version == 5) {
    read_entries(lines, source, p, false);
    read_entries(lines, source, p, true);
  } else {
    read_old_entries(lines, p);
  }
  p->at.at = first_opcode; // rows are worth having even if the names were not understood
  p->at.bad = false;
  return true;
}

static void start_sequence(struct tide_lines *lines, struct program *p)
{
  p->row = (struct row){.line = 1, .file = 1};
  p->first_row = lines->n_rows;
}

static void emit_row(struct tide_lines *lines, const struct program *p)
{
  if (lines->n_rows > p->first_row) {
    struct row *last = &lines->rows[lines->n_rows - 1];
    if (last->file == p->row.file && last->line == p->row.line)
      return; // only the column is new
    if (last->addr == p->row.addr) {
      *last = p->row; // the last row of an address is the one that counts
      return;
    }
  }
  TIDE_GROW(lines->rows, lines->n_rows, lines->rows_cap);
  lines->rows[lines->n_rows++] = p->row;
}

static void end_sequence(struct tide_lines *lines, const struct tide_line_source *source,
                         struct program *p)
{
  if (lines->n_rows > p->first_row) {
    uint64_t lo = lines->rows[p->first_row].addr, hi = p->row.addr;
    if (lo >= source->code_lo && hi <= source->code_hi && lo < hi) {
      TIDE_GROW(lines->sequences, lines->n_sequences, lines->sequences_cap);
      tide_ranges_add(&lines->ranges, lo, hi, (uint32_t)lines->n_sequences);
      lines->sequences[lines->n_sequences++] =
          (struct sequence){p->first_row, lines->n_rows - p->first_row};
    } else {
      lines->n_rows = p->first_row;
    }
  }
  start_sequence(lines, p);
}

static void run_extended(struct tide_lines *lines, const struct tide_line_source *source,
                         struct program *p)
{
  uint64_t n = tide_cursor_varint(&p->at);
  if (p->at.bad || n == 0 || n > tide_cursor_left(&p->at)) {
    p->at.bad = true;
    return;
  }
  const uint8_t *next = p->at.at + n;
  switch (tide_cursor_u8(&p->at)) {
  case DW_LNE_end_sequence: end_sequence(lines, source, p); break;
  case DW_LNE_set_address:
    p->row.addr = n == 9 ? tide_cursor_u64(&p->at) : tide_cursor_u32(&p->at);
    break;
  case DW_LNE_define_file: {
    const char *name = read_string(&p->at);
    if (name)
      read_old_file(lines, p, name);
    break;
  }
  default: break; // discriminators and what vendors added
  }
  p->at.at = next;
}

static void run_standard(struct tide_lines *lines, struct program *p, unsigned opcode)
{
  struct tide_cursor *c = &p->at;
  switch (opcode) {
  case DW_LNS_copy: emit_row(lines, p); break;
  case DW_LNS_advance_pc: p->row.addr += next_number(c) * p->min_instruction_bytes; break;
  case DW_LNS_advance_line: p->row.line += (uint32_t)read_signed(c); break;
  case DW_LNS_set_file: p->row.file = (uint32_t)next_number(c); break;
  case DW_LNS_const_add_pc:
    p->row.addr += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_instruction_bytes;
    break;
  case DW_LNS_fixed_advance_pc: p->row.addr += tide_cursor_u16(c); break;
  default:
    for (unsigned i = 0; i < p->operands_n[opcode - 1]; i++)
      next_number(c);
  }
}

static void run_line_program(struct tide_lines *lines, const struct tide_line_source *source,
                             struct program *p)
{
  start_sequence(lines, p);
  while (tide_cursor_left(&p->at) && !p->at.bad) {
    unsigned opcode = next_byte(&p->at);
    if (opcode == 0) {
      run_extended(lines, source, p);
    } else if (opcode < p->opcode_base) {
      run_standard(lines, p, opcode);
    } else {
      unsigned step = opcode - p->opcode_base;
      p->row.addr += (uint64_t)(step / p->line_range) * p->min_instruction_bytes;
      p->row.line += (uint32_t)(p->line_base + (int)(step % p->line_range));
      emit_row(lines, p);
    }
  }
}

struct tide_lines *tide_lines_new(const struct tide_line_source *source, uint64_t offset,
                                  const char *comp_dir)
{
  struct tide_lines *lines = tide_alloc(sizeof *lines);
  lines->comp_dir = comp_dir;
  if (!source->line.data || offset >= source->line.n)
    return lines;
  struct program p = {
      .at = tide_cursor_make(source->line.data + offset, source->line.n - (size_t)offset)};
  if (read_header(lines, source, &p))
    run_line_program(lines, source, &p);
  tide_ranges_sort(&lines->ranges);
  return lines;
}

void tide_lines_free(struct tide_lines *lines)
{
  if (!lines)
    return;
  for (size_t i = 0; i < lines->n_files; i++)
    free(lines->files[i].path);
  free(lines->files);
  free(lines->dirs);
  free(lines->rows);
  free(lines->sequences);
  tide_ranges_done(&lines->ranges);
  free(lines);
}

static char *join_path(const char *dir, const char *path)
{
  return path[0] == '/' || !dir ? tide_strdup(path) : tide_sprintf("%s/%s", dir, path);
}

// clang calls what stands beside the source "./chain.h", gcc "chain.h": one file has one path.
static void drop_dots(char *path)
{
  for (char *at = path; (at = strstr(at, "/./"));)
    memmove(at, at + 2, strlen(at + 2) + 1);
}

const char *tide_lines_file(struct tide_lines *lines, uint64_t number)
{
  struct file *file = number < lines->n_files ? &lines->files[number] : NULL;
  if (!file || !file->name)
    return NULL;
  if (!file->path) {
    const char *dir = file->dir < lines->n_dirs ? lines->dirs[file->dir] : NULL;
    bool is_comp_dir = dir && lines->comp_dir && strcmp(dir, lines->comp_dir) == 0;
    TIDE_CLEANUP_FREE char *whole_dir =
        is_comp_dir || !dir ? tide_strdup(dir) : join_path(lines->comp_dir, dir);
    file->path = join_path(whole_dir, file->name);
    drop_dots(file->path);
  }
  return file->path;
}

bool tide_lines_find(struct tide_lines *lines, uint64_t addr, const char **ret_file,
                     uint32_t *ret_line)
{
  const struct tide_address_range *found = tide_ranges_find(&lines->ranges, addr);
  if (!found)
    return false;
  const struct sequence *sequence = &lines->sequences[found->value];
  const struct row *rows = lines->rows + sequence->first_row;
  size_t low = 0, high = sequence->n_rows; // the answer is in [low, high)
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (rows[middle].addr <= addr)
      low = middle;
    else
      high = middle;
  }
  *ret_file = tide_lines_file(lines, rows[low].file);
  *ret_line = rows[low].line;
  return true;
}
