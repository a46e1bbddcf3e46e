// SPDX-License-Identifier: Apache-2.0
//
// See limits.h. A group's path is that of /proc/PID/cgroup behind the mount point of its hierarchy,
// less the part of the hierarchy that the mount does not show (in containers).
#define _GNU_SOURCE
#include "supervise/limits.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define UNLIMITED (UINT64_C(1) << 60) // from here on, of the first kind: LONG_MAX, rounded down

enum { GROUPS_MAX = 16, TEXT_MAX = 65536 };

struct group { // with a limit
  char path[PATH_MAX];
  uint64_t most_bytes;
  bool is_v2;
};

struct tide_limits {
  char *root;
  uint32_t pid;
  struct group groups[GROUPS_MAX];
  size_t n_groups;
  uint64_t looked_ns; // for groups; 0: never
  char text[TEXT_MAX];
};

// The text of a file, "" if it cannot be read; valid until the next one.
static char *text_of(struct tide_limits *limits, const char *format, const char *a, const char *b)
{
  char path[2 * PATH_MAX];
  int n = snprintf(path, sizeof path, "%s", limits->root);
  snprintf(path + n, sizeof path - (size_t)n, format, a, b);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t length = 0;
  ssize_t got = 0;
  while (fd >= 0 && length < TEXT_MAX - 1 &&
         (got = read(fd, limits->text + length, TEXT_MAX - 1 - length)) > 0)
    length += (size_t)got;
  if (fd >= 0)
    close(fd);
  limits->text[length] = 0;
  return limits->text;
}

static uint64_t number_of(struct tide_limits *limits, const char *directory, const char *file)
{
  const char *text = text_of(limits, "%s/%s", directory, file);
  return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

// The number behind a word at the start of a line; 0: there is none.
static uint64_t field_of(const char *text, const char *word)
{
  size_t n = strlen(word);
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (!strncmp(line, word, n) && (line[n] == ' ' || line[n] == ':'))
      return strtoull(line + n + 1, NULL, 10);
  }
  return 0;
}

// ---- groups ----

struct mounted {
  char root[PATH_MAX], at[PATH_MAX]; // at "": it is not mounted
};

// Of the hierarchy that has memory: "36 25 0:31 /root /mount/point rw … - cgroup2 cgroup2 rw".
static void find_mount(struct tide_limits *limits, bool is_v2, struct mounted *ret)
{
  *ret = (struct mounted){0};
  char *rest = NULL;
  for (char *line = strtok_r(text_of(limits, "/proc/self/%s%s", "mountinfo", ""), "\n", &rest);
       line; line = strtok_r(NULL, "\n", &rest)) {
    const char *kind = strstr(line, is_v2 ? " - cgroup2 " : " - cgroup ");
    const char *options = kind ? strrchr(kind, ' ') : NULL;
    bool has_memory = is_v2 || (options && strstr(options, "memory"));
    if (kind && has_memory && sscanf(line, "%*s %*s %*s %4095s %4095s", ret->root, ret->at) == 2)
      return;
  }
  ret->at[0] = 0;
}

// The group of the process, "" if it has none: "0::/a/b", or "4:memory:/a/b".
static void find_group(struct tide_limits *limits, bool is_v2, char ret_group[PATH_MAX])
{
  char pid[16], *rest = NULL;
  snprintf(pid, sizeof pid, "%u", limits->pid);
  ret_group[0] = 0;
  for (char *line = strtok_r(text_of(limits, "/proc/%s/%s", pid, "cgroup"), "\n", &rest); line;
       line = strtok_r(NULL, "\n", &rest)) {
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
    if (!path)
      continue;
    *path++ = 0;
    if (is_v2 ? !strcmp(line, "0:") : strstr(names, "memory") != NULL)
      snprintf(ret_group, PATH_MAX, "%s", path);
  }
}

static void add_group(struct tide_limits *limits, const char *path, bool is_v2)
{
  uint64_t most = number_of(limits, path, is_v2 ? "memory.max" : "memory.limit_in_bytes");
  if (most >= UNLIMITED || !most || limits->n_groups == GROUPS_MAX)
    return;
  struct group *group = &limits->groups[limits->n_groups++];
  *group = (struct group){.most_bytes = most, .is_v2 = is_v2};
  snprintf(group->path, sizeof group->path, "%s", path);
}

