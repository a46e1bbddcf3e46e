// SPDX-License-Identifier: Apache-2.0
//
// The trie's index, for the rest of the store. What it promises to the recorder is in store.h.
#pragma once
#include "rt/base.h"

bool tide_nodes_attach(void); // empty, for the store just attached; false: no memory
