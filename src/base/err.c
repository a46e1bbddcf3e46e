// SPDX-License-Identifier: Apache-2.0
//
// One place where failures become sentences.
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tide_err_text(enum tide_err err)
{
  static const char *const text[] = {
#define X(name, words) words,
      TIDE_ERR_LIST(X)
#undef X
  };
  return (unsigned)err < sizeof text / sizeof *text ? text[err] : "unknown error";
}

static void write_text(struct tide_diag *diag, const char *format, va_list args)
{
  *diag = (struct tide_diag){0};
  vsnprintf(diag->text, sizeof diag->text, format, args);
}

static void append(struct tide_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append(struct tide_diag *diag, const char *format, ...)
{
  size_t used = strlen(diag->text);
  va_list args;
  va_start(args, format);
  vsnprintf(diag->text + used, sizeof diag->text - used, format, args);
  va_end(args);
}

enum tide_err tide_fail(struct tide_diag *diag, enum tide_err err, const char *format, ...)
{
  if (diag) {
    va_list args;
    va_start(args, format);
    write_text(diag, format, args);
    va_end(args);
  }
  return err;
}

enum tide_err tide_fail_hint(struct tide_diag *diag, enum tide_err err, enum tide_hint hint,
                             const char *format, ...)
{
  if (diag) {
    va_list args;
    va_start(args, format);
    write_text(diag, format, args);
    va_end(args);
    diag->hint = hint;
  }
  return err;
}

enum tide_err tide_fail_errno(struct tide_diag *diag, const char *format, ...)
{
  int saved = errno;
  if (diag) {
    va_list args;
    va_start(args, format);
    write_text(diag, format, args);
    va_end(args);
    append(diag, ": %s", strerror(saved));
    diag->sys_errno = saved;
  }
  return TIDE_ERR_SYSTEM;
}

enum tide_err tide_fail_at(struct tide_diag *diag, enum tide_err err, uint64_t offset,
                           const char *format, ...)
{
  if (diag) {
    va_list args;
    va_start(args, format);
    write_text(diag, format, args);
    va_end(args);
    append(diag, ", at byte %llu", (unsigned long long)offset);
    diag->has_offset = true;
    diag->offset = offset;
  }
  return err;
}
