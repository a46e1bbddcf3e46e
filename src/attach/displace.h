// SPDX-License-Identifier: Apache-2.0
//
// The first instructions of a function, made to run elsewhere. A hooked function begins with a jump
// to its island; what the jump overwrote runs there, and goes on behind it:
//
//   function   [landing pad]       island   [what undoes the pad] jmp hook
//              jmp island            code   first instructions, moved
//              rest  <--------------------- jmp rest
//
// What depends on its own address is rewritten so that it means the same from its new place. What
// cannot be is refused with a reason. Nothing here touches a process: bytes come in, bytes go out,
// and each architecture's part works on any machine.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TIDE_DISPLACED_MAX = 8,     // instructions
  TIDE_DISPLACED_BYTES = 112, // of code that replaces them, the jump back included
  TIDE_PAD_BYTES = 4,
  TIDE_UNDO_BYTES = 4,
  TIDE_ENTER_BYTES = 76,
};

struct tide_displaced {
  uint8_t undo[TIDE_UNDO_BYTES]; // what the island does before it goes to the hook
  size_t n_undo;
  uint8_t code[TIDE_DISPLACED_BYTES];
  size_t n_bytes;                    // of code, the jump back included
  size_t taken;                      // bytes of the function that it stands for, past the pad
  unsigned n;                        // instructions
  uint8_t from[TIDE_DISPLACED_MAX];  // where each began, past the pad
  uint8_t moved[TIDE_DISPLACED_MAX]; // and where it begins in code
};

// A function as it lies in the target: n bytes of code at `at`.
struct tide_code {
  const uint8_t *bytes;
  size_t n;
  uint64_t at;
};

// The way from an island into the agent.
struct tide_way {
  uint64_t at;    // where what the island does first will lie
  uint64_t hook;  // where its struct tide_agent_hook lies in the process
  uint64_t enter; // keeps all registers
  // Of functions that have one: where calls by code outside of the function's own object go, which
  // keeps to the calling convention; 0: all go to `enter`.
  uint64_t quick;
  uint64_t own_lo;
  uint32_t own_bytes; // less than 2 GiB
};

// What differs from one architecture to the next.
struct tide_displacer {
  unsigned machine;      // e_machine
  size_t jump_bytes;     // of a jump to the island, which lies within reach
  uint64_t reach;        // bytes that such a jump spans in either direction
  size_t short_bytes;    // of a jump to a hole close by; 0: there is no such thing
  uint64_t short_reach;  // bytes that one spans
  size_t max_insn_bytes; // no instruction is longer

  uint8_t pad[TIDE_PAD_BYTES]; // an instruction at which indirect calls may land

  // Bytes at the beginning that have to stay where they are, the pad, since indirect branches must
  // land there, if the process's pages or its processor insist on that.
  size_t (*landing)(const struct tide_code *function);
  // Moves as many instructions as cover `need` bytes past the pad to `to`. False with a reason.
  bool (*move)(const struct tide_code *function, size_t pad, size_t need, uint64_t to,
               struct tide_displaced *ret_displaced, const char **ret_why);
  // Could the code of a function branch to one of the bytes [1, n) past its pad?
  bool (*branches_into)(const struct tide_code *function, size_t pad, size_t n);
  // Are the bytes nothing but what compilers fill gaps between functions with?
  bool (*is_padding)(const struct tide_code *gap);
  // What an island begins with: hands the address of its hook over to what is at the way's end,
  // which may be anywhere. TIDE_ENTER_BYTES at most.
  void (*enter)(uint8_t *code, const struct tide_way *way);
  // Where a jump that one of the two below wrote goes; 0: there is none.
  uint64_t (*jumps_to)(const uint8_t *code, uint64_t at);
  // Writes a jump at `at`; false: out of reach.
  bool (*jump)(uint8_t *code, uint64_t at, uint64_t to);
  bool (*short_jump)(uint8_t *code, uint64_t at, uint64_t to);
  // Of a function that makes a system call with its own arguments and returns what comes of it:
  // mmap, munmap, mremap or brk; NULL: it does not. NULL itself where nobody can tell.
  const char *(*page_call)(const struct tide_code *function);
  // Of a function that calls another before it branches, and returns what came of that on the way
  // on which no branch is taken: the other. 0: it is none. NULL itself where nobody can tell.
  uint64_t (*passes_on)(const struct tide_code *function);
};

extern const struct tide_displacer tide_displacer_x86_64, tide_displacer_aarch64;
// Of the machine that we run on.
const struct tide_displacer *tide_displacer(void);
