// SPDX-License-Identifier: Apache-2.0
//
// aarch64: one instruction of four bytes gives way to a branch, so no thread can ever be in the
// middle. Only a handful of instructions depend on their own address:
//
//   adr, adrp         the address by movz and movk
//   ldr (literal)     the address, then a plain load from it
//   b                 b
//   b.cond cbz tbz    the same over a branch:   b.cond taken; b over; taken: b target; over:
//   bl                refused: it would leave a return address of the island in x30
//
// x17 is free at the beginning of any function: the linker's veneers use it on the way there.
#include "attach/displace.h"

#include <elf.h>
#include <string.h>

enum { INSN_BYTES = 4, SCRATCH = 17, ZERO = 31 };

#define NOP 0xd503201fu
#define BTI_C 0xd503245fu
#define BTI_J 0xd503249fu
#define BTI_JC 0xd50324dfu
#define PACIASP 0xd503233fu
#define PACIBSP 0xd503237fu
#define AUTIASP 0xd50323bfu
#define AUTIBSP 0xd50323ffu

struct emitter {
  uint8_t *code;
  size_t n;
  uint64_t at; // of code, in the target
};

static void emit_insn(struct emitter *e, uint32_t insn)
{
  memcpy(e->code + e->n, &insn, sizeof insn);
  e->n += sizeof insn;
}

// The signed field of `bits` bits at `low`, in bytes: it counts instructions.
static int64_t field(uint32_t insn, unsigned low, unsigned bits)
{
  int64_t value = insn >> low & ((1u << bits) - 1);
  return (value >> (bits - 1) & 1 ? value - (1ll << bits) : value) * INSN_BYTES;
}

static bool put_jump(uint8_t *code, uint64_t at, uint64_t to)
{
  int64_t distance = (int64_t)(to - at);
  uint32_t insn = 0x14000000u | ((uint32_t)(distance / INSN_BYTES) & 0x03ffffff);
  memcpy(code, &insn, sizeof insn);
  return distance % INSN_BYTES == 0 && distance >= -(1ll << 27) && distance < 1ll << 27;
}

static bool emit_jump(struct emitter *e, uint64_t to)
{
  bool ok = put_jump(e->code + e->n, e->at + e->n, to);
  e->n += INSN_BYTES;
  return ok;
}

static void emit_address(struct emitter *e, unsigned reg, uint64_t address)
{
  emit_insn(e, 0xd2800000u | (uint32_t)(address & 0xffff) << 5 | reg); // movz
  for (unsigned i = 1; i < 4; i++)
    if (address >> 16 * i & 0xffff)
      emit_insn(e,
                0xf2800000u | i << 21 | (uint32_t)(address >> 16 * i & 0xffff) << 5 | reg); // movk
}

static bool is_adr(uint32_t insn) // or adrp
{
  return (insn & 0x1f000000) == 0x10000000;
}

static uint64_t adr_address(uint32_t insn, uint64_t at)
{
  uint32_t imm = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);
  int64_t offset = imm >> 20 & 1 ? (int64_t)imm - (1 << 21) : (int64_t)imm;
  bool pages = insn >> 31;
  return pages ? (at & ~0xfffull) + (uint64_t)(offset * 4096) : at + (uint64_t)offset;
}

static bool is_literal_load(uint32_t insn)
{
  return (insn & 0x3b000000) == 0x18000000;
}

// A load from [base], of what the literal load would have loaded; 0: a hint, or nothing.
static uint32_t load_of_literal(uint32_t insn, unsigned base)
{
  static const uint32_t OF_INTEGER[] = {0xb9400000, 0xf9400000, 0xb9800000, 0}; // w, x, sw, prfm
  static const uint32_t OF_VECTOR[] = {0xbd400000, 0xfd400000, 0x3dc00000, 0};  // s, d, q
  unsigned opc = insn >> 30;
  uint32_t load = insn >> 26 & 1 ? OF_VECTOR[opc] : OF_INTEGER[opc];
  return load ? load | base << 5 | (insn & 31) : 0;
}

static void emit_literal_load(struct emitter *e, uint32_t insn, uint64_t at)
{
  bool is_vector = insn >> 26 & 1;
  unsigned base = is_vector || (insn & 31) == ZERO ? SCRATCH : insn & 31;
  uint32_t load = load_of_literal(insn, base);
  if (!load) {
    emit_insn(e, NOP);
    return;
  }
  emit_address(e, base, at + (uint64_t)field(insn, 5, 19));
  emit_insn(e, load);
}

enum branch { NO_BRANCH, PLAIN, CALL, CONDITIONAL, BY_TEST_BIT };

static enum branch branch_of(uint32_t insn)
{
  if ((insn & 0x7c000000) == 0x14000000)
    return insn >> 31 ? CALL : PLAIN;
  if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000)
    return CONDITIONAL;
  return (insn & 0x7e000000) == 0x36000000 ? BY_TEST_BIT : NO_BRANCH;
}

static uint64_t branch_target(uint32_t insn, enum branch branch, uint64_t at)
{
  return at + (uint64_t)(branch == PLAIN || branch == CALL ? field(insn, 0, 26)
                         : branch == CONDITIONAL           ? field(insn, 5, 19)
                                                           : field(insn, 5, 14));
}

static bool emit_conditional(struct emitter *e, uint32_t insn, enum branch branch, uint64_t target)
{
  uint32_t offset_bits = branch == CONDITIONAL ? 0x00ffffe0 : 0x0007ffe0;
  emit_insn(e, (insn & ~offset_bits) | 2u << 5); // past the next one
  emit_insn(e, 0x14000002);                      // b over
  return emit_jump(e, target);
}