// The group and those above it, up to the mount.
static void add_groups(struct tide_limits *limits, bool is_v2)
{
  struct mounted mounted;
  char group[PATH_MAX], path[2 * PATH_MAX];
  find_mount(limits, is_v2, &mounted);
  find_group(limits, is_v2, group);
  if (!mounted.at[0] || !group[0])
    return;
  size_t n = strlen(mounted.root);
  const char *below = n > 1 && !strncmp(group, mounted.root, n) ? group + n : group;
  if (!strncmp(below, "/..", 3)) // of another namespace: what is mounted is all there is
    below = "";
  snprintf(path, sizeof path, "%s%s", mounted.at, below);
  size_t least = strlen(mounted.at);
  for (;;) {
    while (strlen(path) > least && path[strlen(path) - 1] == '/')
      path[strlen(path) - 1] = 0;
    add_group(limits, path, is_v2);
    char *slash = strrchr(path, '/');
    if (strlen(path) <= least || !slash)
      return;
    *slash = 0;
  }
}

static uint64_t used_of(struct tide_limits *limits, const struct group *group)
{
  uint64_t used =
      number_of(limits, group->path, group->is_v2 ? "memory.current" : "memory.usage_in_bytes");
  if (used == UINT64_MAX)
    return 0;
  if (used < group->most_bytes / 2) // far away, whatever of it is files
    return used;
  const char *stat = text_of(limits, "%s/%s", group->path, "memory.stat");
  uint64_t files = field_of(stat, group->is_v2 ? "inactive_file" : "total_inactive_file");
  return used > files ? used - files : 0;
}

// ---- the nearest ----

static bool is_nearer(const struct tide_limit *limit, uint64_t used, uint64_t most)
{
  return !limit->most_bytes ||
         (double)used / (double)most > (double)limit->used_bytes / (double)limit->most_bytes;
}

static void take_if_nearer(struct tide_limit *limit, uint64_t used, uint64_t most, const char *what,
                           const char *where)
{
  if (!is_nearer(limit, used, most))
    return;
  limit->used_bytes = used;
  limit->most_bytes = most;
  snprintf(limit->what, sizeof limit->what, "%s%s", what, where);
}

static void consider_address_space(struct tide_limits *limits, struct tide_limit *limit)
{
  struct rlimit most;
  char pid[16];
  snprintf(pid, sizeof pid, "%u", limits->pid);
  if (prlimit((pid_t)limits->pid, RLIMIT_AS, NULL, &most) || most.rlim_cur == RLIM_INFINITY ||
      !most.rlim_cur)
    return;
  uint64_t pages = strtoull(text_of(limits, "/proc/%s/%s", pid, "statm"), NULL, 10);
  take_if_nearer(limit, pages * (uint64_t)sysconf(_SC_PAGESIZE), most.rlim_cur, "its RLIMIT_AS",
                 "");
}

static void consider_machine(struct tide_limits *limits, struct tide_limit *limit)
{
  const char *text = text_of(limits, "/proc/%s%s", "meminfo", "");
  uint64_t all = field_of(text, "MemTotal") * 1024, left = field_of(text, "MemAvailable") * 1024;
  if (all && left && left <= all)
    take_if_nearer(limit, all - left, all, "the machine's memory", "");
}

struct tide_limits *tide_limits_new(const char *root, uint32_t pid)
{
  struct tide_limits *limits = tide_alloc(sizeof *limits);
  limits->root = tide_strdup(root);
  limits->pid = pid;
  return limits;
}

void tide_limits_free(struct tide_limits *limits)
{
  if (!limits)
    return;
  free(limits->root);
  free(limits);
}

bool tide_limits_nearest(struct tide_limits *limits, uint64_t now_ns, struct tide_limit *ret_limit)
{
  struct tide_limit limit = {0};
  if (!limits->looked_ns || now_ns >= limits->looked_ns + NS_PER_S) {
    limits->looked_ns = now_ns ? now_ns : 1;
    limits->n_groups = 0;
    add_groups(limits, true);
    add_groups(limits, false);
  }
  for (size_t i = 0; i < limits->n_groups; i++) {
    const struct group *group = &limits->groups[i];
    take_if_nearer(&limit, used_of(limits, group), group->most_bytes,
                   group->is_v2 ? "memory.max of " : "memory.limit_in_bytes of ", group->path);
  }
  consider_address_space(limits, &limit);
  if (!limit.most_bytes)
    consider_machine(limits, &limit);
  if (!limit.most_bytes)
    return false;
  *ret_limit = limit;
  return true;
}
