// SPDX-License-Identifier: Apache-2.0
//
// x86_64: Zydis decodes. Operands relative to the instruction pointer get another displacement,
// short branches become near ones.
#include "attach/displace.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <string.h>

static const uint8_t JUMP_BY_NEXT[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)

#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa
enum { NEAR_JUMP_BYTES = 5, SHORT_JUMP_BYTES = 2 };

static bool decode_instruction(const uint8_t *bytes, size_t n, ZydisDecodedInstruction *ret_insn)
{
  ZydisDecoder decoder;
  return ZYAN_SUCCESS(
             ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
         ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, ret_insn));
}

static bool is_branch(const ZydisDecodedInstruction *insn)
{
  return insn->raw.imm[0].is_relative;
}

static bool has_own_address(const ZydisDecodedInstruction *insn)
{
  return insn->attributes & ZYDIS_ATTRIB_HAS_MODRM && insn->raw.modrm.mod == 0 &&
         insn->raw.modrm.rm == 5 && insn->raw.disp.size == 32;
}

static bool never_falls_through(const ZydisDecodedInstruction *insn)
{
  return insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
         insn->meta.category == ZYDIS_CATEGORY_RET;
}

static uint64_t branch_target(const ZydisDecodedInstruction *insn, uint64_t at)
{
  return at + insn->length + (uint64_t)insn->raw.imm[0].value.s;
}

// A displacement of four bytes, the last ones of an instruction that ends at `next`.
static bool put_rel32(uint8_t *code, uint64_t next, uint64_t target)
{
  int64_t distance = (int64_t)(target - next);
  int32_t rel32 = (int32_t)distance;
  memcpy(code, &rel32, sizeof rel32);
  return distance == rel32;
}

static bool put_jump(uint8_t *code, uint64_t at, uint64_t to)
{
  code[0] = 0xe9;
  return put_rel32(code + 1, at + NEAR_JUMP_BYTES, to);
}

static bool put_short_jump(uint8_t *code, uint64_t at, uint64_t to)
{
  int64_t distance = (int64_t)(to - (at + SHORT_JUMP_BYTES));
  code[0] = 0xeb;
  code[1] = (uint8_t)distance;
  return distance == (int8_t)distance;
}

// loop, loope, loopne and jrcxz have no near form:
//   loop taken; jmp over; taken: jmp target; over:
static size_t move_loop(const uint8_t *bytes, const ZydisDecodedInstruction *insn, uint64_t target,
                        uint8_t *code, uint64_t to)
{
  size_t n = insn->length - 1u;
  memcpy(code, bytes, n);
  code[n++] = SHORT_JUMP_BYTES;
  code[n++] = 0xeb;
  code[n++] = NEAR_JUMP_BYTES;
  return put_jump(code + n, to + n, target) ? n + NEAR_JUMP_BYTES : 0;
}

static bool is_loop(const ZydisDecodedInstruction *insn)
{
  return insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode >= 0xe0 &&
         insn->opcode <= 0xe3;
}

