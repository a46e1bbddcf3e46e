// SPDX-License-Identifier: Apache-2.0
//
// Facts about this machine, as the kernel tells them.
#define _GNU_SOURCE
#include "observe/host_facts.h"

#include "base/alloc.h"
#include "rt/arch.h"
#include "store/layout.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

struct tide_capture *tide_capture_new_here(void)
{
  struct tide_capture *capture = tide_capture_new();
  struct utsname host;
  if (uname(&host) < 0)
    host = (struct utsname){0};
  capture->tool_version = tide_strdup(TIDE_VERSION);
  capture->arch = TIDE_ARCH_ID;
  capture->kernel_page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
  capture->hostname = tide_strdup(host.nodename);
  capture->kernel = tide_strdup(host.release);
  return capture;
}

unsigned tide_host_filters(void)
{
  FILE *file = fopen("/proc/self/status", "re");
  char line[256];
  unsigned n = 0, mode = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Seccomp_filters: %u", &n) != 1)
      sscanf(line, "Seccomp: %u", &mode);
  if (file)
    fclose(file);
  return n ? n : mode != 0; // kernels before 5.9 do not count them
}
