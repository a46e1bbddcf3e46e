// SPDX-License-Identifier: Apache-2.0
//
// Memory for the tables of the live map: zeroed runs of 64-byte lines, carved from large private
// mappings that are never unmapped. A thread that was held up may so read or write a table that is
// another region's by now: what is there may be spoilt, memory is not.
#pragma once
#include "rt/base.h"

enum { TIDE_TABLE_LINE = 64, TIDE_TABLE_MAX_LINES = 512 };

// So many lines as are given for the asking of n, at most one in 32 more; n is 1 to MAX_LINES.
uint32_t tide_table_lines(uint32_t n);
// A zeroed table of tide_table_lines(n) lines; NULL: no memory.
void *tide_table_new(uint32_t n);
void tide_table_free(void *table, uint32_t n); // n: as it was asked for, or what was given
// In a fork child: no table is anybody's. wiped: the kernel has wiped them.
void tide_tables_after_fork(bool wiped);
