// SPDX-License-Identifier: Apache-2.0
//
// Headers of stores with earlier layouts, put where the layout of now has their fields. Only the
// header ever moved since layout 10: tables are as they were, and what an older recorder did not
// know of is 0 in them.
#pragma once
#include "store/layout.h"

#include <stdbool.h>

#define TIDE_STORE_OLDEST 10u // layout that is read; those below stood for several layouts each

bool tide_store_layout_is_known(uint32_t version);
// The beginning of a store, as many bytes as a header has, as of a layout that is known. What the
// store itself says of its layout is not asked again: it may have been written over.
void tide_store_header_take(const char *page, uint32_t version, struct tide_store_header *ret);
