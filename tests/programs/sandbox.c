// SPDX-License-Identifier: Apache-2.0
//
// A program that forbids itself to open anything or to make sockets, on pain of death, and then
// starts a thread that allocates: the recorder must not do what the program swore not to do.
//
// build: -pthread
// truth: site ^grab: allocations=200, bytes=200*50
// qemu: no
#include "site.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define DENY(number)                                                                               \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                               \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

SITE static void grab(void)
{
  MUST(malloc(50));
}

static void *work(void *unused)
{
  for (int i = 0; i < 100; i++)
    grab();
  return unused;
}

int main(void)
{
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      DENY(SYS_openat),
      DENY(SYS_socket),
      DENY(SYS_connect),
      DENY(SYS_memfd_create),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  pthread_t thread;
  for (int i = 0; i < 100; i++)
    grab();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
    _exit(97);
  MUST(pthread_create(&thread, NULL, work, NULL) == 0);
  pthread_join(thread, NULL);
  say("still alive\n");
  return 0;
}
