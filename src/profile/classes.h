// SPDX-License-Identifier: Apache-2.0
//
// Classes of size and of lifetime, and how much of what a site weighs falls into each.
//
// A capture counts every block by class, but weighs sites. So the answer to a question is known by
// class where all blocks meant are of one class or all blocks counted are meant, and in lifetimes
// also for the part that was never freed. The rest is of several classes and is said to be so: it
// is never shared out by guess.
#pragma once
#include "profile/profile.h"

// Lifetimes in powers of eight: a class for what is shorter than clocks are read to tell, then
// classes of three histogram buckets each, and two for blocks that were not freed: those that a
// resize took over, and those live at the end.
enum {
  TIDE_LIFE_CLASS_SHORTEST = 12, // buckets of the first class: less than 2,048 ns
  TIDE_LIFE_CLASS_BUCKETS = 3,
  TIDE_LIFE_CLASS_RESIZED =
      1 + (TIDE_LIFE_BUCKETS_N - TIDE_LIFE_CLASS_SHORTEST) / TIDE_LIFE_CLASS_BUCKETS,
  TIDE_LIFE_CLASS_LIVE,
  TIDE_LIFE_CLASSES_N,
  TIDE_SIZE_CLASSES_N = TIDE_SIZE_BUCKETS_N,
  TIDE_CLASSES_MAX = TIDE_SIZE_CLASSES_N,
};
_Static_assert(TIDE_LIFE_CLASSES_N <= TIDE_CLASSES_MAX, "room for every kind");

struct tide_classes { // of one profile and the question it was asked
  const struct tide_profile *profile;
  bool of_life;
  unsigned n;
  int64_t *kept; // lifetimes, per site: how much of its weight was never freed; INT64_MIN: unknown
};

struct tide_class_shares {           // of one site
  uint64_t counts[TIDE_CLASSES_MAX]; // all its blocks, whatever was asked
  int64_t weights[TIDE_CLASSES_MAX]; // they and `several` add up to the site's weight
  int64_t several;                   // of classes that cannot be told apart
  unsigned lowest, highest;          // which these are; meaningless when there is nothing
};

void tide_classes_init(struct tide_classes *classes, const struct tide_profile *profile,
                       bool of_life);
void tide_classes_done(struct tide_classes *classes);

void tide_classes_share(const struct tide_classes *classes, size_t site_idx,
                        struct tide_class_shares *ret_shares);
