// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of another process, by /proc. A process may end at any moment: whatever
// cannot be read is told as such. Where /proc is that of another pid namespace (unshare --pid
// without --mount-proc) its numbers are others' than ours: nothing is read there but of ourselves.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

struct tide_proc_stat {
  uint32_t pid, parent, group, session;
  char state;    // 'Z': it has ended and nobody has waited for it
  uint64_t born; // clock ticks since the machine started: with the pid, a process's identity
  uint64_t children_cpu_ns; // of those it has waited for
  uint64_t stack_start;     // of the main thread; 0: not told to us
  int exit_status;          // as wait() tells it, of one that has ended; 0: not told to us
};

// Does /proc have processes by the numbers that we know them by? False with ENOENT.
bool tide_proc_is_ours(void);

bool tide_proc_stat(uint32_t pid, struct tide_proc_stat *ret_stat);

// Path of its program, without the kernel's " (deleted)"; false with errno when it cannot be told.
bool tide_proc_exe(uint32_t pid, char *ret_path, size_t size);

// Its name, at most 15 bytes, which everybody may read.
bool tide_proc_name(uint32_t pid, char *ret_name, size_t size);

// What its status file says of a field, "State" or "CapEff", from there to the end of the line; of
// the thread tid, or of the process if that is 0; pid 0: of this process. False: it has ended, or
// there is no such field.
bool tide_proc_status(uint32_t pid, uint32_t tid, const char *field, char *ret_text, size_t size);
// The first number of a field of the process; 0 when there is none.
uint64_t tide_proc_status_number(uint32_t pid, const char *field, int base);
// Is what leads there, "root" or "ns/mnt", the same for the process and for us? True also where
// nobody tells.
bool tide_proc_shares(uint32_t pid, const char *link);

// High water mark of its resident set (since exec) and swapped bytes, as the kernel remembers them,
// and of what kinds the resident set is.
struct tide_proc_marks {
  uint64_t high_bytes, swapped_bytes; // 0: not known, or none
  bool has_kinds;                     // a kernel before 4.5 does not tell them
  uint64_t anonymous_bytes, file_bytes, shared_bytes;
};
struct tide_proc_marks tide_proc_marks(uint32_t pid);

// Does a line of its list of mappings contain the text? False when it cannot be read, too.
bool tide_proc_maps_hold(uint32_t pid, const char *text);

// Do two processes share one memory, as a vfork child does with its parent? False where the kernel
// does not tell.
bool tide_proc_shares_memory(uint32_t pid, uint32_t other);

// Is the variable in the environment it was started with? `name` ends in '='.
bool tide_proc_was_given(uint32_t pid, const char *name);

// Does the text stand anywhere in the environment it was started with?
bool tide_proc_environment_holds(uint32_t pid, const char *text);

// Calls found for every child of the process, those of all its threads.
void tide_proc_children(uint32_t pid, void (*found)(void *context, uint32_t child), void *context);

// Tells why a file of a process could not be opened, by errno: mostly, it has ended meanwhile.
enum tide_err tide_proc_fail(uint32_t pid, struct tide_diag *diag);

// ---- its mappings ----

struct tide_mapping {
  uint64_t lo, hi, offset, inode;
  uint32_t device_major, device_minor; // of the file; some file systems tell stat() another
  bool readable, writable, executable, shared;
  char *path; // "" for anonymous memory; owned
};

// A line of /proc/PID/maps. False: it is none.
bool tide_mapping_parse(const char *line, struct tide_mapping *ret_mapping);

// ---- its pages ----
//
// /proc/PID/pagemap has a word for each page. Newer kernels tell ranges of pages; linux/fs.h has
// that since 6.7.

#define TIDE_PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define TIDE_PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define TIDE_PAGEMAP_FILE (UINT64_C(1) << 61)
#define TIDE_PAGEMAP_GUARD (UINT64_C(1) << 58) // and said to be swapped; since 6.15
#define TIDE_PAGEMAP_EXCLUSIVE (UINT64_C(1) << 56)

struct tide_scan_region {
  uint64_t start, end, categories;
};
struct tide_scan_request {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define TIDE_SCAN _IOWR('f', 16, struct tide_scan_request)
enum {
  TIDE_SCAN_FILE = 1 << 2,
  TIDE_SCAN_PRESENT = 1 << 3,
  TIDE_SCAN_SWAPPED = 1 << 4,
  TIDE_SCAN_ZERO_PAGE = 1 << 5,
  TIDE_SCAN_HUGE = 1 << 6,
  TIDE_SCAN_REGIONS = 256, // Linux 6.18 tells some twice when asked for more than 512
};
