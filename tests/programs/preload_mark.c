// SPDX-License-Identifier: Apache-2.0
//
// The user's own preload: a library that interposes one function of the program.
//
// helper: preload_mark.so
int preload_mark(void);
int preload_mark(void)
{
  return 42;
}
