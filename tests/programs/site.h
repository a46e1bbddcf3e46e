// SPDX-License-Identifier: Apache-2.0
//
// What the test programs share. A SITE is a function that keeps its own frame and its own name
// whatever the optimiser thinks, so that a truth can be declared for it. say() writes without
// stdio: printf's buffer would be an allocation that nobody declared.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noipa))

static inline void say(const char *text)
{
  if (write(1, text, strlen(text)) < 0)
    _exit(99);
}

static inline void say_number(const char *name, unsigned long value)
{
  char line[128], digits[24];
  size_t n = strlen(name), d = 0;
  memcpy(line, name, n);
  do
    digits[d++] = (char)('0' + value % 10);
  while (value /= 10);
  line[n++] = ' ';
  while (d)
    line[n++] = digits[--d];
  line[n++] = '\n';
  if (write(1, line, n) < 0)
    _exit(99);
}

// The program itself says when its own expectation does not hold: a test must not rest on it.
#define MUST(condition) ((condition) ? (void)0 : must_failed("MUST failed: " #condition "\n"))

static inline void must_failed(const char *text)
{
  say(text);
  _exit(98);
}
