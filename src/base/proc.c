// SPDX-License-Identifier: Apache-2.0
//
// Reading /proc.
#define _GNU_SOURCE
#include "base/proc.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

static bool is_ours;

static void look_whose(void)
{
  char link[32] = "";
  is_ours = readlink("/proc/self", link, sizeof link - 1) > 0 &&
            strtoul(link, NULL, 10) == (unsigned long)getpid();
}

bool tide_proc_is_ours(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_whose);
  if (!is_ours)
    errno = ENOENT;
  return is_ours;
}

static int open_of(uint32_t pid, const char *file)
{
  char path[64];
  if (pid && !tide_proc_is_ours())
    return -1;
  if (pid)
    snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
  else
    snprintf(path, sizeof path, "/proc/self/%s", file);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// The beginning of a file as text; empty when it cannot be read.
static void read_text(int fd, char *text, size_t size)
{
  ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = 0;
}

// By hand: every process of a run passes here, and scanf() takes longer than the kernel.
bool tide_proc_stat(uint32_t pid, struct tide_proc_stat *ret_stat)
{
  enum { PARENT, GROUP, SESSION, CHILDREN_USER = 12, CHILDREN_SYSTEM, BORN = 18, STACK_START = 24 };
  enum { EXIT_STATUS = 48, N_NUMBERS }; // behind the state
  char text[1024];
  uint64_t numbers[N_NUMBERS] = {0};
  read_text(open_of(pid, "stat"), text, sizeof text);
  char *at = strrchr(text, ')'); // the name before may hold anything
  if (!at || at[1] != ' ' || !at[2])
    return false;
  char state = at[2], *end = at + 3;
  for (int i = 0; i < N_NUMBERS; i++) {
    at = end;
    numbers[i] = strtoull(at, &end, 10);
    if (end == at && i <= BORN)
      return false;
  }
  const uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
  *ret_stat = (struct tide_proc_stat){
      .pid = pid,
      .parent = (uint32_t)numbers[PARENT],
      .group = (uint32_t)numbers[GROUP],
      .session = (uint32_t)numbers[SESSION],
      .state = state,
      .born = numbers[BORN],
      .children_cpu_ns = (numbers[CHILDREN_USER] + numbers[CHILDREN_SYSTEM]) * tick_ns,
      .stack_start = numbers[STACK_START],
      .exit_status = (int)numbers[EXIT_STATUS]};
  return true;
}

bool tide_proc_exe(uint32_t pid, char *ret_path, size_t size)
{
  static const char deleted[] = " (deleted)";
  char link[64];
  snprintf(link, sizeof link, "/proc/%u/exe", pid);
  ssize_t n = tide_proc_is_ours() ? readlink(link, ret_path, size - 1) : -1;
  if (n <= 0)
    return false;
  ret_path[n] = 0;
  size_t tail = sizeof deleted - 1;
  if ((size_t)n > tail && strcmp(ret_path + (size_t)n - tail, deleted) == 0)
    ret_path[(size_t)n - tail] = 0;
  return true;
}

bool tide_proc_name(uint32_t pid, char *ret_name, size_t size)
{
  read_text(open_of(pid, "comm"), ret_name, size);
  ret_name[strcspn(ret_name, "\n")] = 0;
  return *ret_name;
}

// A piece at a time: with very many groups the file is long.
static bool find_field(int fd, const char *field, char *ret_text, size_t size)
{
  char text[4096] = "\n", name[64];
  size_t n = 1, n_name = (size_t)snprintf(name, sizeof name, "\n%s:", field);
  ssize_t got;
  while ((got = read(fd, text + n, sizeof text - 1 - n)) > 0) {
    n += (size_t)got;
    text[n] = 0;
    char *at = memmem(text, n, name, n_name), *end = at ? strchr(at + 1, '\n') : NULL;
    if (end) {
      *end = 0;
      at += n_name;
      snprintf(ret_text, size, "%s", at + strspn(at, " \t"));
      return true;
    }
    size_t kept = at ? n - (size_t)(at - text) : n < n_name ? n : n_name;
    if (kept == sizeof text - 1) // the field is longer than that
      return false;
    memmove(text, text + n - kept, kept);
    n = kept;
  }
  return false;
}

bool tide_proc_status(uint32_t pid, uint32_t tid, const char *field, char *ret_text, size_t size)
{
  char file[64] = "status";
  if (tid)
    snprintf(file, sizeof file, "task/%u/status", tid);
  int fd = open_of(pid, file);
  bool found = fd >= 0 && find_field(fd, field, ret_text, size);
  if (fd >= 0)
    close(fd);
  return found;
}

uint64_t tide_proc_status_number(uint32_t pid, const char *field, int base)
{
  char text[64];
  return tide_proc_status(pid, 0, field, text, sizeof text) ? strtoull(text, NULL, base) : 0;
}

bool tide_proc_shares(uint32_t pid, const char *link)
{
  char path[64];
  struct stat its, ours;
  snprintf(path, sizeof path, "/proc/%u/%s", pid, link);
  if (stat(path, &its))
    return true;
  snprintf(path, sizeof path, "/proc/self/%s", link);
  return stat(path, &ours) || (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino);
}

static uint64_t kib_after(const char *text, const char *field)
{
  const char *at = strstr(text, field);
  return at ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
}

// All of one look: every process of a run passes here.
struct tide_proc_marks tide_proc_marks(uint32_t pid)
{
  char text[4096];
  read_text(open_of(pid, "status"), text, sizeof text);
  return (struct tide_proc_marks){
      .high_bytes = kib_after(text, "\nVmHWM:"),
      .swapped_bytes = kib_after(text, "\nVmSwap:"),
      .has_kinds = strstr(text, "\nRssShmem:"),
      .anonymous_bytes = kib_after(text, "\nRssAnon:"),
      .file_bytes = kib_after(text, "\nRssFile:"),
      .shared_bytes = kib_after(text, "\nRssShmem:"),
  };
}

// Looks for a text in a file of any length, a piece at a time. The text must be shorter than half a
// piece.
static bool file_holds(int fd, const char *text, bool at_start_only)
{
  char piece[8192];
  size_t n_text = strlen(text), kept = 0;
  bool found = false, first = true;
  ssize_t got;
  while (fd >= 0 && !found && (got = read(fd, piece + kept, sizeof piece - kept)) > 0) {
    size_t n = kept + (size_t)got;
    for (char *at = piece; !found && (at = memmem(at, n - (size_t)(at - piece), text, n_text));
         at++)
      found = !at_start_only || (at == piece ? first : at[-1] == 0);
    kept = n < n_text ? n : n_text; // the text may lie across two pieces
    memmove(piece, piece + n - kept, kept);
    first = false;
  }
  if (fd >= 0)
    close(fd);
  return found;
}

bool tide_proc_maps_hold(uint32_t pid, const char *text)
{
  return file_holds(open_of(pid, "maps"), text, false);
}

bool tide_proc_shares_memory(uint32_t pid, uint32_t other)
{
  return syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

bool tide_proc_was_given(uint32_t pid, const char *name)
{
  return file_holds(open_of(pid, "environ"), name, true);
}

bool tide_proc_environment_holds(uint32_t pid, const char *text)
{
  return file_holds(open_of(pid, "environ"), text, false);
}

static void read_children(const char *path, void (*found)(void *context, uint32_t child),
                          void *context)
{
  FILE *file = fopen(path, "re");
  unsigned child;
  while (file && fscanf(file, "%u", &child) == 1)
    found(context, child);
  if (file)
    fclose(file);
}

void tide_proc_children(uint32_t pid, void (*found)(void *context, uint32_t child), void *context)
{
  char path[320];
  snprintf(path, sizeof path, "/proc/%u/task", pid);
  DIR *tasks = tide_proc_is_ours() ? opendir(path) : NULL;
  for (const struct dirent *task; tasks && (task = readdir(tasks));) {
    if (task->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "/proc/%u/task/%s/children", pid, task->d_name);
    read_children(path, found, context);
  }
  if (tasks)
    closedir(tasks);
}

enum tide_err tide_proc_fail(uint32_t pid, struct tide_diag *diag)
{
  if (errno == ENOENT)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "there is no process %u", pid);
  if (errno == ESRCH)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %u has ended", pid);
  return tide_fail_errno(diag, "cannot look at process %u", pid);
}

// lo-hi rwxp offset device inode path
bool tide_mapping_parse(const char *line, struct tide_mapping *ret_mapping)
{
  struct tide_mapping m = {0};
  char flags[5];
  int path_at = 0;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
             &m.lo, &m.hi, flags, &m.offset, &m.device_major, &m.device_minor, &m.inode,
             &path_at) < 7 ||
      m.hi <= m.lo)
    return false;
  m.readable = flags[0] == 'r';
  m.writable = flags[1] == 'w';
  m.executable = flags[2] == 'x';
  m.shared = flags[3] == 's';
  m.path = tide_strndup(line + path_at, strcspn(line + path_at, "\n"));
  *ret_mapping = m;
  return true;
}
