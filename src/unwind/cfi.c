// SPDX-License-Identifier: Apache-2.0
//
// .eh_frame to rules. Only three facts of a row matter to us: how the CFA is computed, and where
// the return address and the frame pointer are saved. Everything else is skipped.
//
// The bytes come from the loader's own mappings of objects that are running right now; they are
// read as trustingly as libgcc reads them when an exception is thrown.
#include "unwind/cfi.h"

#include "rt/arch.h"
#include "unwind/object.h"

#include <string.h>

// LEB128: the bits, and how many there were.
static uint64_t leb(const uint8_t **p, unsigned *ret_bits)
{
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte;
  do {
    byte = *(*p)++;
    if (shift < 64)
      value |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80);
  *ret_bits = shift;
  return value;
}

static uint64_t uleb(const uint8_t **p)
{
  unsigned bits;
  return leb(p, &bits);
}

static int64_t sleb(const uint8_t **p)
{
  unsigned bits;
  uint64_t value = leb(p, &bits);
  if (bits < 64 && value >> (bits - 1) & 1)
    value |= ~0ull << bits;
  return (int64_t)value;
}

static uint64_t fixed(const uint8_t **p, unsigned bytes)
{
  uint64_t value = 0;
  memcpy(&value, *p, bytes); // both architectures are little endian
  *p += bytes;
  return value;
}

// Pointer encodings (DW_EH_PE): low nibble the format, then what it is relative to.
static uint64_t encoded(const uint8_t **p, uint8_t encoding, uint64_t data_base)
{
  if (encoding == 0xff)
    return 0;
  uint64_t base = (encoding & 0x70) == 0x10   ? (uint64_t)*p
                  : (encoding & 0x70) == 0x30 ? data_base
                                              : 0;
  uint64_t value;
  switch (encoding & 0xf) {
  case 1: value = uleb(p); break;
  case 2: value = fixed(p, 2); break;
  case 3: value = fixed(p, 4); break;
  case 9: value = (uint64_t)sleb(p); break;
  case 10: value = (uint64_t)(int64_t)(int16_t)fixed(p, 2); break;
  case 11: value = (uint64_t)(int64_t)(int32_t)fixed(p, 4); break;
  default: value = fixed(p, 8); break;
  }
  if (!value)
    return 0;
  value += base;
  return encoding & 0x80 ? *(uint64_t *)value : value;
}

enum saved { SAME, AT_OFFSET, AT_FP, UNDEFINED, OTHER };

struct row {
  uint64_t cfa_reg;
  int64_t cfa_off;
  const uint8_t *cfa_expr; // NULL: register + offset
  uint64_t cfa_expr_len;
  int64_t off[2]; // [0] frame pointer, [1] return address
  uint8_t how[2]; // enum saved
};

static int column(uint64_t reg)
{
  return reg == TIDE_REG_FRAME ? 0 : reg == TIDE_REG_RETURN ? 1 : -1;
}

static void save(struct row *r, uint64_t reg, enum saved how, int64_t off)
{
  int i = column(reg);
  if (i >= 0) {
    r->how[i] = (uint8_t)how;
    r->off[i] = off;
  }
}

static void restore(struct row *r, uint64_t reg, const struct row *first)
{
  int i = column(reg);
  if (i >= 0 && first) {
    r->how[i] = first->how[i];
    r->off[i] = first->off[i];
  }
}

// A register saved where an expression says: only "at *fp" (x86 realigned frames) is understood.
static void save_by_expression(struct row *r, const uint8_t **p)
{
  uint64_t reg = uleb(p), n = uleb(p);
  bool at_fp = n == 2 && (*p)[0] == 0x70 + TIDE_REG_FRAME && (*p)[1] == 0;
  save(r, reg, at_fp ? AT_FP : OTHER, 0);
  *p += n;
}

struct program { // call frame instructions and what they are measured in
  const uint8_t *at, *end;
  uint64_t code_align;
  int64_t data_align;
};

// An instruction that moves the location. Returns false when it passes pc: the row is complete.
static bool advance(uint64_t *loc, uint64_t by, uint64_t pc)
{
  *loc += by;
  return *loc <= pc;
}

enum { REMEMBER_DEPTH = 8 };

