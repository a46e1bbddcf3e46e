// SPDX-License-Identifier: Apache-2.0
//
// The indexer recorded again: another build of it, in another directory, loaded elsewhere, with its
// lines shifted. One place holds more, one less, one is gone, one is new.
#pragma once
#include "indexer_fixture.h"

// As tide_indexer_capture(); free with tide_capture_free().
struct tide_capture *tide_indexer_again(void);

// The names of its addresses.
extern const struct tide_name_source tide_indexer_again_names;

// What changed at the peak.
enum {
  AGAIN_PUSH_BYTES = 30 << 20,   // more in postings::Block::push
  AGAIN_INTERN_BYTES = 20 << 20, // less in dict::Builder::intern
  AGAIN_MERGE_BYTES = 60 << 20,  // the dependency's iterator is gone
  AGAIN_NEW_BYTES = 5 << 20,     // and this is new
};
