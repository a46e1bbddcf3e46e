// SPDX-License-Identifier: Apache-2.0
//
// Scopes: spans of a thread's time that the program has named, one within another. A block that is
// allocated in one has the scope's name as the outermost frame of its stack, outside of main, and
// outside of that the name of the scope that this one is in.
//
//     scope "GET /users"          the stack of malloc() in query():
//       scope "db"                  GET /users > db > main > serve > query
//
// A thread is in one scope, a number, at a time; 0: in none. The number is a part of the captured
// pc (unwind/walk.h), so that each scope has cells of its own and the quick ways of capture go on
// to work; a thread in none pays nothing. Where a scope is entered from decides which it is: the
// same name within another is another number. Numbers are kept by a fork child, whose store gets
// their nodes when they are needed.
#pragma once
#include "rt/base.h"

enum {
  TIDE_SCOPE_NAME_BYTES = 56, // with its end
  TIDE_SCOPE_MORE = 511,      // stands for all that found no number
};
#define TIDE_SCOPE_MORE_NAME "[more scopes]"

// The number of a name within a scope, made if need be; TIDE_SCOPE_MORE when there are too many.
// The name has 1 to TIDE_SCOPE_NAME_BYTES - 1 bytes.
uint32_t tide_scope_get(uint32_t outer, const char *name);
// The scope that it is in; 0: none.
uint32_t tide_scope_outer(uint32_t scope);

// Its node in the store, made if need be, by whoever holds the lock of the nodes; 0: no room.
uint32_t tide_scope_node(uint32_t scope);
void tide_scopes_after_fork(void);