static bool move_one(struct emitter *e, uint32_t insn, uint64_t at, const char **ret_why)
{
  enum branch branch = branch_of(insn);
  *ret_why = "its first instruction branches out of reach from elsewhere";
  if (branch == CALL) {
    *ret_why = "it begins with a call";
    return false;
  }
  uint64_t target = branch ? branch_target(insn, branch, at) : 0;
  if (branch && target == at) {
    *ret_why = "its first instructions are a loop";
    return false;
  }
  if (branch == PLAIN)
    return emit_jump(e, target);
  if (branch)
    return emit_conditional(e, insn, branch, target);
  if (is_adr(insn))
    emit_address(e, insn & 31, adr_address(insn, at));
  else if (is_literal_load(insn))
    emit_literal_load(e, insn, at);
  else
    emit_insn(e, insn);
  return true;
}

static uint32_t insn_at(const struct tide_code *code, size_t offset)
{
  uint32_t insn;
  memcpy(&insn, code->bytes + offset, sizeof insn);
  return insn;
}

// The hook must find the return address unsigned, and what follows the pad must find it signed.
static void resign(struct emitter *e, uint32_t pad, struct tide_displaced *d)
{
  uint32_t undo = pad == PACIASP ? AUTIASP : AUTIBSP;
  if (pad != PACIASP && pad != PACIBSP)
    return;
  memcpy(d->undo, &undo, sizeof undo);
  d->n_undo = sizeof undo;
  emit_insn(e, pad);
}

static bool move_instructions(const struct tide_code *function, size_t pad, size_t need,
                              uint64_t to, struct tide_displaced *ret_displaced,
                              const char **ret_why)
{
  struct tide_displaced d = {.taken = INSN_BYTES, .n = 1};
  struct emitter e = {d.code, 0, to};
  if (need > INSN_BYTES || function->n < pad + INSN_BYTES || function->at % INSN_BYTES) {
    *ret_why = "it is shorter than a jump";
    return false;
  }
  if (pad)
    resign(&e, insn_at(function, 0), &d);
  d.moved[0] = (uint8_t)e.n;
  if (!move_one(&e, insn_at(function, pad), function->at + pad, ret_why))
    return false;
  if (!emit_jump(&e, function->at + pad + d.taken)) {
    *ret_why = "no free memory is within reach of it";
    return false;
  }
  d.n_bytes = e.n;
  *ret_displaced = d;
  return true;
}

// One instruction has no middle.
static bool branches_into(const struct tide_code *function, size_t pad, size_t n)
{
  (void)function, (void)pad;
  return n > INSN_BYTES;
}

static bool is_padding(const struct tide_code *gap)
{
  for (size_t i = 0; i + INSN_BYTES <= gap->n; i += INSN_BYTES)
    if (insn_at(gap, i) != NOP)
      return false;
  return gap->n % INSN_BYTES == 0;
}

// A bti stays. paciasp is a landing pad, too: where the pages insist on one nothing can take its
// place, and what follows it has a signed return address.
static size_t landing(const struct tide_code *function)
{
  uint32_t insn = function->n >= INSN_BYTES ? insn_at(function, 0) : 0;
  bool is_bti = insn == BTI_C || insn == BTI_J || insn == BTI_JC;
  bool signs = insn == PACIASP || insn == PACIBSP;
  return is_bti || signs ? INSN_BYTES : 0;
}

#define TWO_WORDS(x) (uint32_t)(x), (uint32_t)((x) >> 32)

// The hook in x17, by way of x16; the quick way has it in x5, too. x16 and x17 are free before it
// is known who calls.
static void write_entry(uint8_t *code, const struct tide_way *way)
{
  const uint32_t plain[] = {
      0x58000070, // ldr x16, enter
      0x58000091, // ldr x17, hook
      0xd61f0200, // br x16
      TWO_WORDS(way->enter),
      TWO_WORDS(way->hook),
  };
  const uint32_t asking[] = {
      0x58000150, // ldr x16, own_lo
      0xcb1003d0, // sub x16, x30, x16
      0x18000211, // ldr w17, own_bytes
      0xeb11021f, // cmp x16, x17
      0x58000110, // ldr x16, enter
      0x58000131, // ldr x17, hook
      0x54000063, // b.lo 1f
      0xaa1103e5, // mov x5, x17
      0x58000110, // ldr x16, quick
      0xd61f0200, // 1: br x16
      TWO_WORDS(way->own_lo),
      TWO_WORDS(way->enter),
      TWO_WORDS(way->hook),
      TWO_WORDS(way->quick),
      way->own_bytes,
  };
  _Static_assert(sizeof asking <= TIDE_ENTER_BYTES, "no room");
  if (way->quick)
    memcpy(code, asking, sizeof asking);
  else
    memcpy(code, plain, sizeof plain);
}

static uint64_t jumps_to(const uint8_t *code, uint64_t at)
{
  uint32_t insn = insn_at(&(struct tide_code){code, INSN_BYTES, at}, 0);
  return branch_of(insn) == PLAIN ? branch_target(insn, PLAIN, at) : 0;
}

const struct tide_displacer tide_displacer_aarch64 = {
    .machine = EM_AARCH64,
    .jump_bytes = INSN_BYTES,
    .reach = 1ull << 27,
    .max_insn_bytes = INSN_BYTES,
    .pad = {0x5f, 0x24, 0x03, 0xd5}, // bti c
    .landing = landing,
    .move = move_instructions,
    .branches_into = branches_into,
    .is_padding = is_padding,
    .enter = write_entry,
    .jumps_to = jumps_to,
    .jump = put_jump,
};
