// SPDX-License-Identifier: Apache-2.0
//
// Which limit of a process is the nearest, by files as kernels and containers have them.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "supervise/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MIB (UINT64_C(1) << 20)
enum { PID = 2147483647 }; // of nobody: it has no RLIMIT_AS

static char root[64];

static void put(const char *path, const char *text)
{
  char whole[512];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(whole, 0700);
    *slash = '/';
  }
  FILE *file = fopen(whole, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void put_bytes(const char *path, uint64_t bytes)
{
  char text[32];
  snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
  put(path, text);
}

static void begin(void)
{
  strcpy(root, "/tmp/tidemark-limits-XXXXXX");
  assert_non_null(mkdtemp(root));
}

static void end(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -r '%s'", root);
  assert_int_equal(system(command), 0);
}

static void expect_nearest(uint64_t used, uint64_t most, const char *what)
{
  struct tide_limits *limits = tide_limits_new(root, PID);
  struct tide_limit limit = {0};
  assert_true(tide_limits_nearest(limits, 1, &limit));
  assert_int_equal(limit.used_bytes, used);
  assert_int_equal(limit.most_bytes, most);
  assert_string_equal(limit.what, what);
  tide_limits_free(limits);
}

#define MOUNTS                                                                                     \
  "24 1 0:22 / /proc rw - proc proc rw\n"                                                          \
  "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

// The limit may stand in a group above; that of the group itself is farther.
static void groups_above_count(void **state)
{
  (void)state;
  begin();
  put("/proc/self/mountinfo", MOUNTS);
  put("/proc/2147483647/cgroup", "0::/a.slice/b.service\n");
  put("/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
  put_bytes("/sys/fs/cgroup/a.slice/b.service/memory.current", 400 * MIB);
  put_bytes("/sys/fs/cgroup/a.slice/memory.max", 1000 * MIB);
  put_bytes("/sys/fs/cgroup/a.slice/memory.current", 450 * MIB);
  expect_nearest(450 * MIB, 1000 * MIB, "memory.max of /sys/fs/cgroup/a.slice");
  put_bytes("/sys/fs/cgroup/a.slice/b.service/memory.max", 500 * MIB);
  put("/sys/fs/cgroup/a.slice/b.service/memory.stat", "anon 1\ninactive_file 104857600\nfile 2\n");
  expect_nearest(300 * MIB, 500 * MIB, "memory.max of /sys/fs/cgroup/a.slice/b.service");
  end();
}

// In a container the mount shows the group itself, by a path that the process does not have there.
static void a_container_has_a_part_of_the_tree(void **state)
{
  (void)state;
  begin();
  put("/proc/self/mountinfo", "30 1 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  put("/proc/2147483647/cgroup", "0::/docker/x\n");
  put_bytes("/sys/fs/cgroup/memory.max", 64 * MIB);
  put_bytes("/sys/fs/cgroup/memory.current", 8 * MIB);
  expect_nearest(8 * MIB, 64 * MIB, "memory.max of /sys/fs/cgroup");
  put("/proc/2147483647/cgroup", "0::/../../elsewhere\n");
  expect_nearest(8 * MIB, 64 * MIB, "memory.max of /sys/fs/cgroup");
  end();
}

static void groups_of_the_first_kind(void **state)
{
  (void)state;
  begin();
  put("/proc/self/mountinfo", "31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                              "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                              "33 1 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  put("/proc/2147483647/cgroup", "9:cpu:/\n4:memory:/job\n0::/\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put_bytes("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", 128 * MIB);
  put_bytes("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", 120 * MIB);
  put("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 20971520\n");
  expect_nearest(100 * MIB, 128 * MIB, "memory.limit_in_bytes of /sys/fs/cgroup/memory/job");
  end();
}

static void without_a_limit_it_is_the_machines(void **state)
{
  (void)state;
  begin();
  put("/proc/self/mountinfo", MOUNTS);
  put("/proc/2147483647/cgroup", "0::/\n");
  put("/proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:    2097152 kB\n");
  expect_nearest(6144 * MIB, 8192 * MIB, "the machine's memory");
  end();
  begin(); // nothing is to be had at all
  struct tide_limits *limits = tide_limits_new(root, PID);
  struct tide_limit limit;
  assert_false(tide_limits_nearest(limits, 1, &limit));
  tide_limits_free(limits);
  end();
}

UNIT_TESTS(limits_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_above_count),
      cmocka_unit_test(a_container_has_a_part_of_the_tree),
      cmocka_unit_test(groups_of_the_first_kind),
      cmocka_unit_test(without_a_limit_it_is_the_machines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
