// SPDX-License-Identifier: Apache-2.0
//
// .eh_frame to rules. Only three facts of a row matter to us: how the CFA is computed, and where
// the return address and the frame pointer are saved. Everything else is skipped.
//
// The bytes may be damaged, and the program run well all the same as long as it throws nothing.
// So every read stays in what of the object is readable (eh_bytes.h); a record that does not fit
// its object costs the frames beyond it and nothing else.
#include "unwind/rule.h"

#include "rt/arch.h"
#include "unwind/eh_bytes.h"
#include "unwind/host.h"

#include <string.h>

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

static void save_register(struct row *r, uint64_t reg, enum saved how, int64_t off)
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
static void save_by_expression(struct row *r, struct tide_eh_bytes *p)
{
  uint64_t reg = tide_eh_uleb(p), n = tide_eh_uleb(p);
  const uint8_t *x = p->at;
  bool whole = tide_eh_skip(p, n);
  bool at_fp = whole && n == 2 && x[0] == 0x70 + TIDE_REG_FRAME && x[1] == 0;
  save_register(r, reg, at_fp ? AT_FP : OTHER, 0);
}

struct program { // call frame instructions and what they are measured in
  struct tide_eh_bytes bytes;
  uint64_t code_align;
  int64_t data_align;
};

// Offsets of damaged records may be any number: the product wraps.
static int64_t unfactored(uint64_t factored, const struct program *g)
{
  return (int64_t)(factored * (uint64_t)g->data_align);
}

// An instruction that moves the location. Returns false when it passes pc: the row is complete.
static bool advance_location(uint64_t *loc, uint64_t by, uint64_t pc)
{
  *loc += by;
  return *loc <= pc;
}

enum { REMEMBER_DEPTH = 8 };

// Runs instructions up to pc. False: one that we do not know, or that is cut off.
static bool run_cfa(struct program g, uint64_t loc, uint64_t pc, struct row *r,
                    const struct row *first)
{
  struct row remembered[REMEMBER_DEPTH];
  int depth = 0;
  struct tide_eh_bytes *p = &g.bytes;
  while (p->at < p->end) {
    uint8_t op = *p->at++;
    uint64_t reg;
    switch (op & 0xc0) {
    case 0x40: // advance_loc
      if (!advance_location(&loc, (op & 0x3f) * g.code_align, pc))
        return true;
      continue;
    case 0x80: save_register(r, op & 0x3f, AT_OFFSET, unfactored(tide_eh_uleb(p), &g)); continue;
    case 0xc0: restore(r, op & 0x3f, first); continue;
    }
    switch (op) {
    case 0x00: break; // nop
    case 0x01:        // set_loc
      loc = tide_eh_fixed(p, 8);
      if (loc > pc)
        return true;
      break;
    case 0x02:
      if (!advance_location(&loc, tide_eh_fixed(p, 1) * g.code_align, pc))
        return true;
      break;
    case 0x03:
      if (!advance_location(&loc, tide_eh_fixed(p, 2) * g.code_align, pc))
        return true;
      break;
    case 0x04:
      if (!advance_location(&loc, tide_eh_fixed(p, 4) * g.code_align, pc))
        return true;
      break;
    case 0x05: // offset_extended
      reg = tide_eh_uleb(p);
      save_register(r, reg, AT_OFFSET, unfactored(tide_eh_uleb(p), &g));
      break;
    case 0x06: restore(r, tide_eh_uleb(p), first); break;
    case 0x07: save_register(r, tide_eh_uleb(p), UNDEFINED, 0); break;
    case 0x08: save_register(r, tide_eh_uleb(p), SAME, 0); break;
    case 0x09: // register
      reg = tide_eh_uleb(p);
      tide_eh_uleb(p);
      save_register(r, reg, OTHER, 0);
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
      r->cfa_reg = tide_eh_uleb(p);
      r->cfa_off = (int64_t)tide_eh_uleb(p);
      r->cfa_expr = NULL;
      break;
    case 0x0d: // def_cfa_register
      r->cfa_reg = tide_eh_uleb(p);
      r->cfa_expr = NULL;
      break;
    case 0x0e: r->cfa_off = (int64_t)tide_eh_uleb(p); break; // def_cfa_offset
    case 0x0f:                                               // def_cfa_expression
      r->cfa_expr_len = tide_eh_uleb(p);
      r->cfa_expr = p->at;
      tide_eh_skip(p, r->cfa_expr_len);
      break;
    case 0x10: save_by_expression(r, p); break;
    case 0x11: // offset_extended_sf
      reg = tide_eh_uleb(p);
      save_register(r, reg, AT_OFFSET, unfactored((uint64_t)tide_eh_sleb(p), &g));
      break;
    case 0x12: // def_cfa_sf
      r->cfa_reg = tide_eh_uleb(p);
      r->cfa_off = unfactored((uint64_t)tide_eh_sleb(p), &g);
      r->cfa_expr = NULL;
      break;
    case 0x13: r->cfa_off = unfactored((uint64_t)tide_eh_sleb(p), &g); break; // def_cfa_offset_sf
    case 0x14:                                                                // val_offset
    case 0x15: // val_offset_sf: same length
      reg = tide_eh_uleb(p);
      tide_eh_uleb(p);
      save_register(r, reg, OTHER, 0);
      break;
    case 0x16: { // val_expression
      reg = tide_eh_uleb(p);
      tide_eh_skip(p, tide_eh_uleb(p));
      save_register(r, reg, OTHER, 0);
      break;
    }
    case 0x2d: break;                  // aarch64: negate_ra_state
    case 0x2e: tide_eh_uleb(p); break; // GNU_args_size
    case 0x2f:                         // GNU_negative_offset_extended
      reg = tide_eh_uleb(p);
      save_register(r, reg, AT_OFFSET, unfactored(-tide_eh_uleb(p), &g));
      break;
    default: return false;
    }
  }
  return !p->cut;
}

