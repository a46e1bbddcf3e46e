// SPDX-License-Identifier: Apache-2.0
//
// What a tracer that was killed, or another command, has put on a process, or on its parent before
// a fork. Found by the mark at the beginning of an agent's code, by the notes in islands, by the
// log in a cave, and by the names of descriptors. Whatever does not agree in every part with what
// we would have written is somebody else's, and not touched.
#pragma once
#include "attach/patch.h"

enum { TIDE_LEFT_CAVES = 8, TIDE_LEFT_FDS = 16 };

struct tide_leftovers {
  struct tide_agent_mark mark; // magic is 0: there is none
  struct tide_plan plan;       // what is patched still
  struct tide_reserved *ranges;
  size_t n_ranges; // the agent's code first; what is no more mapped is left out
  struct {
    uint64_t at;
    const struct tide_loaded *in;
  } caves[TIDE_LEFT_CAVES]; // with a log
  size_t n_caves;
};

// False: nothing of ours is there. The objects must outlive it.
bool tide_leftovers_find(const struct tide_outside *outside, const struct tide_loaded_list *objects,
                         struct tide_leftovers *ret_left);
void tide_leftovers_done(struct tide_leftovers *left);

// Who records the process at present: another tidemark that is attached to it, or the run that it,
// or its parent before a fork, belongs to. 0: nobody who lives.
uint32_t tide_leftovers_recorder(const struct tide_outside *outside, bool *ret_is_run);
// The sentence for that.
enum tide_err tide_leftovers_refuse(uint32_t pid, uint32_t recorder, bool is_run,
                                    struct tide_diag *diag);

// Descriptors of the process that lead to a store of the agent's, TIDE_LEFT_FDS at the most.
size_t tide_leftovers_fds(uint32_t pid, int ret_fds[TIDE_LEFT_FDS]);
