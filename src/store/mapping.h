// SPDX-License-Identifier: Apache-2.0
//
// The store as a mapping of this process: how large it is, how it is laid out and becomes the
// process's store, and what a fork child has of it.
#pragma once
#include "store/store.h"

// Bytes of address space a store takes. Sparse: only what is written costs memory. limit_bytes is
// how much address space may be used in all (RLIMIT_AS); ~0 for no limit.
uint64_t tide_store_bytes(uint64_t limit_bytes);

// Lays out the zeroed mapping at base and makes it the process's store. The identity fields of
// the header (pid, clocks, text) are the caller's to fill before state becomes RECORDING. False:
// there is no room on the disk for even its beginning, or no memory.
bool tide_store_attach(void *base, uint64_t bytes, bool on_disk);

// Asks the kernel to leave the store out of fork children, but for the page where they count
// themselves. wipes: it wipes what it is asked to wipe there, so that a child always knows itself.
void tide_store_disinherit(bool wipes);
// In a fork child: unmaps what it has of its parent's store all the same, where it could not be
// disinherited. The page to count itself stays until tide_store_forsake().
void tide_store_unmap_inherited(void);
// In a fork child: resets the locks, whose holders stayed in the parent, and forgets the parent's
// store. Gives the page to count oneself.
struct tide_store_children *tide_store_after_fork(void);
void tide_store_forsake(struct tide_store_children *parents);