// Runs instructions up to pc. False: an instruction we do not know.
static bool run(struct program g, uint64_t loc, uint64_t pc, struct row *r, const struct row *first)
{
  struct row remembered[REMEMBER_DEPTH];
  int depth = 0;
  const uint8_t **p = &g.at;
  while (g.at < g.end) {
    uint8_t op = *g.at++;
    uint64_t reg;
    switch (op & 0xc0) {
    case 0x40: // advance_loc
      if (!advance(&loc, (op & 0x3f) * g.code_align, pc))
        return true;
      continue;
    case 0x80: save(r, op & 0x3f, AT_OFFSET, (int64_t)uleb(p) * g.data_align); continue;
    case 0xc0: restore(r, op & 0x3f, first); continue;
    }
    switch (op) {
    case 0x00: break; // nop
    case 0x01:        // set_loc
      loc = fixed(p, 8);
      if (loc > pc)
        return true;
      break;
    case 0x02:
      if (!advance(&loc, fixed(p, 1) * g.code_align, pc))
        return true;
      break;
    case 0x03:
      if (!advance(&loc, fixed(p, 2) * g.code_align, pc))
        return true;
      break;
    case 0x04:
      if (!advance(&loc, fixed(p, 4) * g.code_align, pc))
        return true;
      break;
    case 0x05: // offset_extended
      reg = uleb(p);
      save(r, reg, AT_OFFSET, (int64_t)uleb(p) * g.data_align);
      break;
    case 0x06: restore(r, uleb(p), first); break;
    case 0x07: save(r, uleb(p), UNDEFINED, 0); break;
    case 0x08: save(r, uleb(p), SAME, 0); break;
    case 0x09: // register
      reg = uleb(p);
      uleb(p);
      save(r, reg, OTHER, 0);
      break;
    case 0x0a: // remember_state
      if (depth == REMEMBER_DEPTH)
        return false;
      remembered[depth++] = *r;
      break;
    case 0x0b: // restore_state
      if (!depth)
        return false;
      *r = remembered[--depth];
      break;
    case 0x0c: // def_cfa
      r->cfa_reg = uleb(p);
      r->cfa_off = (int64_t)uleb(p);
      r->cfa_expr = NULL;
      break;
    case 0x0d: // def_cfa_register
      r->cfa_reg = uleb(p);
      r->cfa_expr = NULL;
      break;
    case 0x0e: r->cfa_off = (int64_t)uleb(p); break; // def_cfa_offset
    case 0x0f:                                       // def_cfa_expression
      r->cfa_expr_len = uleb(p);
      r->cfa_expr = g.at;
      g.at += r->cfa_expr_len;
      break;
    case 0x10: save_by_expression(r, p); break;
    case 0x11: // offset_extended_sf
      reg = uleb(p);
      save(r, reg, AT_OFFSET, sleb(p) * g.data_align);
      break;
    case 0x12: // def_cfa_sf
      r->cfa_reg = uleb(p);
      r->cfa_off = sleb(p) * g.data_align;
      r->cfa_expr = NULL;
      break;
    case 0x13: r->cfa_off = sleb(p) * g.data_align; break; // def_cfa_offset_sf
    case 0x14:                                             // val_offset
    case 0x15:                                             // val_offset_sf: same length
      reg = uleb(p);
      uleb(p);
      save(r, reg, OTHER, 0);
      break;
    case 0x16: { // val_expression
      reg = uleb(p);
      uint64_t n = uleb(p);
      g.at += n;
      save(r, reg, OTHER, 0);
      break;
    }
    case 0x2d: break;          // aarch64: negate_ra_state
    case 0x2e: uleb(p); break; // GNU_args_size
    case 0x2f:                 // GNU_negative_offset_extended
      reg = uleb(p);
      save(r, reg, AT_OFFSET, -(int64_t)uleb(p) * g.data_align);
      break;
    default: return false;
    }
  }
  return true;
}

// CFA expressions come in two shapes: *(fp + off) in functions that realign their stack, and the
// x86 PLT's "sp + 8, or 16 from the 11th byte of the entry on". The second needs arithmetic on
// the pc, which is known: values are a constant, plus sp once where has_sp is set.
struct value {
  int64_t constant;
  bool has_sp;
};

static bool binary(uint8_t op, struct value a, struct value b, struct value *ret)
{
  if (op == 0x22) { // plus
    *ret = (struct value){a.constant + b.constant, a.has_sp || b.has_sp};
    return !(a.has_sp && b.has_sp);
  }
  if (a.has_sp || b.has_sp)
    return false;
  ret->has_sp = false;
  switch (op) {
  case 0x1a: ret->constant = a.constant & b.constant; return true;
  case 0x24: ret->constant = (int64_t)((uint64_t)a.constant << (b.constant & 63)); return true;
  case 0x2a: ret->constant = a.constant >= b.constant; return true;
  default: return false;
  }
}

