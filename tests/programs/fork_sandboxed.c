// SPDX-License-Identifier: Apache-2.0
//
// A program that must not make sockets forks: its child cannot be recorded, does not have its
// parent's store either, and is counted.
//
// truth: capture: images=1
// truth: site ^grab: allocations=30, bytes=30*50
// truth: complete: fork_lost=1
// qemu: no
#include "own_maps.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DENY(number)                                                                               \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                               \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

SITE static void grab(void)
{
  MUST(malloc(50));
}

int main(void)
{
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      DENY(SYS_socket),
      DENY(SYS_connect),
      DENY(SYS_ftruncate),
      DENY(SYS_memfd_create),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  int status = -1;
  for (int i = 0; i < 20; i++)
    grab();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
    _exit(97);
  pid_t child = fork();
  for (int i = 0; child == 0 && i < 3; i++) {
    MUST(store_bytes_writable() <= CHILDREN_PAGE_BYTES);
    grab();
  }
  if (child == 0)
    _exit(6);
  MUST(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
  for (int i = 0; i < 10; i++)
    grab();
  return 0;
}