// Writes a branch that does the same from `to`. Its length; 0: cannot.
static size_t move_branch(const uint8_t *bytes, const ZydisDecodedInstruction *insn, uint64_t at,
                          uint8_t *code, uint64_t to, const char **ret_why)
{
  uint64_t target = branch_target(insn, at);
  if (insn->meta.category == ZYDIS_CATEGORY_COND_BR && is_loop(insn))
    return move_loop(bytes, insn, target, code, to);
  if (insn->meta.category == ZYDIS_CATEGORY_COND_BR) {
    code[0] = 0x0f;
    code[1] = 0x80 | (insn->opcode & 15);
    return put_rel32(code + 2, to + 6, target) ? 6 : 0;
  }
  if (insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
    return put_jump(code, to, target) ? NEAR_JUMP_BYTES : 0;
  // A call would leave a return address of the island on the stack.
  *ret_why = "it begins with a call";
  return 0;
}

static size_t move_one(const uint8_t *bytes, const ZydisDecodedInstruction *insn, uint64_t at,
                       uint8_t *code, uint64_t to, const char **ret_why)
{
  *ret_why = "its first instructions have an operand that is out of reach from elsewhere";
  if (is_branch(insn))
    return move_branch(bytes, insn, at, code, to, ret_why);
  memcpy(code, bytes, insn->length);
  if (!has_own_address(insn))
    return insn->length;
  uint64_t target = at + insn->length + (uint64_t)insn->raw.disp.value;
  return put_rel32(code + insn->raw.disp.offset, to + insn->length, target) ? insn->length : 0;
}

// The longest that one instruction can become, and a jump behind it.
enum { ROOM_BYTES = ZYDIS_MAX_INSTRUCTION_LENGTH + SHORT_JUMP_BYTES + 2 * NEAR_JUMP_BYTES };

static bool move_instructions(const struct tide_code *whole, size_t pad, size_t need, uint64_t to,
                              struct tide_displaced *ret_displaced, const char **ret_why)
{
  const struct tide_code *function =
      &(struct tide_code){whole->bytes + pad, whole->n - pad, whole->at + pad};
  struct tide_displaced d = {0};
  bool ends = false;
  while (d.taken < need) {
    ZydisDecodedInstruction insn;
    if (ends) {
      *ret_why = "it is shorter than a jump";
      return false;
    }
    if (d.n == TIDE_DISPLACED_MAX || d.n_bytes + ROOM_BYTES > sizeof d.code ||
        !decode_instruction(function->bytes + d.taken, function->n - d.taken, &insn)) {
      *ret_why = "its first instructions cannot be decoded";
      return false;
    }
    uint64_t at = function->at + d.taken;
    // Back among what is displaced: to the jump, or into its middle.
    if (is_branch(&insn) && branch_target(&insn, at) - function->at < need) {
      *ret_why = "its first instructions are a loop";
      return false;
    }
    d.from[d.n] = (uint8_t)d.taken;
    d.moved[d.n++] = (uint8_t)d.n_bytes;
    size_t n =
        move_one(function->bytes + d.taken, &insn, at, d.code + d.n_bytes, to + d.n_bytes, ret_why);
    if (!n)
      return false;
    d.n_bytes += n;
    d.taken += insn.length;
    ends = never_falls_through(&insn);
  }
  if (!put_jump(d.code + d.n_bytes, to + d.n_bytes, function->at + d.taken)) {
    *ret_why = "no free memory is within reach of it";
    return false;
  }
  d.n_bytes += NEAR_JUMP_BYTES;
  *ret_displaced = d;
  return true;
}

static bool branches_into(const struct tide_code *function, size_t pad, size_t n)
{
  ZydisDecodedInstruction insn;
  for (size_t i = 0; i < function->n; i += insn.length) {
    if (!decode_instruction(function->bytes + i, function->n - i, &insn))
      // The end may be cut off; before it there is data among the code, and it could be anything.
      return function->n - i >= ZYDIS_MAX_INSTRUCTION_LENGTH;
    uint64_t start = function->at + pad;
    uint64_t into = is_branch(&insn) ? branch_target(&insn, function->at + i) - start : 0;
    if (into > 0 && into < n)
      return true;
  }
  return false;
}

// No zeros: they may be data.
static bool is_padding(const struct tide_code *gap)
{
  ZydisDecodedInstruction insn;
  for (size_t i = 0; i < gap->n; i += insn.length)
    if (!decode_instruction(gap->bytes + i, gap->n - i, &insn) ||
        (insn.mnemonic != ZYDIS_MNEMONIC_NOP && insn.mnemonic != ZYDIS_MNEMONIC_INT3))
      return false;
  return true;
}

// endbr64 means nothing where the processor does not insist on it, and stays in any case.
static size_t landing(const struct tide_code *function)
{
  static const uint8_t PAD[TIDE_PAD_BYTES] = {ENDBR64};
  bool has = function->n >= sizeof PAD && !memcmp(function->bytes, PAD, sizeof PAD);
  return has ? sizeof PAD : 0;
}

// movabs $hook, %rax (or %r9); jmp *0(%rip)
enum { JUMP_WITH_HOOK_BYTES = 24, NEAR_HOOK_BYTES = 7 };

// A register, and how the hook's address gets into it: as it is, or from where it is near.
struct hook_register {
  uint8_t whole[2], near[3];
};
static const struct hook_register HOOK_IN_RAX = {{0x48, 0xb8}, {0x48, 0x8d, 0x05}},
                                  HOOK_IN_R9 = {{0x49, 0xb9}, {0x4c, 0x8d, 0x0d}};

// The agent lies near its islands where there is room. Such a jump needs no prediction of where it
// goes, and leaves that of the program's own calls alone.
static bool jump_near(uint8_t *code, uint64_t at, const struct hook_register *r, uint64_t hook,
                      uint64_t to)
{
  memcpy(code, r->near, sizeof r->near);
  return put_rel32(code + sizeof r->near, at + NEAR_HOOK_BYTES, hook) &&
         put_jump(code + NEAR_HOOK_BYTES, at + NEAR_HOOK_BYTES, to);
}

static void jump_with_hook(uint8_t *code, uint64_t at, const struct hook_register *r, uint64_t hook,
                           uint64_t to)
{
  if (jump_near(code, at, r, hook, to))
    return;
  memcpy(code, r->whole, sizeof r->whole);
  memcpy(code + 2, &hook, sizeof hook);
  memcpy(code + 10, JUMP_BY_NEXT, sizeof JUMP_BY_NEXT);
  memcpy(code + 16, &to, sizeof to);
}

// rax alone is free before it is known who calls:
//    0  mov (%rsp), %eax           the return address, its lower half
//    3  sub $own_lo, %eax          where the function's own object begins
//    8  cmp $own_bytes, %eax
//   13  jb 39
//   15  hook in r9, to the quick way
//   39  hook in rax, to the other
// The other is right for whoever calls: a caller 4 GiB away may be taken for the object's own.
static void write_entry(uint8_t *code, const struct tide_way *way)
{
  enum { QUICK = 15, ENTER = QUICK + JUMP_WITH_HOOK_BYTES };
  static const uint8_t ASKS[QUICK] = {0x8b, 0x04, 0x24, 0x2d,         0, 0, 0, 0, 0x3d, 0, 0,
                                      0,    0,    0x72, ENTER - QUICK};
  uint32_t own_lo = (uint32_t)way->own_lo;
  if (!way->quick) {
    jump_with_hook(code, way->at, &HOOK_IN_RAX, way->hook, way->enter);
    return;
  }
  _Static_assert(ENTER + JUMP_WITH_HOOK_BYTES <= TIDE_ENTER_BYTES, "no room");
  memcpy(code, ASKS, sizeof ASKS);
  memcpy(code + 4, &own_lo, sizeof own_lo);
  memcpy(code + 9, &way->own_bytes, sizeof way->own_bytes);
  jump_with_hook(code + QUICK, way->at + QUICK, &HOOK_IN_R9, way->hook, way->quick);
  jump_with_hook(code + ENTER, way->at + ENTER, &HOOK_IN_RAX, way->hook, way->enter);
}

static uint64_t jumps_to(const uint8_t *code, uint64_t at)
{
  int32_t near;
  memcpy(&near, code + 1, sizeof near);
  if (code[0] == 0xe9)
    return at + NEAR_JUMP_BYTES + (uint64_t)(int64_t)near;
  return code[0] == 0xeb ? at + SHORT_JUMP_BYTES + (uint64_t)(int64_t)(int8_t)code[1] : 0;
}

// ---- system calls ----

// Arguments of a function that are those of its system call; the fourth goes elsewhere.
static bool is_argument(ZydisRegister reg)
{
  switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
  case ZYDIS_REGISTER_RDI:
  case ZYDIS_REGISTER_RSI:
  case ZYDIS_REGISTER_RDX:
  case ZYDIS_REGISTER_R8:
  case ZYDIS_REGISTER_R9: return true;
  default: return false;
  }
}

