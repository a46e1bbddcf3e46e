// SPDX-License-Identifier: Apache-2.0
//
// Code that comes and goes: the next image, and loaded objects.
//
// exec and spawn: the only thing done here is to see that the next image finds us, or that the
// supervisor knows why it does not. system() and popen() take environ as it is, which has our
// variables unless the program removed them.
//
// dlopen looks at its caller (for $ORIGIN and RUNPATH), so ours must leave no frame: it jumps. New
// code needs no notice; it is met when it first stands in a stack. But a namespace of its own
// (dlmopen) has a libc of its own, with a heap that no preload sees.

#include "preload/exec_image.h"
#include "preload/hook.h"
#include "rt/text.h"
#include "record/limits.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

extern char **environ;

static const char *path_variable(void)
{
  for (char **e = environ; e && *e; e++)
    if (tide_text_starts(*e, "PATH="))
      return *e + sizeof "PATH=" - 1;
  return NULL;
}

// Must be macros: the memory is on the caller's stack.
#define WITH_US(env)                                                                               \
  ({                                                                                               \
    size_t need_ = tide_exec_env_need(env);                                                        \
    need_ &&need_ < (1u << 20) ? tide_exec_env_fix(env, alloca(need_)) : (char **)(env);           \
  })
#define WITHOUT_US(env)                                                                            \
  ({                                                                                               \
    size_t need_ = tide_exec_env_need_without(env);                                                \
    need_ &&need_ < (1u << 20) ? tide_exec_env_without(env, alloca(need_)) : (char **)(env);       \
  })

// Makes the call with env_ as its environment. Arguments and variables may be as long as the kernel
// allows: then there is no room for ours, and the program is run as if we were not there. What does
// not fit is announced before it happens; of a spawn that nobody saw to, whose child `spawned`
// names, the supervisor hears once more afterwards.
#define IMAGE(file, search, env, spawned, call)                                                    \
  ({                                                                                               \
    struct tide_exec_target target_;                                                               \
    const uint32_t *spawned_ = (spawned);                                                          \
    tide_exec_target_look(file, search, path_variable(), &target_);                                \
    tide_exec_target_heed(&target_, env);                                                          \
    if (spawned_)                                                                                  \
      tide_exec_target_announce_spawn(&target_);                                                   \
    else                                                                                           \
      tide_exec_target_announce(&target_);                                                         \
    if (!target_.takes_us && tide_exec_env_need_without(env))                                      \
      tide_exec_target_say(&target_);                                                              \
    char **env_ = target_.takes_us ? WITH_US(env) : WITHOUT_US(env);                               \
    int ret_ = (call);                                                                             \
    if (TIDE_UNLIKELY(target_.takes_us && (ret_ == E2BIG || (ret_ == -1 && errno == E2BIG)))) {    \
      env_ = WITHOUT_US(env);                                                                      \
      tide_exec_target_is_long(&target_);                                                          \
      if (!spawned_)                                                                               \
        tide_exec_target_announce(&target_);                                                       \
      ret_ = (call);                                                                               \
    }                                                                                              \
    tide_exec_target_returned(&target_, spawned_ && !ret_ ? *spawned_ : 0);                        \
    ret_;                                                                                          \
  })

// The next image must not inherit limits that were raised for us.
#define TRUE_LIMITS(call)                                                                          \
  ({                                                                                               \
    tide_limits_before_exec();                                                                     \
    int end_ = (call);                                                                             \
    tide_limits_settle();                                                                          \
    end_;                                                                                          \
  })

int execve(const char *path, char *const argv[], char *const env[])
{
  tide_real_resolve();
  return TRUE_LIMITS(IMAGE(path, false, env, NULL, tide_real.execve(path, argv, env_)));
}

int execv(const char *path, char *const argv[])
{
  return execve(path, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const env[])
{
  tide_real_resolve();
  return TRUE_LIMITS(IMAGE(file, true, env, NULL, tide_real.execvpe(file, argv, env_)));
}

int execvp(const char *file, char *const argv[])
{
  return execvpe(file, argv, environ);
}

int fexecve(int fd, char *const argv[], char *const env[])
{
  tide_real_resolve();
  return TRUE_LIMITS(IMAGE(NULL, false, env, NULL, tide_real.fexecve(fd, argv, env_)));
}

static size_t count_args(va_list args)
{
  size_t n = 1; // the first one is named
  while (va_arg(args, char *))
    n++;
  return n;
}

// Gathers the variadic arguments of execl and friends; *rest is left after the closing NULL.
#define GATHER(first, rest, argv)                                                                  \
  va_list rest, again_;                                                                            \
  va_start(rest, first);                                                                           \
  va_copy(again_, rest);                                                                           \
  size_t n_ = count_args(again_);                                                                  \
  va_end(again_);                                                                                  \
  char **argv = alloca((n_ + 1) * sizeof *argv);                                                   \
  argv[0] = (char *)first;                                                                         \
  for (size_t i_ = 1; i_ <= n_; i_++)                                                              \
  argv[i_] = va_arg(rest, char *)

int execl(const char *path, const char *first, ...)
{
  GATHER(first, rest, argv);
  va_end(rest);
  return execv(path, argv);
}

int execlp(const char *file, const char *first, ...)
{
  GATHER(first, rest, argv);
  va_end(rest);
  return execvp(file, argv);
}

int execle(const char *path, const char *first, ...)
{
  GATHER(first, rest, argv);
  char *const *env = va_arg(rest, char *const *);
  va_end(rest);
  return execve(path, argv, env);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
  tide_real_resolve();
  pid_t child = 0;
  int ret = IMAGE(path, false, env, (uint32_t *)&child,
                  tide_real.posix_spawn(&child, path, actions, attributes, argv, env_));
  if (pid && !ret)
    *pid = child;
  return ret;
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
  tide_real_resolve();
  pid_t child = 0;
  int ret = IMAGE(file, true, env, (uint32_t *)&child,
                  tide_real.posix_spawnp(&child, file, actions, attributes, argv, env_));
  if (pid && !ret)
    *pid = child;
  return ret;
}

void *dlopen(const char *file, int mode)
{
  if (TIDE_UNLIKELY(!tide_real.dlopen))
    tide_real_resolve();
  return tide_real.dlopen(file, mode);
}

void *dlmopen(Lmid_t space, const char *file, int mode)
{
  tide_real_resolve();
  struct tide_thread *t = space == LM_ID_BASE ? NULL : tide_enter(&tide_self);
  if (t) {
    tide_boot_note_unseen("malloc and free of libraries in a namespace of their own, by dlmopen(): "
                          "the agent sees them");
    tide_leave(t);
  }
  return tide_real.dlmopen(space, file, mode);
}

int dlclose(void *handle)
{
  tide_real_resolve();
  int ret = tide_real.dlclose(handle);
  struct tide_thread *t = tide_enter(&tide_self);
  if (t) {
    tide_modules_unloaded();
    tide_leave(t);
  }
  return ret;
}