static bool evaluate(const uint8_t *p, const uint8_t *end, uint64_t pc, int64_t *ret_offset)
{
  struct value stack[8];
  int n = 0;
  while (p < end) {
    uint8_t op = *p++;
    if (op >= 0x70 && op <= 0x8f) { // breg
      if (n == 8 || (op - 0x70 != TIDE_REG_STACK && op - 0x70 != TIDE_REG_RETURN))
        return false;
      bool is_sp = op - 0x70 == TIDE_REG_STACK;
      stack[n++] = (struct value){sleb(&p) + (is_sp ? 0 : (int64_t)pc), is_sp};
    } else if (op >= 0x30 && op <= 0x4f) { // lit
      if (n == 8)
        return false;
      stack[n++] = (struct value){op - 0x30, false};
    } else if (n < 2 || !binary(op, stack[n - 2], stack[n - 1], &stack[n - 2])) {
      return false;
    } else {
      n--;
    }
  }
  *ret_offset = n == 1 ? stack[0].constant : 0;
  return n == 1 && stack[0].has_sp;
}

static void cfa_from_expression(const struct row *r, uint64_t pc, struct tide_rule *rule)
{
  const uint8_t *x = r->cfa_expr, *end = x + r->cfa_expr_len;
  int64_t offset;
  if (r->cfa_expr_len >= 3 && *x == 0x70 + TIDE_REG_FRAME && end[-1] == 0x06) { // deref
    x++;
    *rule = (struct tide_rule){
        .cfa = (int32_t)sleb(&x), .ra = -8, .fp = TIDE_RULE_AT_FP, .kind = TIDE_RULE_ALIGN};
  } else if (evaluate(x, end, pc, &offset)) {
    *rule =
        (struct tide_rule){.cfa = (int32_t)offset, .ra = (int32_t)r->off[1], .kind = TIDE_RULE_SP};
  }
}

static bool fits(int64_t v)
{
  return v >= INT32_MIN / 2 && v <= INT32_MAX / 2;
}

// Functions that realign their stack say "saved at *fp" until after they have popped it; where the
// CFA is back on sp, the register has its value again.
static int32_t saved_fp(const struct row *r, enum tide_rule_kind kind)
{
  if (r->how[0] == AT_FP)
    return kind == TIDE_RULE_SAVED ? TIDE_RULE_AT_FP : 0;
  return r->how[0] == AT_OFFSET ? (int32_t)r->off[0] : 0;
}

static void row_to_rule(const struct row *r, uint64_t key, struct tide_rule *rule)
{
  if (r->how[1] == UNDEFINED) {
    rule->kind = TIDE_RULE_END;
    return;
  }
  if (r->cfa_expr) {
    cfa_from_expression(r, key & ~TIDE_RULE_EXACT_PC, rule);
    return;
  }
  bool in_lr = r->how[1] == SAME && TIDE_REG_RETURN == 30 && (key & TIDE_RULE_EXACT_PC);
  if ((r->how[1] != AT_OFFSET && !in_lr) || r->how[0] > AT_FP)
    return;
  enum tide_rule_kind kind = r->cfa_reg == TIDE_REG_STACK   ? TIDE_RULE_SP
                             : r->cfa_reg == TIDE_REG_FRAME ? TIDE_RULE_FP
                                                            : TIDE_RULE_SAVED;
  if (kind == TIDE_RULE_SAVED && r->cfa_reg != (uint64_t)TIDE_REG_ARGUMENTS)
    return;
  if (!fits(r->cfa_off) || r->cfa_off < 0 || !fits(r->off[0]) || !fits(r->off[1]))
    return;
  *rule = (struct tide_rule){
      .cfa = (int32_t)r->cfa_off,
      .ra = (int32_t)r->off[1],
      .fp = saved_fp(r, kind),
      .kind = (uint16_t)kind,
      .ra_in_lr = in_lr,
  };
}

