// SPDX-License-Identifier: Apache-2.0
//
// Who belongs to the run. The door's name is no secret (/proc/net/unix shows it to everybody) and
// variables leak, so a visitor is judged by what the kernel says of it, never by its own words:
//
//  1. A process belongs whose line of parents leads to this process, or to one known to belong.
//     Processes are told apart by pid and start time. One that was taken by the word on its
//     parent was born by then.
//  2. A daemon has lost its parents. It belongs if it maps a store that was handed out (a fork
//     child keeps a page of its parent's, see store/store.c), or if the leader of its session or
//     process group is known to belong.
//
// Threads: any; one lock inside.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct tide_kin;

// The calling process is the ancestor of the run.
struct tide_kin *tide_kin_new(void);
void tide_kin_free(struct tide_kin *kin); // NULL is fine

// A child of that parent, which lives: is the parent the one that was asked about lately and
// belongs? Then its child does, and is remembered. No look at /proc is needed; false only says that
// one is.
bool tide_kin_adopts(struct tide_kin *kin, uint32_t pid, uint32_t parent);

// Asks the kernel, and remembers whoever belongs and who does not. The process must not end
// meanwhile, or it is taken for a stranger. Where /proc cannot be read, everybody belongs.
// *ret_born is its start time, 0 when that cannot be told.
bool tide_kin_belongs(struct tide_kin *kin, uint32_t pid, uint64_t *ret_born);

// Rule 2 alone, of a process that nobody is told of: nothing is remembered or counted.
struct tide_proc_stat;
bool tide_kin_knows_orphan(struct tide_kin *kin, const struct tide_proc_stat *stat);

// A process found by other means to belong.
void tide_kin_remember(struct tide_kin *kin, uint32_t pid, uint64_t born);

// A store was handed out: its inode.
void tide_kin_gave_store(struct tide_kin *kin, uint64_t inode);

// Another that is turned away without being asked about.
void tide_kin_count_stranger(struct tide_kin *kin, uint32_t pid);

// Strangers that were asked about, each process once unless very many came.
uint64_t tide_kin_n_refused(struct tide_kin *kin);
