// SPDX-License-Identifier: Apache-2.0
//
// From where on something is a finding. All of them stand here, each with its reason; they were
// tried on programs that nobody wrote for this (tests/e2e/command_explain.py has the list).
#pragma once

enum {
  // ---- what is too little to speak of ----
  LEAST_BYTES = 16 << 10, // a heap's first pages: whatever is wrong with less costs nobody anything
  LEAST_BLOCKS = 20,      // a few blocks are no habit
  LEAST_OF_PEAK = 50,     // a fiftieth of the peak: below it nobody would see the difference
  LEAST_CALLS = 20000,    // about a millisecond of malloc and free

  // ---- a course in time ----
  MOMENTS = 12,         // at which a place is looked at, over the first 96 % of the run
  MOMENTS_SEEN = 8,     // different looks that they must have come from
  MOMENTS_LEAST = 6,    // of so many something can be said, but it is not sure
  LAST_PERMILLE = 960,  // after it programs take down what they built
  TAKEN_DOWN_NS = 1000, // a free takes less; where those of the end would fit behind that by this,
                        // and they began earlier, the machine was busy with others, and what grew
                        // is judged by the time before
  GROWN_PERMILLE = 800, // but by so much of the run at least
  TAKEN_DOWN_PART = 10, // for ten frees at the end one new block: the word that it is done
  STEPS_LEAST = 5,      // of the 11 between them the program got on in so many; three in four rise
  LAST_STEPS = 3,       // and in one of the last three
  RISES_LEAST = 7,      // of all 11, for a queue that fills and empties
  STEP_PART = 4,        // a step counts as a rise from a quarter of the mean step on
  LATE_PART = 6,        // and the last third of the time must bring a sixth of the growth
  LATE_PART_UNDIMINISHED = 12, // a twelfth, if the program allocated as much less by then, but for
  UNDIMINISHED_PERCENT = 90,   // a tenth
  CHURN_PERCENT = 50, // of the program's blocks are gone before its end: else it is a loader, which
                      // keeps what it reads, and growth is what it is for
  WAITING_PART = 4,   // but what reads something in works: one that waits for three quarters of its
                      // time, and grows all through it, is no loader
  SURE_OF_MEMORY = 10, // less than a tenth of the program's memory may be what it is there for
  SPREAD_STACKS = 16, // more that it takes for half of the growth: a helper that all of the program
                      // allocates through tells nobody who keeps it
  KEPT_PERCENT = 90,  // of what is there shortly before the end, never freed: no clean-up met it
  LEAK_PERCENT = 50,  // of what stays for good and came late is of places that leak: else the
                      // program frees nothing at its end, and what stays is no leak

  // ---- a backlog ----
  BACKLOG_BLOCKS = 200, // waiting at once; pools and batches of real programs are smaller
  BACKLOG_PART = 8,     // at least an eighth of all that ever came waited at the same moment
  BACKLOG_OF_PEAK = 5,  // and was a fifth of the heap's peak
  RESIDENCE_PART = 20,  // and a block waited for a twentieth of the run
  BRIEF_PART = 100,     // a life of less than a hundredth of the run is brief
  BRIEF_SHARE = 5,      // and of a queue that fills, not a fifth of the lives is
  FALLS_LEAST = 3,      // it is used up over several steps, not at once
  FREES_LEAST = 5,      // steps in which some of it is: a collector of garbage has bursts

  // ---- capacity ----
  EARLY_PART = 5,        // within the first fifth of the run
  EARLY_OF_PEAK = 3,     // a third of the peak
  EARLY_BYTES = 1 << 20, // less is nobody's trouble
  LARGE_BLOCK = 8192,    // two pages: a smaller block hides no page that was never touched
  UNTOUCHED_OF_PEAK = 4, // a quarter of the peak never in memory
  LOOKED_BLOCK = 65536,  // blocks are looked at from this size on: see store/touch.h
  UNUSED_PART = 2,       // half of what they asked for: containers that double use as much
  EACH_BLOCKS = 16,      // instances
  EACH_BYTES = 1024,     // of each: less is an item, not an instance
  EACH_OF_PEAK = 3,
  BUDGET_BLOCKS = 1000, // items
  BUDGET_OF_PEAK = 2,   // half of the peak
  BUDGET_ALIKE = 50,    // numbers of blocks within a fiftieth are numbers of the same items

  // ---- small blocks: glibc's malloc gives 16 n + 8 bytes, 24 at least, and takes 8 more ----
  SMALL_BLOCKS = 50000, // whose overhead is a megabyte
  SMALL_BYTES = 48,     // of a block
  SMALL_OF_PEAK = 5,    // a fifth of the peak is the allocator's own part of them

  // ---- resizes ----
  STEPS_PER_BLOCK = 16, // a doubling block has grown to 64 KiB times its first size by then
  STEP_OF_BLOCK = 16,   // a resize adds less than a sixteenth: nobody grows by a share so small
  STEPS_RESIZES = 500,
  STEPS_COPIED = 1 << 20, // about 100 µs of memcpy
  RESERVE_PER_BLOCK = 3,  // resizes of each container
  // By a half each time, 60 lead from 8 bytes to 256 GiB. More is told by steps or, where others
  // resize the blocks afterwards, no number of containers at all.
  RESERVE_MOST_PER_BLOCK = 60,
  RESERVE_CALLS = 5000,
  RESERVE_OF_CALLS = 5, // and a fifth of the program's allocations
  LADDER_ODD = 20,      // a twentieth of the blocks may be of other sizes
  LADDER_RUNGS = 5,     // sizes, each twice the last: 16 to 256 bytes and more
  CROSSING_BUCKET = 16, // the first of sizes above 128 KiB, from which on malloc maps blocks apart
  CROSSING_BELOW = 4,   // sizes below it that a container came through
  CROSSING_ABOVE = 3,   // and above it: to a megabyte

  // ---- temporaries ----
  TEMPORARY_PERCENT = 90,   // of the place's blocks
  TEMPORARY_OF_CALLS = 4,   // a quarter of the program's allocations, at one place
  TEMPORARY_EVERY_NS = 400, // of processor time: a pair takes 20 ns and more, a twentieth of that

  // ---- freed and kept ----
  KEPT_RSS_BYTES = 8 << 20,    // what find(1) keeps after a large directory is less
  KEPT_RSS_PART = 3,           // of the RSS, a third is free memory
  KEPT_RSS_TIME = 5,           // for a fifth of the run at least
  LATER_PART = 4,              // more of the RSS than at the table: it may be kept, too, unseen
  BLURRED_PART = 8,            // of the RSS, that came or went while the table was made
  USUAL_END_BYTES = 256 << 10, // malloc's threshold for giving its end back, and what it leaves
  MAPPED_BYTES = 128 << 10,    // malloc maps blocks of so much apart, until it frees a larger one
  MAPPED_MOST = 32 << 20,      // and those of more always

  ALIKE_PART = 20, // of the first of its rule: smaller findings of a rule are counted, not told
};
