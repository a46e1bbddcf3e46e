// SPDX-License-Identifier: Apache-2.0
//
// Debug info from the servers that DEBUGINFOD_URLS names, through libdebuginfod, which keeps what
// it gets in a cache of its own. The library is loaded when first needed: without it, or without
// servers, nothing is ever found. Trouble (a server that does not answer, a user who gives up) ends
// all asking: a hundred modules must not wait for a hundred timeouts. An answer that is too large
// (DEBUGINFOD_MAXSIZE) is refused and removed, and others are asked for.
#pragma once
#include "symbol/symbol.h"

struct tide_debuginfod;

// The watch may be NULL, and must outlive the result.
struct tide_debuginfod *tide_debuginfod_new(const struct tide_symbol_watch *watch);
void tide_debuginfod_free(struct tide_debuginfod *d); // NULL is fine

enum tide_debuginfod_kind { TIDE_DEBUGINFOD_DEBUGINFO, TIDE_DEBUGINFOD_EXECUTABLE };

// The path, owned, of a file with that build id, or NULL. what is the name to show meanwhile. A
// NULL d finds nothing.
char *tide_debuginfod_find(struct tide_debuginfod *d, enum tide_debuginfod_kind kind,
                           const uint8_t *build_id, size_t build_id_len, const char *what);

// Why no more is asked for, or what is wrong with the latest answer, in a few words; NULL when
// nothing is wrong (or d is NULL).
const char *tide_debuginfod_trouble(const struct tide_debuginfod *d);

// Does the environment name servers?
bool tide_debuginfod_is_configured(void);
