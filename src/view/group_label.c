// SPDX-License-Identifier: Apache-2.0
//
// Words for threads and classes; ours are in parentheses where they might be taken for a name.
#include "view/groups.h"

#include "base/alloc.h"
#include "model/call_words.h"
#include "view/terms.h"

#include <inttypes.h>

struct tide_class_range tide_class_range(enum tide_group_kind kind, uint32_t number)
{
  uint32_t k = number;
  if (kind == TIDE_GROUP_SIZE)
    return (struct tide_class_range){k ? (1ull << (k + 1)) + 1 : 0,
                                     k + 1 < TIDE_SIZE_BUCKETS_N ? 1ull << (k + 2) : UINT64_MAX};
  if (k >= TIDE_LIFE_CLASS_RESIZED)
    return (struct tide_class_range){0, 0};
  uint32_t past = TIDE_LIFE_CLASS_SHORTEST + k * TIDE_LIFE_CLASS_BUCKETS; // of its buckets
  uint32_t first = k ? past - TIDE_LIFE_CLASS_BUCKETS : 0;
  return (struct tide_class_range){first ? 1ull << (first - 1) : 0, past < TIDE_LIFE_BUCKETS_N
                                                                        ? (1ull << (past - 1)) - 1
                                                                        : UINT64_MAX};
}

struct tide_class_range tide_group_range(enum tide_group_kind kind, const struct tide_group *group)
{
  struct tide_class_range range = tide_class_range(kind, group->number);
  if (group->several)
    range.most = tide_class_range(kind, group->last).most;
  return range;
}

const char *tide_group_ending(const struct tide_group *group)
{
  if (group->several)
    return NULL;
  return group->number == TIDE_LIFE_CLASS_RESIZED ? "resized"
         : group->number == TIDE_LIFE_CLASS_LIVE  ? "never"
                                                  : "freed";
}

static char *size_label(const struct tide_group *group, struct tide_style style)
{
  char least[TIDE_UNITS_MAX], most[TIDE_UNITS_MAX];
  struct tide_class_range range = tide_group_range(TIDE_GROUP_SIZE, group);
  tide_units_bytes(least, tide_exact((int64_t)range.least), style);
  const char *several = group->several ? "several sizes, " : "";
  if (range.most == UINT64_MAX)
    return tide_sprintf("%s%s and more", several, least);
  return tide_sprintf("%s%s to %s", several, least,
                      tide_units_bytes(most, tide_exact((int64_t)range.most), style));
}

static char *lifetime_label(const struct tide_group *group, struct tide_style style, bool goes_on)
{
  char least[TIDE_UNITS_MAX], most[TIDE_UNITS_MAX];
  uint32_t number = group->number;
  struct tide_class_range range = tide_class_range(TIDE_GROUP_LIFETIME, number);
  if (group->several)
    return tide_strdup(tide_term(TIDE_TERM_SEVERAL_LIFETIMES));
  if (number == TIDE_LIFE_CLASS_RESIZED)
    return tide_strdup(tide_term(TIDE_TERM_RESIZED));
  if (number == TIDE_LIFE_CLASS_LIVE)
    return tide_strdup(tide_term(goes_on ? TIDE_TERM_STILL_LIVE : TIDE_TERM_NEVER_FREED));
  tide_units_time(least, range.least, style.utf8);
  if (range.most == UINT64_MAX)
    return tide_sprintf("%s and more", least);
  tide_units_time(most, range.most + 1, style.utf8);
  return range.least ? tide_sprintf("%s to %s", least, most) : tide_sprintf("less than %s", most);
}

static char *thread_label(const struct tide_image *image, const struct tide_group *group)
{
  uint32_t number = group->number;
  if (group->several)
    return tide_strdup(tide_term(TIDE_TERM_SEVERAL_THREADS));
  if (!number || number >= image->n_threads_known)
    return tide_strdup(tide_term(TIDE_TERM_THREAD_UNKNOWN));
  const struct tide_thread_row *thread = &image->threads[number];
  if (thread->tid && thread->tid == image->pid)
    return tide_strdup(tide_term(TIDE_TERM_MAIN_THREAD));
  if (!thread->name[0])
    return tide_sprintf("thread %" PRIu32, thread->tid);
  return tide_strndup(thread->name, sizeof thread->name);
}

char *tide_group_label(const struct tide_profile *profile, enum tide_group_kind kind,
                       const struct tide_group *group, struct tide_style style)
{
  if (kind == TIDE_GROUP_THREAD)
    return thread_label(profile->image, group);
  if (kind == TIDE_GROUP_CALL)
    return tide_strdup(group->crate ? group->crate : tide_call_word(TIDE_CALL_UNTOLD));
  if (kind == TIDE_GROUP_SCOPE)
    return tide_strdup(group->crate ? group->crate : "no scope");
  if (kind == TIDE_GROUP_SIZE)
    return size_label(group, style);
  return lifetime_label(group, style, profile->question.goes_on);
}
