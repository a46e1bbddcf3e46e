// SPDX-License-Identifier: Apache-2.0
//
// Naming and reserving the output.
#define _GNU_SOURCE
#include "supervise/output_name.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *tide_output_name(const char *pattern, const char *program, pid_t pid)
{
  const char *slash = strrchr(program, '/');
  struct tide_buf name = {0};
  for (const char *p = pattern; *p; p++) {
    if (p[0] == '%' && p[1] == 'p')
      tide_buf_printf(&name, "%d", (int)pid);
    else if (p[0] == '%' && p[1] == 'n')
      tide_buf_text(&name, slash ? slash + 1 : program);
    else if (p[0] == '%' && p[1] == '%')
      tide_buf_u8(&name, '%');
    else {
      tide_buf_append(&name, p, 1);
      continue;
    }
    p++;
  }
  char *text = tide_strdup(tide_buf_cstr(&name));
  tide_buf_done(&name);
  return text;
}

char *tide_output_base(const char *path)
{
  size_t n = strlen(path);
  bool has_end = n > 5 && !strcmp(path + n - 5, ".tide");
  return tide_strndup(path, has_end ? n - 5 : n);
}

static bool directory_is_writable(const char *path)
{
  char *directory = tide_strdup(path);
  char *slash = strrchr(directory, '/');
  if (slash)
    slash[slash == directory] = 0;
  bool writable = !access(slash ? directory : ".", W_OK);
  free(directory);
  return writable;
}

enum tide_err tide_output_reserve(const char *path, bool force, struct tide_output_state *ret_state,
                                  struct tide_diag *diag)
{
  struct stat st;
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    close(fd);
    *ret_state = (struct tide_output_state){.created = true, .replaceable = true};
    return TIDE_ERR_OK;
  }
  if (errno != EEXIST)
    return tide_fail_errno(diag, "cannot write %s", path);
  bool known = !stat(path, &st);
  if (known && S_ISDIR(st.st_mode))
    return tide_fail_hint(diag, TIDE_ERR_EXISTS, TIDE_HINT_OUTPUT_FILE, "%s is a directory", path);
  bool regular = !known || S_ISREG(st.st_mode);
  if (regular && !force)
    return tide_fail_hint(diag, TIDE_ERR_EXISTS, TIDE_HINT_REPLACE, "%s exists already", path);
  if (regular && !directory_is_writable(path))
    return tide_fail_errno(diag, "cannot replace %s", path);
  *ret_state = (struct tide_output_state){.created = false, .replaceable = regular};
  return TIDE_ERR_OK;
}

void tide_output_release(const char *path)
{
  struct stat st;
  if (!stat(path, &st) && S_ISREG(st.st_mode) && st.st_size == 0)
    unlink(path);
}
