// SPDX-License-Identifier: Apache-2.0
//
// What a process's seccomp filters would do to the system calls that the agent makes in it. A
// filter may kill for a call that the program never makes: so the filters themselves are run here,
// on the calls that are to come, before any of them is made. That needs the right to read filters
// (CAP_SYS_ADMIN); who lacks it is told so, unless it is under as many filters itself: then they
// are the ones that a container puts on everybody.
#pragma once
#include "attach/tracer.h"
#include "base/err.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

// Stops all threads for a moment. Fails with a sentence when a call would be refused or fatal.
enum tide_err tide_sandbox_check(struct tide_tracer *tracer, struct tide_diag *diag);

// Does /proc say that it has filters, or the strict mode, that we are not under? Touches nothing.
bool tide_sandbox_is_foreign(uint32_t pid);

// What a filter answers: SECCOMP_RET_ALLOW and its like. A program that is none answers
// SECCOMP_RET_KILL_PROCESS.
uint32_t tide_sandbox_run(const struct sock_filter *code, size_t n,
                          const struct seccomp_data *data);

// ---- may it be traced? ----
//
// Whether a process may be traced, why not, and the way out.

// Asks the kernel, without touching the process. Fails with the reason.
enum tide_err tide_permission_check(uint32_t pid, struct tide_diag *diag);

// When the kernel has refused.
enum tide_err tide_permission_explain(uint32_t pid, struct tide_diag *diag);

// What the kernel may have looked at.
struct tide_permission {
  uint32_t pid, tracer; // tracer 0: nobody traces it
  int yama_scope;       // 0: where there is none
  bool is_able;         // we have CAP_SYS_PTRACE
  bool is_of_us, is_undumpable, is_in_our_namespace, are_we_filtered;
};

// The reason and the way out. Always fails.
enum tide_err tide_permission_tell(const struct tide_permission *permission,
                                   struct tide_diag *diag);
