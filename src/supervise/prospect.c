// SPDX-License-Identifier: Apache-2.0
//
// The objects, then the same plan that an attach makes of them.
#define _GNU_SOURCE
#include "supervise/prospect.h"

#include "attach/at_exec.h"
#include "attach/needed.h"
#include "attach/rust_shims.h"
#include "attach/sandbox.h"
#include "base/alloc.h"
#include "base/proc.h"
#include "rt/arch.h"
#include "store/layout.h"
#include "store/rust_names.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_inlined(const char *file, const char *debug_dirs)
{
  enum tide_why why;
  char *detail = NULL;
  bool is_rusts = tide_target_judge(file, &why, &detail) && !strcmp(detail, TIDE_RUST_OWN);
  free(detail);
  return is_rusts && !tide_rust_shims_are_called(file, debug_dirs);
}

// A note of the compiler's: bit 1 for landing pads, bit 2 for returns, on both machines.
static uint32_t marks_of(const struct tide_elf *elf)
{
  enum { HEAD = 16, X86_FEATURE_1_AND = 0xc0000002, AARCH64_FEATURE_1_AND = 0xc0000000 };
  struct tide_section notes = tide_elf_section(elf->elf, "note.gnu.property");
  for (size_t at = HEAD; notes.data && at + 12 <= notes.n;) {
    uint32_t property[3]; // which, how many bytes, the bytes
    memcpy(property, notes.data + at, sizeof property);
    if (property[0] == X86_FEATURE_1_AND || property[0] == AARCH64_FEATURE_1_AND)
      return property[2];
    at += 8 + (((size_t)property[1] + 7) & ~(size_t)7);
  }
  return 0;
}

static void read_marks(struct tide_prospect *p)
{
  const enum tide_store_arch here = TIDE_ARCH_ID;
  bool is_arm = here == TIDE_ARCH_AARCH64;
  uint32_t marks = p->objects.n ? marks_of(p->objects.all[0].elf) : 0;
  if (marks & 1)
    p->pads = is_arm ? "landing pads (BTI)" : "landing pads (CET, IBT)";
  if (marks & 2)
    p->returns = is_arm ? "signed return addresses (PAC)" : "shadow stacks (CET)";
}

static void judge_objects(struct tide_outside *outside, const char *file, const char *debug_dirs,
                          struct tide_prospect *p)
{
  tide_hookables_sign(&p->objects, debug_dirs);
  tide_plan_make(outside, &p->objects, true, &p->plan);
  p->sight = tide_plan_sight(&p->plan);
  tide_plan_unhooked(&p->plan, p->unhooked, sizeof p->unhooked);
  tide_plan_refused(&p->plan, p->refused, sizeof p->refused);
  p->is_inlined = is_inlined(file, debug_dirs);
  p->is_untold = tide_target_rust(file).kind == TIDE_RUST_UNTOLD;
  read_marks(p);
}

static bool is_file(const struct tide_loaded *object, const struct stat *file)
{
  struct stat own;
  return !stat(object->path, &own) && own.st_dev == file->st_dev && own.st_ino == file->st_ino;
}

// The loader, where the program has one, may be anywhere among what was found: programs that need
// it by name have their other libraries behind it.
static const char *why_unled(const struct tide_loaded_list *objects)
{
  struct stat file;
  struct tide_section loader = tide_elf_section(objects->all[0].elf->elf, "interp");
  if (!loader.data)
    return NULL;
  TIDE_CLEANUP_FREE char *path = tide_sprintf("%.*s", (int)loader.n, (const char *)loader.data);
  for (size_t i = objects->n; !stat(path, &file) && i > 1; i--)
    if (is_file(&objects->all[i - 1], &file) && tide_at_exec_gives_sign(&objects->all[i - 1]))
      return NULL;
  return "its loader gives no sign when libraries are mapped";
}

enum tide_err tide_prospect_of_program(const char *path, const char *debug_dirs,
                                       struct tide_prospect *ret_prospect, struct tide_diag *diag)
{
  struct tide_prospect p = {0};
  enum tide_err err = tide_needed_list_make(path, debug_dirs, NULL, &p.objects, diag);
  if (err)
    return err;
  struct tide_outside *outside = tide_needed_outside(&p.objects);
  judge_objects(outside, path, debug_dirs, &p);
  p.unled = why_unled(&p.objects);
  tide_outside_close(outside);
  *ret_prospect = p;
  return TIDE_ERR_OK;
}

void tide_prospect_of_process(struct tide_outside *outside, const char *file,
                              const char *debug_dirs, struct tide_prospect *ret_prospect)
{
  *ret_prospect = (struct tide_prospect){0};
  tide_loaded_list_make(outside, debug_dirs, &ret_prospect->objects);
  judge_objects(outside, file, debug_dirs, ret_prospect);
  char on[128] = "";
  ret_prospect->has_shadow_stack =
      tide_proc_status(outside->pid, 0, "x86_Thread_features", on, sizeof on) &&
      strstr(on, "shstk");
}

void tide_prospect_done(struct tide_prospect *p)
{
  tide_plan_done(&p->plan);
  tide_loaded_list_done(&p->objects);
}

enum tide_err tide_prospect_may_trace(struct tide_diag *diag)
{
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
      pause();
  }
  if (pid < 0)
    return tide_fail_errno(diag, "cannot start a process");
  enum tide_err err =
      ptrace(PTRACE_SEIZE, pid, 0, 0) ? tide_permission_explain((uint32_t)pid, diag) : TIDE_ERR_OK;
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return err;
}
