// SPDX-License-Identifier: Apache-2.0
//
// Memory of the hosted code. Running out of it is the one condition under which library code ends
// the process: there is no sentence left to say and nothing a caller could do better.
#pragma once
#include <stddef.h>

// Never NULL; zeroed. Freed with free().
void *tide_alloc(size_t bytes);
void *tide_alloc_array(size_t n, size_t bytes_each); // checks the product
void *tide_realloc_array(void *old, size_t n, size_t bytes_each);
char *tide_strdup(const char *text); // NULL gives NULL
char *tide_strndup(const char *text, size_t n);
char *tide_sprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Makes room for one more element in a growing array: items, n used, capacity in *cap.
#define TIDE_GROW(items, n, cap)                                                                   \
  do {                                                                                             \
    if ((n) == (cap)) {                                                                            \
      (cap) = (cap) ? (cap)*2 : 16;                                                                \
      (items) = tide_realloc_array((items), (cap), sizeof *(items));                               \
    }                                                                                              \
  } while (0)

// Frees what the variable points to when it goes out of scope.
static inline void tide_free_pointer(void *pointer_to_pointer)
{
  void **p = pointer_to_pointer;
  extern void free(void *);
  free(*p);
}
#define TIDE_CLEANUP_FREE __attribute__((cleanup(tide_free_pointer)))
