// SPDX-License-Identifier: Apache-2.0
//
// Checked allocation: see alloc.h for why failure ends the process.
#define _GNU_SOURCE
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
  if (!p) {
    fputs("tidemark: out of memory\n", stderr);
    _Exit(125);
  }
  return p;
}

void *tide_alloc(size_t bytes)
{
  return checked(calloc(1, bytes ? bytes : 1));
}

void *tide_alloc_array(size_t n, size_t bytes_each)
{
  return checked(calloc(n ? n : 1, bytes_each ? bytes_each : 1));
}

void *tide_realloc_array(void *old, size_t n, size_t bytes_each)
{
  return checked(reallocarray(old, n ? n : 1, bytes_each ? bytes_each : 1));
}

char *tide_strdup(const char *text)
{
  return text ? checked(strdup(text)) : NULL;
}

char *tide_strndup(const char *text, size_t n)
{
  return checked(strndup(text, n));
}

char *tide_sprintf(const char *format, ...)
{
  char *text = NULL;
  va_list args;
  va_start(args, format);
  int n = vasprintf(&text, format, args);
  va_end(args);
  return n < 0 ? checked(NULL) : text;
}
