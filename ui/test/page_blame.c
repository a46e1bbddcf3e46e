// SPDX-License-Identifier: Apache-2.0
//
// Own code and a library's, told apart by the path of the source file: the library allocates for
// its caller, calls it back, and calls itself; two of its functions lie below one line. And a
// function whose name nobody knows, below one that has a name.
#include <stdlib.h>
#include <string.h>

typedef void visit(void);
static void *kept[64];
static int n_kept;

static void keep(void *block)
{
  kept[n_kept++] = block;
}

#line 100 "/home/me/app/vendor/parse.c"
__attribute__((noinline)) void parse_item(int size)
{
  keep(malloc((size_t)size));
}

__attribute__((noinline)) void parse_list(int depth)
{
  if (depth)
    parse_list(depth - 1);
  parse_item(100 + depth);
}

__attribute__((noinline)) void parse_text(const char *text)
{
  keep(strdup(text));
}

__attribute__((noinline)) void parse_call(visit *callback)
{
  keep(malloc(40));
  callback();
  keep(malloc(4000));
}

#line 50 "/home/me/app/src/own.c"
__attribute__((noinline)) void on_item(void)
{
  keep(malloc(70));
}

__attribute__((noinline)) void read_both(const char *text)
{
  text ? parse_text(text) : parse_list(3);
}

__attribute__((noinline)) void read_all(void)
{
  read_both("a text");
  read_both(NULL);
  parse_call(on_item);
}

// Code that no symbol and no debug information tells of: it is called through a pointer.
__asm__(".section .text.nameless,\"ax\"\n"
        ".Lnameless:\n"
#if defined(__x86_64__)
        ".cfi_startproc\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call malloc@PLT\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
#else
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "bl malloc\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
#endif
        ".data\n"
        ".balign 8\n"
        ".globl nameless\n"
        "nameless: .quad .Lnameless\n"
        ".text\n");
extern void *(*nameless)(size_t size);

__attribute__((noinline)) void through_nameless(void)
{
  keep(nameless(900));
}

int main(void)
{
  read_all();
  through_nameless();
  return n_kept ? 0 : 1;
}
