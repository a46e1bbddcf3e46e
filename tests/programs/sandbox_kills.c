// SPDX-License-Identifier: Apache-2.0
//
// Filters that kill the program for one system call, or for all but a few, none of which it makes
// itself any more. It then allocates from thousands of new stacks, in several threads that all are
// under the filter: the recorder's tables grow, but not by a call.
//
// build: -pthread
// run[mmap]: mmap
// run[madvise]: madvise
// run[munmap]: munmap
// run[mprotect]: mprotect
// run[most]: most
// truth: site ^grab from before: allocations=10, bytes=10*60
// truth: site ^grab from after: allocations=3*4096, bytes=3*4096*60, stacks=2*4096
// truth: complete: fork_lost=0
// status: exit 3
// qemu: no
#include "site.h"
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { DEPTH = 12, N_WORKERS = 2 };
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##what)
#define ON(number, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(what)

static pthread_barrier_t barrier;
static int n_done;

SITE static void grab(void)
{
  MUST(malloc(60));
}

SITE static void before(void)
{
  for (int i = 0; i < 10; i++)
    grab();
}

// Every way to turn left and right so many times is a stack of its own.
SITE static void left(unsigned way, int depth);

SITE static void right(unsigned way, int depth)
{
  if (!depth)
    grab();
  else
    (way & 1 ? left : right)(way >> 1, depth - 1);
  __asm__ volatile("");
}

SITE static void left(unsigned way, int depth)
{
  right(way, depth);
  __asm__ volatile("");
}

SITE static void after(void)
{
  for (unsigned way = 0; way < 1u << DEPTH; way++)
    right(way, DEPTH);
}

static void *work(void *unused)
{
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  after();
  __atomic_add_fetch(&n_done, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &n_done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  syscall(SYS_exit, 0); // not pthread's way, which gives the stack back
  return unused;
}

static int filter_of(const char *what, struct sock_filter *rules)
{
  struct sock_filter one[] = {LOAD_NUMBER, ON(0, KILL_PROCESS), RETURN(ALLOW)};
  struct sock_filter most[] = {
      LOAD_NUMBER,          ON(SYS_read, ALLOW), ON(SYS_write, ALLOW),      ON(SYS_exit, ALLOW),
      ON(SYS_futex, ALLOW), ON(SYS_brk, ALLOW),  ON(SYS_exit_group, ALLOW), RETURN(KILL_PROCESS),
  };
  if (!strcmp(what, "most")) {
    memcpy(rules, most, sizeof most);
    return sizeof most / sizeof *most;
  }
  one[1].k = !strcmp(what, "mmap")      ? SYS_mmap
             : !strcmp(what, "madvise") ? SYS_madvise
             : !strcmp(what, "munmap")  ? SYS_munmap
                                        : SYS_mprotect;
  memcpy(rules, one, sizeof one);
  return sizeof one / sizeof *one;
}

int main(int argc, char **argv)
{
  struct sock_filter rules[32];
  pthread_t thread[N_WORKERS];
  MUST(argc > 1 && mallopt(M_ARENA_MAX, 1)); // other arenas than the main one grow by mprotect
  struct sock_fprog filter = {(unsigned short)filter_of(argv[1], rules), rules};
  pthread_barrier_init(&barrier, NULL, N_WORKERS + 1);
  for (int i = 0; i < N_WORKERS; i++)
    MUST(pthread_create(&thread[i], NULL, work, NULL) == 0);
  before();
  pthread_barrier_wait(&barrier);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _exit(97);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL); // a probe
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter))
    _exit(97);
  pthread_barrier_wait(&barrier);
  after();
  for (int n; (n = __atomic_load_n(&n_done, __ATOMIC_ACQUIRE)) < N_WORKERS;)
    syscall(SYS_futex, &n_done, FUTEX_WAIT_PRIVATE, n, NULL, NULL, 0);
  say("still alive\n");
  _exit(3);
}
