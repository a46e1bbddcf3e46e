// SPDX-License-Identifier: Apache-2.0
//
// A function that nothing calls, larger than the distance from address 0 to the first code: with
// section garbage collection its line rows stay, from 0 on, and must not shadow those of live code.
extern volatile int sink;
int dead_function(int n);

#define TEN(x) x x x x x x x x x x
#define STEP sink = n * sink + n;

int dead_function(int n)
{
  TEN(TEN(TEN(STEP)))
  return n;
}
