// SPDX-License-Identifier: Apache-2.0
//
// What recording would see of a program before it runs, or of a process before it is attached to:
// found, planned and judged by the code that `run` and `attach` go by. Reads files and /proc.
#pragma once
#include "attach/plan.h"
#include "supervise/target_check.h"

struct tide_prospect {
  struct tide_loaded_list objects; // the program first
  struct tide_plan plan;           // of the agent's hooks
  enum tide_sight sight;           // by that
  char unhooked[512];              // of an allocator none of whose functions can be (plan.h); ""
  char refused[512];               // all functions that cannot be; ""
  bool is_inlined; // a Rust allocator of its own, whose functions may not be called (rust_shims.h)
  bool is_untold;  // a Rust program whose file does not say whose allocator it has
  // What its compiler has marked it for, by name; NULL: not. And of a process: is it on?
  const char *pads, *returns;
  bool has_shadow_stack;
  const char *unled; // why nobody can be there when the libraries are mapped; NULL: that can be
};

// Of a program's file, for this machine; with the libraries that it will load. debug_dirs: as
// tide_loaded_list_make has it.
enum tide_err tide_prospect_of_program(const char *path, const char *debug_dirs,
                                       struct tide_prospect *ret_prospect, struct tide_diag *diag);
// Of a process whose memory is open. file: where its program is to be read.
void tide_prospect_of_process(struct tide_outside *outside, const char *file,
                              const char *debug_dirs, struct tide_prospect *ret_prospect);
void tide_prospect_done(struct tide_prospect *prospect);

// Would the kernel let the agent be put into a program that we start? Tried with a process of ours
// that does nothing. Fails with the reason and the way out.
enum tide_err tide_prospect_may_trace(struct tide_diag *diag);