enum { MAP = 9, UNMAP = 11, BREAK = 12, REMAP = 25 };

struct wrapper {  // what is known of a function's registers on the way to its end
  int64_t number; // in rax before the call; -1: something else
  bool has_called, is_spoilt;
};

static void follow_write(const ZydisDecodedOperand *to, const ZydisDecodedOperand *from,
                         const ZydisDecodedInstruction *insn, struct wrapper *w)
{
  if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
    return;
  ZydisRegister reg = to->reg.value;
  bool is_rax =
      ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) == ZYDIS_REGISTER_RAX;
  // An int among the arguments is made as wide as the kernel takes it.
  bool is_widened = insn->mnemonic == ZYDIS_MNEMONIC_MOVSXD;
  w->is_spoilt |= w->has_called ? is_rax : is_argument(reg) && !is_widened;
  if (!w->has_called && is_rax)
    w->number = insn->mnemonic == ZYDIS_MNEMONIC_MOV && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE
                    ? from->imm.value.s
                    : -1;
}

// The way on which no branch is taken.
static int64_t called_number(const struct tide_code *function)
{
  enum { MAX_BYTES = 160 };
  ZydisDecoder decoder;
  ZydisDecodedInstruction insn;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  struct wrapper w = {.number = -1};
  if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return -1;
  for (size_t i = 0; i < function->n && i < MAX_BYTES && !w.is_spoilt; i += insn.length) {
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, function->bytes + i, function->n - i, &insn,
                                           operands)))
      return -1;
    if (insn.meta.category == ZYDIS_CATEGORY_RET)
      return w.has_called ? w.number : -1;
    if (insn.meta.category == ZYDIS_CATEGORY_CALL || never_falls_through(&insn))
      return -1;
    if (insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
      if (w.has_called)
        return -1;
      if (w.number == UNMAP || w.number == BREAK) // what those return is not asked for
        return w.number;
      w.has_called = true;
      continue;
    }
    for (size_t k = 0; k < insn.operand_count; k++)
      follow_write(&operands[k], &operands[1], &insn, &w);
  }
  return -1;
}

