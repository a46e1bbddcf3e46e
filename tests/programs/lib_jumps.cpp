// SPDX-License-Identifier: Apache-2.0
//
// A C++ plugin whose functions end with a jump to operator new or delete, as compilers like to make
// them: the return address that the operator finds is that of the plugin's caller.
//
// helper: lib_jumps.so
#include <new>

void *volatile needs_the_library = reinterpret_cast<void *>(
    static_cast<void *(*)(std::size_t)>(&operator new)); // else nobody links it

#if defined(__x86_64__)
#define JUMP "jmp "
#define FROM_OUTSIDE "@PLT"
#else
#define JUMP "b "
#define FROM_OUTSIDE ""
#endif

__asm__(".text\n"
        ".globl take, drop\n"
        ".type take, %function\n"
        ".type drop, %function\n"
        "take: " JUMP "_Znwm" FROM_OUTSIDE "\n"
        "drop: " JUMP "_ZdlPv" FROM_OUTSIDE "\n");
