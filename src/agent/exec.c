// SPDX-License-Identifier: Apache-2.0
//
// execve of a process that has the agent. What it becomes is preloaded as any other, if it can be
// and has the variables; of others the supervisor is told before, waits for with an usher
// (supervise/usher.h), and is told again if it came to nothing.
//
// The caller may be a vfork child on a stack of a few KiB (musl's posix_spawn), in its parent's
// memory: looking is done on a stack of its own, which is given back before the call.
#include "agent/agent.h"

#include "exec/exec_target.h"
#include "rt/sys.h"
#include "rt/text.h"

#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 64 << 10 };

typedef uint64_t exec_function(const char *path, char *const argv[], char *const env[]);

struct errand {
  const char *path;
  char *const *env;
  bool is_told, is_seen_to, takes_us;
};

static bool holds(char *const env[], const char *name_and_equals, const char *text)
{
  for (; env && *env; env++)
    if (tide_text_starts(*env, name_and_equals) && tide_text_find(*env, text))
      return true;
  return false;
}

static bool preloads_us(char *const env[])
{
  return holds(env, "LD_PRELOAD=", tide_agent_face.library) &&
         holds(env, "TIDEMARK_OPTIONS=", tide_agent_face.door);
}

static void announce(void *context)
{
  struct errand *errand = context;
  struct tide_exec_target target;
  tide_exec_target_init(tide_agent_face.door);
  tide_exec_target_look(errand->path, false, NULL, &target);
  if (target.is_elf && !target.is_unfit && !preloads_us(errand->env)) {
    target.is_unfit = true;
    target.why = TIDE_WHY_NO_ENVIRONMENT;
  }
  tide_exec_target_announce(&target);
  errand->is_told = target.is_told;
  errand->is_seen_to = target.is_seen_to;
  errand->takes_us = target.takes_us;
}

static void take_back(void *context)
{
  const struct errand *errand = context;
  struct tide_exec_target target = {.is_told = errand->is_told, .is_seen_to = errand->is_seen_to};
  tide_exec_target_returned(&target, 0);
}

static void on_own_stack(void (*function)(void *), struct errand *errand)
{
  long p = TIDE_SYS(SYS_mmap, 0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
  if (tide_sys_failed(p))
    return;
  tide_agent_call_on((uint64_t)p + STACK_BYTES, function, errand);
  TIDE_SYS(SYS_munmap, p, STACK_BYTES);
}

// A copy in which our library is blanked, as an usher would: loaders take colons for what separates
// entries. Kept, should the exec succeed in a vfork child. NULL: no memory.
static char **without_us(char *const env[])
{
  size_t n = 0, text_bytes = 0;
  for (; env[n]; n++)
    if (tide_text_starts(env[n], "LD_PRELOAD="))
      text_bytes = tide_text_len(env[n]) + 1;
  long p = TIDE_SYS(SYS_mmap, 0, (n + 1) * sizeof *env + text_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (tide_sys_failed(p))
    return NULL;
  char **copy = (char **)p, *text = (char *)(copy + n + 1);
  for (size_t i = 0; i < n; i++) {
    copy[i] = env[i];
    if (!tide_text_starts(env[i], "LD_PRELOAD="))
      continue;
    memcpy(text, env[i], tide_text_len(env[i]) + 1);
    char *us = (char *)tide_text_find(text, tide_agent_face.library);
    if (us)
      memset(us, ':', tide_text_len(tide_agent_face.library));
    copy[i] = text;
  }
  copy[n] = NULL;
  return copy;
}

TIDE_COLD uint64_t tide_agent_exec(const struct tide_agent_hook *hook,
                                   const struct tide_agent_frame *f)
{
  struct errand errand = {.path = (const char *)TIDE_FRAME_ARGUMENT(f, 0),
                          .env = (char *const *)TIDE_FRAME_ARGUMENT(f, 2),
                          .takes_us = true};
  on_own_stack(announce, &errand);
  // musl's loader does not start a program that is to preload a library of glibc's.
  bool must_not = !errand.takes_us && !errand.is_seen_to && preloads_us(errand.env);
  char **bare = must_not ? without_us(errand.env) : NULL;
  uint64_t ret = ((exec_function *)hook->real)(
      errand.path, (char *const *)TIDE_FRAME_ARGUMENT(f, 1), bare ? bare : errand.env);
  if (errand.is_told || errand.is_seen_to)
    on_own_stack(take_back, &errand);
  return ret;
}
