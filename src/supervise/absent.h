// SPDX-License-Identifier: Apache-2.0
//
// Processes of the run that run without being recorded. Three sources:
//
//  1. The recorder in a process that starts a program which cannot be recorded says so at the door,
//     before the exec (preload/hooks_code.c); the command itself is looked at before it starts.
//  2. The census: from time to time, and never at more than a hundredth of a core, the children of
//     all known processes are looked up in /proc. One without the recorder mapped is absent. This
//     finds what an unrecorded program starts, if it lives long enough. A recorded process that no
//     longer has its store has become another program by a system call that is not libc's.
//     A process that comes to the door, does not believe whose it is and leaves tells of itself.
//  3. An image that was recorded turns out to have an allocator of its own (judged when it ends).
//
// An absent that comes to the door after all was only on its way: it is forgotten, unless it had
// been another program than its parent.
//
// Threads: the watch's own alone.
#pragma once
#include "model/capture.h"
#include "model/model.h"
#include "supervise/kin.h"

struct tide_absents;

// library: path of the recorder. kin must outlive it.
struct tide_absents *tide_absents_new(struct tide_kin *kin, uint32_t command_pid,
                                      const char *library);
void tide_absents_free(struct tide_absents *absents); // NULL is fine

struct tide_absent_word {
  uint32_t pid;                      // 0: not known, or ended already
  uint64_t born;                     // 0: not known
  const char *exe, *detail, *parent; // each may be NULL
  uint32_t teller_pid;               // 0: none
  enum tide_why why;
};

// The program that starts a process: the teller's, or of one that tells of itself its parent's; ""
// when that is ourselves. To be asked while they wait. free().
char *tide_absent_parent(uint32_t pid, uint32_t teller_pid);

// Times are of the capture's clock.
void tide_absents_told(struct tide_absents *absents, const struct tide_absent_word *word,
                       uint64_t time_ns);
// Its exec has failed.
void tide_absents_stayed(struct tide_absents *absents, uint32_t pid, uint64_t born);
// It has come for a store; is_told: as the program that it was said to become. `exe` is what the
// store says of it, for one that has ended already; NULL: nothing.
void tide_absents_came(struct tide_absents *absents, uint32_t pid, uint64_t born, bool is_told,
                       const char *exe, uint64_t time_ns);

// Was the process said to have become another program that is not recorded, and when? Ends the
// image that it was.
bool tide_absents_left(const struct tide_absents *absents, uint32_t pid, uint64_t born,
                       uint64_t *ret_time_ns);

// Processes that came for a store: those that have it, and those that have it no longer.
struct tide_absent_census {
  const uint32_t *recorded_pids, *left_pids;
  size_t n_recorded, n_left;
};

// Is it time to look for new ones?
bool tide_absents_census_is_due(const struct tide_absents *absents, uint64_t time_ns);

// Looks at those that are due and, when that is due, for new ones among the processes that have
// left and among the children of all others. Returns when to come back.
uint64_t tide_absents_look(struct tide_absents *absents, const struct tide_absent_census *census,
                           uint64_t time_ns);

// An image that is over, with the most anonymous memory that was seen of it: puts it on the roll if
// its allocator was its own. True: it was not recorded as a whole.
bool tide_absents_judge(struct tide_absents *absents, const struct tide_image *image,
                        uint64_t max_anonymous_bytes);

// Has any process run unrecorded so far?
bool tide_absents_any(const struct tide_absents *absents);

// The roll as of now, with those that still run.
void tide_absents_fill(const struct tide_absents *absents, uint64_t time_ns,
                       struct tide_roll *ret_roll);
