// SPDX-License-Identifier: Apache-2.0
//
// A capture made by hand, with numbers chosen to be checked: an indexer with three threads, one of
// which only frees; a shell that started it; memory mapped by the program itself; one event without
// a stack. And the names that go with its addresses.
#pragma once
#include "model/model.h"
#include "view/naming.h"

// Two images: [0] sh, [1] indexer. Free with tide_capture_free().
struct tide_capture *tide_indexer_capture(void);

// Gives the indexer six snapshots: postings grow and go, the dictionary is kept, the plugin leaks.
void tide_indexer_add_snapshots(struct tide_capture *capture);

// Names of the indexer's addresses; among them inlined frames, long generics, and bytes that are
// neither UTF-8 nor harmless.
extern const struct tide_name_source tide_indexer_names;

// What the fixture's numbers add up to.
enum {
  INDEXER_IMAGE = 1,
  INDEXER_PEAK_BYTES = 412 << 20,
  INDEXER_PEAK_BLOCKS = 41204,
};