static const char *page_call(const struct tide_code *function)
{
  switch (called_number(function)) {
  case MAP: return "mmap";
  case UNMAP: return "munmap";
  case BREAK: return "brk";
  case REMAP: return "mremap";
  default: return NULL;
  }
}

// ---- functions that only pass on what another gives ----

static bool writes_rax(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
  for (size_t k = 0; k < insn->operand_count; k++)
    if (operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operands[k].reg.value) ==
            ZYDIS_REGISTER_RAX)
      return true;
  return false;
}

static uint64_t passes_on(const struct tide_code *function)
{
  enum { MAX_BYTES = 96 };
  ZydisDecoder decoder;
  ZydisDecodedInstruction insn;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  uint64_t called = 0;
  if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return 0;
  for (size_t i = 0; i < function->n && i < MAX_BYTES; i += insn.length) {
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, function->bytes + i, function->n - i, &insn,
                                           operands)))
      return 0;
    if (insn.meta.category == ZYDIS_CATEGORY_RET)
      return called;
    bool is_call = insn.meta.category == ZYDIS_CATEGORY_CALL;
    if (never_falls_through(&insn) ||
        (called ? is_call || writes_rax(&insn, operands) : is_branch(&insn) && !is_call))
      return 0;
    if (is_call)
      called = is_branch(&insn) ? branch_target(&insn, function->at + i) : 0;
    if (is_call && !called)
      return 0;
  }
  return 0;
}

const struct tide_displacer tide_displacer_x86_64 = {
    .machine = EM_X86_64,
    .jump_bytes = NEAR_JUMP_BYTES,
    .reach = 1ull << 31,
    .short_bytes = SHORT_JUMP_BYTES,
    .short_reach = 128,
    .max_insn_bytes = ZYDIS_MAX_INSTRUCTION_LENGTH,
    .pad = {ENDBR64},
    .landing = landing,
    .move = move_instructions,
    .branches_into = branches_into,
    .is_padding = is_padding,
    .enter = write_entry,
    .jumps_to = jumps_to,
    .jump = put_jump,
    .short_jump = put_short_jump,
    .page_call = page_call,
    .passes_on = passes_on,
};