// Binary search in the sorted table of .eh_frame_hdr (the form all linkers write).
static const uint8_t *find_fde(const uint8_t *hdr, uint64_t pc)
{
  if (hdr[0] != 1 || hdr[3] != 0x3b)
    return NULL;
  const uint8_t *p = hdr + 4;
  encoded(&p, hdr[1], (uint64_t)hdr);
  uint64_t lo = 0, hi = encoded(&p, hdr[2], (uint64_t)hdr);
  const int32_t *table = (const int32_t *)p;
  int64_t key = (int64_t)(pc - (uint64_t)hdr);
  while (lo < hi) {
    uint64_t mid = (lo + hi) / 2;
    if (table[2 * mid] <= key)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo ? hdr + table[2 * (lo - 1) + 1] : NULL;
}

struct cie {
  struct program initial;
  uint8_t pc_encoding;
  bool augmented, is_signal;
};

static bool read_cie(const uint8_t *cie, uint64_t hdr, struct cie *ret)
{
  const uint8_t *p = cie;
  uint64_t len = fixed(&p, 4);
  if (len == UINT32_MAX) // 64-bit form: no linker makes it
    return false;
  *ret = (struct cie){.initial.end = cie + 4 + len};
  p += 4;
  uint8_t version = *p++;
  const uint8_t *augmentation = p;
  while (*p++)
    ;
  ret->initial.code_align = uleb(&p);
  ret->initial.data_align = sleb(&p);
  if (version == 1)
    p++;
  else
    uleb(&p);
  if (augmentation[0] == 'z') {
    ret->augmented = true;
    uint64_t n = uleb(&p);
    const uint8_t *a = p;
    p += n;
    for (const uint8_t *q = augmentation + 1; *q; q++) {
      if (*q == 'R')
        ret->pc_encoding = *a++;
      else if (*q == 'L')
        a++;
      else if (*q == 'S')
        ret->is_signal = true;
      else if (*q == 'P') {
        uint8_t encoding = *a++;
        encoded(&a, encoding & 0x7f, hdr);
      }
    }
  }
  ret->initial.at = p;
  return true;
}

static void rule_from_fde(const uint8_t *fde, uint64_t hdr, uint64_t key, uint64_t pc,
                          struct tide_rule *rule)
{
  const uint8_t *p = fde;
  uint64_t len = fixed(&p, 4);
  int64_t cie_delta = (int32_t)fixed(&p, 4);
  struct cie cie;
  if (len == UINT32_MAX || !read_cie(fde + 4 - cie_delta, hdr, &cie))
    return;
  uint64_t start = encoded(&p, cie.pc_encoding, hdr);
  uint64_t range = encoded(&p, cie.pc_encoding & 0xf, 0);
  if (pc - start >= range)
    return;
  rule->kind = TIDE_RULE_BAD; // there is something: whatever follows must understand it
  if (cie.augmented) {
    uint64_t n = uleb(&p);
    p += n;
  }
  if (cie.is_signal) {
    rule->kind = TIDE_RULE_SIGNAL;
    return;
  }
  struct row row = {0};
  if (!run(cie.initial, 0, ~0ull, &row, NULL))
    return;
  struct row first = row;
  struct program own = {p, fde + 4 + len, cie.initial.code_align, cie.initial.data_align};
  if (run(own, start, pc, &row, &first))
    row_to_rule(&row, key, rule);
}

// Is there unwind information that begins at pc? A return address like that was never returned
// to by a call: it is the bottom of a coroutine's stack.
static bool begins_at(uint64_t pc)
{
  struct tide_object object;
  if (!tide_object_find(pc, &object) || !object.eh_hdr)
    return false;
  const uint8_t *fde = find_fde(object.eh_hdr, pc), *p = fde + 4;
  if (!fde)
    return false;
  int64_t cie_delta = (int32_t)fixed(&p, 4);
  struct cie cie;
  return read_cie(fde + 4 - cie_delta, (uint64_t)object.eh_hdr, &cie) &&
         encoded(&p, cie.pc_encoding, (uint64_t)object.eh_hdr) == pc;
}

void tide_cfi_rule(uint64_t key, struct tide_rule *ret_rule)
{
  *ret_rule = (struct tide_rule){.kind = TIDE_RULE_NONE};
  uint64_t exact = key & ~TIDE_RULE_EXACT_PC;
  // A return address may be the first byte after its function: look up the call itself.
  uint64_t pc = key & TIDE_RULE_EXACT_PC ? exact : exact - 1;
  struct tide_object object;
  if (!tide_object_find(pc, &object)) {
    if (tide_object_is_sigreturn(exact))
      ret_rule->kind = TIDE_RULE_SIGNAL;
    return;
  }
  tide_object_seen(&object);
  const uint8_t *fde = object.eh_hdr ? find_fde(object.eh_hdr, pc) : NULL;
  if (fde)
    rule_from_fde(fde, (uint64_t)object.eh_hdr, key, pc, ret_rule);
  if (ret_rule->kind == TIDE_RULE_NONE && pc != exact && begins_at(exact))
    ret_rule->kind = TIDE_RULE_END;
}
