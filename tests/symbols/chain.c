// SPDX-License-Identifier: Apache-2.0

// Chains of calls in C, each ending in one allocation of a size of its own. The comments beside the
// calls are the truth; chains.py explains them.

// chain: plain 1001, header 1002, looped 1003, twice 1004, again 1005, cold 1006, pointer 1007
// chain: deeper 1008, last 1009, tail 1010, generated 1011, twin 1012, other 1013, library 1014
// chain: before 1015, macro 1016, hot 1017, statement 1018, fault 1019, assembly 1020
#include "chain.h"

#include <setjmp.h>
#include <signal.h>

void *volatile sink;
volatile int zero;
static jmp_buf back;

INLINE void *take(size_t n)
{
  // inlined plain.0, looped.0, twice.0, again.0, cold.0, deeper.0, hot.0: take
  return malloc(n);
}

INLINE void *pass(size_t n)
{
  return take(n); // inlined plain.1: pass
}

INLINE void *pass_on(size_t n)
{
  return pass(n); // inlined plain.2: pass_on
}

ALONE void hold_plain(void)
{
  zero++;
  sink = pass_on(1001); // frame plain.3: hold_plain
}

ALONE void hold_header(void)
{
  sink = from_header(1002); // frame header.2: hold_header
}

INLINE void *search(size_t n)
{
  void *found = NULL;
  for (int i = zero - 2; i < zero; i++) {
    size_t twice = 2 * n;
    if (i == zero - 1) {
      size_t half = twice / 2;
      found = take(half); // inlined looped.1: search
    }
  }
  return found;
}

ALONE void hold_looped(void)
{
  {
    sink = search(1003); // frame looped.2: hold_looped
  }
}

ALONE void hold_twice(void)
{
  sink = take(1004); // frame twice.1: hold_twice
  sink = take(1005); // frame again.1: hold_twice
}

__attribute__((cold, noinline)) static void say_it_is_cold(void)
{
  zero++;
}

INLINE void *seldom(size_t n)
{
  say_it_is_cold();
  return take(n); // inlined cold.1: seldom
}

ALONE int hold_cold(int n)
{
  if (__builtin_expect(n > 0, 0))
    sink = seldom(1006); // frame cold.2: hold_cold
  return n + zero;
}

__attribute__((hot, noinline)) static void hold_hot(void)
{
  sink = take(1017); // frame hot.1: hold_hot
}

ALONE void by_pointer(void)
{
  sink = malloc(1007); // frame pointer.0: by_pointer
}

static void (*volatile called)(void) = by_pointer;

ALONE void deeper(int n)
{
  if (n > 0)
    deeper(n - 1); // frame deeper.2, deeper.3: deeper
  else
    sink = take(1008); // frame deeper.1: deeper
  zero++;
}

__attribute__((noinline, noreturn)) static void never_returns(void)
{
  sink = malloc(1009); // frame last.0: never_returns
  longjmp(back, 1);
}

INLINE __attribute__((noreturn)) void ends(void)
{
  never_returns(); // inlined last.1: ends
}

// Optimised, its last instruction is the call: the return address is another function's.
ALONE void hold_last(void)
{
  ends(); // frame last.2: hold_last
}

ALONE void behind_the_last(void)
{
  zero++;
}

ALONE void hold_tail(void)
{
  sink = malloc(1010); // frame tail.0: hold_tail
}

// Optimised, it jumps: nothing of it is left on the stack.
ALONE void jumps(void)
{
  zero++;
  hold_tail(); // frame tail.1: jumps at O0
}

static ALONE void twin(void)
{
  sink = malloc(1012); // frame twin.0: twin
}

#define GET(n) (sink = malloc(n))

ALONE void hold_macro(void)
{
  zero++;
  GET(1016); // frame macro.0: hold_macro
}

ALONE int hold_statement(void)
{
  int n = ({
    sink = malloc(1018); // frame statement.0: hold_statement
    3;
  });
  return n + zero;
}

__attribute__((constructor)) ALONE void before_main(void)
{
  sink = malloc(1015); // frame before.0: before_main
}

static sigjmp_buf resume;

static void on_fault(int signal)
{
  sink = malloc(1019); // frame fault.0: on_fault
  siglongjmp(resume, signal);
}

// Optimised, its first instruction is the one that fails: the address before is not its own.
ALONE void faults(volatile int *nowhere)
{
  *nowhere = 1; // frame fault.1: faults
}

#include "generated.inc"

int main(void)
{
  hold_plain();    // frame plain.4: main
  hold_header();   // frame header.3: main
  hold_looped();   // frame looped.3: main
  hold_twice();    // frame twice.2, again.2: main
  hold_cold(zero); // frame cold.3: main
  called();        // frame pointer.1: main
  deeper(2);       // frame deeper.4: main
  hold_hot();      // frame hot.2: main
  if (setjmp(back) == 0)
    hold_last(); // frame last.3: main
  behind_the_last();
  jumps();          // frame tail.2: main
  hold_generated(); // frame generated.1: main
  twin();           // frame twin.1: main
  call_other();     // frame other.2: main
  hold_library();   // frame library.2: main
  hold_macro();     // frame macro.1: main
  hold_statement(); // frame statement.1: main
  hold_assembly();  // frame assembly.1: main
  signal(SIGSEGV, on_fault);
  if (sigsetjmp(resume, 1) == 0)
    faults(NULL); // frame fault.2: main
  return 0;
}
