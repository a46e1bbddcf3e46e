// SPDX-License-Identifier: Apache-2.0
//
// How near a process is to where the kernel ends it, or refuses it memory: the limits of its
// control groups, of the second kind (memory.max) and of the first (memory.limit_in_bytes), each
// group above included; its RLIMIT_AS; and, where it has none of them, the machine's own memory.
//
// Of what a group uses, files that were read once and not again (inactive_file) do not count: the
// kernel drops them before it kills anybody, and a program that reads much is at its limit always.
//
// Files of /proc and /sys are read, some µs each; nothing is written. One thread.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct tide_limit {
  uint64_t used_bytes, most_bytes;
  char what[256]; // "memory.max of /sys/fs/cgroup/a.slice", "its RLIMIT_AS", "the machine's memory"
};

struct tide_limits;

// root: what stands before every path, "" but in tests. The groups are looked for now and, as
// processes are moved and limits changed, once a second from then on.
struct tide_limits *tide_limits_new(const char *root, uint32_t pid);
void tide_limits_free(struct tide_limits *limits); // NULL is fine

// The one of which the largest part is used up. False: none is known, or it has ended.
bool tide_limits_nearest(struct tide_limits *limits, uint64_t now_ns, struct tide_limit *ret_limit);