// CFA expressions come in two shapes: *(fp + off) in functions that realign their stack, and the
// x86 PLT's "sp + 8, or 16 from the 11th byte of the entry on". The second needs arithmetic on
// the pc, which is known: values are a constant, plus sp once where has_sp is set.
struct value {
  int64_t constant;
  bool has_sp;
};

static int64_t wrapping_sum(int64_t a, uint64_t b)
{
  return (int64_t)((uint64_t)a + b);
}

static bool binary(uint8_t op, struct value a, struct value b, struct value *ret)
{
  if (op == 0x22) { // plus
    *ret = (struct value){wrapping_sum(a.constant, (uint64_t)b.constant), a.has_sp || b.has_sp};
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

static bool evaluate(struct tide_eh_bytes x, uint64_t pc, int64_t *ret_offset)
{
  struct value stack[8];
  int n = 0;
  while (x.at < x.end) {
    uint8_t op = *x.at++;
    if (op >= 0x70 && op <= 0x8f) { // breg
      if (n == 8 || (op - 0x70 != TIDE_REG_STACK && op - 0x70 != TIDE_REG_RETURN))
        return false;
      bool is_sp = op - 0x70 == TIDE_REG_STACK;
      stack[n++] = (struct value){wrapping_sum(tide_eh_sleb(&x), is_sp ? 0 : pc), is_sp};
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
  return !x.cut && n == 1 && stack[0].has_sp;
}

static bool fits_rule(int64_t v)
{
  return v >= INT32_MIN / 2 && v <= INT32_MAX / 2;
}

static void cfa_from_expression(const struct row *r, uint64_t pc, struct tide_rule *rule)
{
  struct tide_eh_bytes x = {r->cfa_expr, r->cfa_expr + r->cfa_expr_len, false};
  int64_t offset;
  if (r->cfa_expr_len >= 3 && *x.at == 0x70 + TIDE_REG_FRAME && x.end[-1] == 0x06) { // deref
    x.at++;
    offset = tide_eh_sleb(&x);
    if (fits_rule(offset))
      *rule = (struct tide_rule){
          .cfa = (int32_t)offset, .ra = -8, .fp = TIDE_RULE_AT_FP, .kind = TIDE_RULE_ALIGN};
  } else if (evaluate(x, pc, &offset) && fits_rule(offset) && fits_rule(r->off[1])) {
    *rule =
        (struct tide_rule){.cfa = (int32_t)offset, .ra = (int32_t)r->off[1], .kind = TIDE_RULE_SP};
  }
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
    rule->kind = TIDE_RULE_OUTERMOST;
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
  if (!fits_rule(r->cfa_off) || r->cfa_off < 0 || !fits_rule(r->off[0]) || !fits_rule(r->off[1]))
    return;
  *rule = (struct tide_rule){
      .cfa = (int32_t)r->cfa_off,
      .ra = (int32_t)r->off[1],
      .fp = saved_fp(r, kind),
      .kind = (uint16_t)kind,
      .ra_in_lr = in_lr,
  };
}

// Binary search in the sorted table of .eh_frame_hdr (the form all linkers write). 0: not found.
static uint64_t find_fde(const struct tide_object *object, uint64_t pc)
{
  uint64_t hdr = (uint64_t)object->eh_hdr;
  struct tide_eh_bytes b = tide_eh_at(object, hdr);
  uint8_t version = (uint8_t)tide_eh_fixed(&b, 1), frame_encoding = (uint8_t)tide_eh_fixed(&b, 1);
  uint8_t count_encoding = (uint8_t)tide_eh_fixed(&b, 1), form = (uint8_t)tide_eh_fixed(&b, 1);
  tide_eh_pointer(&b, frame_encoding, hdr);
  uint64_t lo = 0, hi = tide_eh_pointer(&b, count_encoding, hdr);
  int32_t row[2]; // where a function begins, and its FDE; both relative to the header
  if (version != 1 || form != 0x3b || b.cut || hi > tide_eh_left(&b) / sizeof row)
    return 0;
  int64_t key = (int64_t)(pc - hdr);
  while (lo < hi) {
    uint64_t mid = (lo + hi) / 2;
    memcpy(row, b.at + mid * sizeof row, sizeof row);
    if (row[0] <= key)
      lo = mid + 1;
    else
      hi = mid;
  }
  if (!lo)
    return 0;
  memcpy(row, b.at + (lo - 1) * sizeof row, sizeof row);
  return hdr + (uint64_t)(int64_t)row[1];
}

// A record of .eh_frame: its bytes after the length, which is the 32-bit one that linkers write.
static struct tide_eh_bytes record_at(const struct tide_object *object, uint64_t address)
{
  struct tide_eh_bytes b = tide_eh_at(object, address);
  uint64_t length = tide_eh_fixed(&b, 4);
  tide_eh_limit(&b, length);
  return b;
}

struct cie {
  struct program initial;
  uint8_t pc_encoding;
  bool augmented, is_signal;
};

static void read_augmentation(struct cie *cie, const char *letters, uint64_t hdr)
{
  struct tide_eh_bytes *b = &cie->initial.bytes, data = *b;
  uint64_t n = tide_eh_uleb(&data);
  *b = data;
  if (!tide_eh_skip(b, n) || !tide_eh_limit(&data, n))
    return;
  cie->augmented = true;
  for (; *letters; letters++) {
    if (*letters == 'R')
      cie->pc_encoding = (uint8_t)tide_eh_fixed(&data, 1);
    else if (*letters == 'L')
      tide_eh_fixed(&data, 1);
    else if (*letters == 'S')
      cie->is_signal = true;
    else if (*letters == 'P')
      tide_eh_pointer(&data, (uint8_t)tide_eh_fixed(&data, 1) & 0x7f, hdr);
  }
  if (data.cut)
    tide_eh_cut(b);
}

static bool read_cie(const struct tide_object *object, uint64_t address, struct cie *ret)
{
  *ret = (struct cie){.initial.bytes = record_at(object, address)};
  struct tide_eh_bytes *b = &ret->initial.bytes;
  uint64_t id = tide_eh_fixed(b, 4), version = tide_eh_fixed(b, 1);
  const char *augmentation = (const char *)b->at;
  while (tide_eh_fixed(b, 1))
    ;
  ret->initial.code_align = tide_eh_uleb(b);
  ret->initial.data_align = tide_eh_sleb(b);
  if (version == 1)
    tide_eh_fixed(b, 1);
  else
    tide_eh_uleb(b);
  if (id || b->cut)
    return false;
  if (augmentation[0] == 'z')
    read_augmentation(ret, augmentation + 1, (uint64_t)object->eh_hdr);
  return !b->cut;
}

struct fde {
  struct cie cie;
  uint64_t start, range;
  struct tide_eh_bytes rest; // augmentation and instructions
};

static bool read_fde(const struct tide_object *object, uint64_t address, struct fde *ret)
{
  struct tide_eh_bytes b = record_at(object, address);
  int64_t cie_delta = (int32_t)tide_eh_fixed(&b, 4);
  if (b.cut || !read_cie(object, address + 4 - (uint64_t)cie_delta, &ret->cie))
    return false;
  ret->start = tide_eh_pointer(&b, ret->cie.pc_encoding, (uint64_t)object->eh_hdr);
  ret->range = tide_eh_pointer(&b, ret->cie.pc_encoding & 0xf, 0);
  ret->rest = b;
  return !b.cut;
}

static void rule_from_fde(struct fde *fde, uint64_t key, uint64_t pc, struct tide_rule *rule)
{
  rule->kind = TIDE_RULE_BAD; // there is something: whatever follows must understand it
  if (fde->cie.augmented)
    tide_eh_skip(&fde->rest, tide_eh_uleb(&fde->rest));
  if (fde->rest.cut)
    return;
  if (fde->cie.is_signal) {
    rule->kind = TIDE_RULE_SIGNAL;
    return;
  }
  struct program own = fde->cie.initial;
  struct row row = {0};
  if (!run_cfa(own, 0, ~0ull, &row, NULL))
    return;
  struct row first = row;
  own.bytes = fde->rest;
  if (run_cfa(own, fde->start, pc, &row, &first))
    row_to_rule(&row, key, rule);
}

// Is there unwind information that begins at pc? A return address like that was never returned
// to by a call: it is the bottom of a coroutine's stack.
static bool begins_at(uint64_t pc)
{
  struct tide_object object;
  struct fde fde;
  if (!tide_object_find(pc, &object) || !object.eh_hdr)
    return false;
  tide_unwind_host->object_met(&object);
  uint64_t at = find_fde(&object, pc);
  return at && read_fde(&object, at, &fde) && fde.start == pc;
}

void tide_cfi_rule(uint64_t key, struct tide_rule *ret_rule)
{
  *ret_rule = (struct tide_rule){.kind = TIDE_RULE_NONE};
  uint64_t exact = key & ~TIDE_RULE_EXACT_PC;
  // A return address may be the first byte after its function: look up the call itself.
  uint64_t pc = key & TIDE_RULE_EXACT_PC ? exact : exact - 1;
  struct tide_object object;
  struct fde fde;
  if (!tide_object_find(pc, &object)) {
    if (tide_object_is_sigreturn(exact))
      ret_rule->kind = TIDE_RULE_SIGNAL;
    else if (pc != exact && tide_made_code_rule(exact, ret_rule))
      *ret_rule = (struct tide_rule){.kind = TIDE_RULE_CODE};
    return;
  }
  tide_unwind_host->object_met(&object);
  uint64_t at = object.eh_hdr ? find_fde(&object, pc) : 0;
  if (at && read_fde(&object, at, &fde) && pc - fde.start < fde.range)
    rule_from_fde(&fde, key, pc, ret_rule);
  if (ret_rule->kind == TIDE_RULE_NONE && pc != exact &&
      (begins_at(exact) || tide_code_ends_thread(exact)))
    ret_rule->kind = TIDE_RULE_OUTERMOST;
}
