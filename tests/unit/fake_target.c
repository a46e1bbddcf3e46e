// SPDX-License-Identifier: Apache-2.0
//
// A program to be run by the supervisor under test, with a recorder of its own making: it comes to
// the door as the real one would and leaves known numbers in its store.
//
//   fake_target VERB [ARGUMENT]…
//     record BYTES STATUS     holds BYTES, frees half of it again, exits with STATUS
//     exec BYTES              records, then becomes "record 3000 5"
//     fork                    records 1000; its child records 4000 as a fork child and exits with 6
//     many N                  starts N children, each "record 1000+i 0", one after another
//     signal NUMBER           records, then dies of that signal
//     await SIGNAL STATUS     says "ready" on standard output, exits with STATUS when it comes
//     leave                   records, starts a recording child that goes on running, and exits
//     stay BYTES STATUS       records, then stays until there is a file "stop"; exits with STATUS
//     state                   prints what a parent can do to a child: descriptors, signals, limits
#define _GNU_SOURCE
#include "fake_recorder.h"
#include "fake_store.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void record(uint64_t bytes, uint32_t flags)
{
  const char *options = getenv("TIDEMARK_OPTIONS"), *socket = NULL;
  if (options)
    socket = strstr(options, "socket=");
  if (!socket)
    return;
  char name[128];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(socket + 7, ","), socket + 7);
  struct {
    uint32_t magic, version, pid, flags;
    uint64_t store_bytes;
    uint32_t parent_pid, reserved;
  } request = {0x45444954, 1, (uint32_t)getpid(), flags, FAKE_STORE_BYTES, (uint32_t)getppid(), 0};
  int fd = fake_recorder_ask(name, &request, sizeof request);
  if (fd < 0)
    return;
  struct fake_store store;
  fake_store_map(&store, fd);
  close(fd);
  store.header->pid = (uint32_t)getpid();
  uint32_t stack = fake_store_node(&store, 0x1234, 0, 0);
  struct tide_cell *cell = fake_store_cell(&store, stack, fake_store_slot(&store, 1, "main"));
  fake_store_alloc(&store, cell, bytes);
  fake_store_free(&store, cell, bytes);
  fake_store_alloc(&store, cell, bytes / 2);
}

static void become(const char *self, const char *bytes, const char *status)
{
  execl(self, self, "record", bytes, status, (char *)NULL);
  _exit(99);
}

static void start_and_wait(const char *self, int i)
{
  char bytes[16];
  snprintf(bytes, sizeof bytes, "%d", 1000 + i);
  pid_t pid = vfork();
  if (pid == 0)
    become(self, bytes, "0");
  waitpid(pid, NULL, 0);
}

static void print_status_line(const char *field)
{
  char line[256];
  FILE *file = fopen("/proc/self/status", "re");
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, field, strlen(field)))
      fputs(line, stdout);
  fclose(file);
}

static void print_state(void)
{
  DIR *fds = opendir("/proc/self/fd");
  for (struct dirent *e; (e = readdir(fds));)
    if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(fds))
      printf("fd %s\n", e->d_name);
  closedir(fds);
  print_status_line("SigBlk");
  print_status_line("SigIgn");
  print_status_line("SigCgt");
  print_status_line("SigPnd");
  print_status_line("ShdPnd");
  struct rlimit limit;
  for (int i = 0; i < RLIMIT_NLIMITS; i++)
    if (!getrlimit((__rlimit_resource_t)i, &limit))
      printf("limit %d %llu %llu\n", i, (unsigned long long)limit.rlim_cur,
             (unsigned long long)limit.rlim_max);
  mode_t mask = umask(0);
  printf("umask %o group %d session %d\n", mask, getpgrp(), getsid(0));
  for (char **e = environ; *e; e++)
    if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "TIDEMARK_OPTIONS=", 17) != 0)
      printf("env %s\n", *e);
}

static volatile sig_atomic_t came;

static void on_signal(int number)
{
  came = number;
}

static int await(int number, int status)
{
  signal(number, on_signal);
  puts("ready");
  fflush(stdout);
  while (!came)
    usleep(1000);
  return status;
}

int main(int argc, char **argv)
{
  const char *verb = argc > 1 ? argv[1] : "";
  int number = argc > 2 ? atoi(argv[2]) : 0;
  if (!strcmp(verb, "record")) {
    record((uint64_t)number, 0);
    return argc > 3 ? atoi(argv[3]) : 0;
  }
  if (!strcmp(verb, "exec")) {
    record((uint64_t)number, 0);
    become(argv[0], "3000", "5");
  }
  if (!strcmp(verb, "fork")) {
    record(1000, 0);
    pid_t pid = fork();
    if (pid == 0) {
      record(4000, 1);
      _exit(6);
    }
    waitpid(pid, NULL, 0);
  }
  for (int i = 0; i < number && !strcmp(verb, "many"); i++)
    start_and_wait(argv[0], i);
  if (!strcmp(verb, "signal")) {
    record(1000, 0);
    raise(number);
  }
  if (!strcmp(verb, "await"))
    return await(number, argc > 3 ? atoi(argv[3]) : 0);
  if (!strcmp(verb, "leave")) {
    record(1000, 0);
    int ready[2];
    if (pipe(ready) || fork() == 0) {
      record(2000, 1);
      close(ready[0]);
      close(ready[1]);
      sleep(2);
      _exit(0);
    }
    close(ready[1]);
    char byte;
    return read(ready[0], &byte, 1) == 0 ? 0 : 1; // until the child has recorded
  }
  if (!strcmp(verb, "stay")) {
    record((uint64_t)number, 0);
    while (access("stop", F_OK))
      usleep(1000);
    return argc > 3 ? atoi(argv[3]) : 0;
  }
  if (!strcmp(verb, "state"))
    print_state();
  return 0;
}
