// SPDX-License-Identifier: Apache-2.0
//
// Sentences about the roll.
#include "words/roll_text.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/capture.h"
#include "model/why_words.h"
#include "profile/completeness.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SUMMARY_ROWS = 4 };
#define TELLING_BYTES (UINT64_C(16) << 20) // below, RSS is libraries for the most part

static const char *program_of(const struct tide_unrecorded *row)
{
  const char *name = strrchr(row->exe, '/');
  name = name ? name + 1 : row->exe;
  return *name ? name : "other programs";
}

char *tide_roll_name(const struct tide_unrecorded *row, struct tide_style style)
{
  if (row->n_processes == 1)
    return tide_strdup(program_of(row));
  return tide_sprintf("%" PRIu64 " %s %s", row->n_processes, style.utf8 ? "×" : "x",
                      program_of(row));
}

char *tide_roll_reason(const struct tide_unrecorded *row, struct tide_style style)
{
  char rss[TIDE_UNITS_MAX], heap[TIDE_UNITS_MAX];
  struct tide_buf out = {0};
  TIDE_CLEANUP_FREE char *what = tide_why_sentence(row->why, row->detail);
  tide_buf_text(&out, what);
  if (row->max_rss_bytes)
    tide_buf_printf(&out, "; %s%s RSS", row->n_processes > 1 ? "up to " : "",
                    tide_units_bytes(rss, tide_exact((int64_t)row->max_rss_bytes), style));
  if (tide_why_is_partial(row->why))
    tide_buf_printf(&out, ", of which %s on libc's heap %s recorded",
                    tide_units_bytes(heap, tide_exact((int64_t)row->recorded_bytes), style),
                    row->recorded_bytes == 1 ? "was" : "were");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

char *tide_roll_summary(const struct tide_roll *roll, struct tide_style style)
{
  struct tide_buf out = {0};
  if (!roll->n_rows)
    return NULL;
  for (size_t i = 0; i < roll->n_rows && i < SUMMARY_ROWS; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    char rss[TIDE_UNITS_MAX];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, style);
    TIDE_CLEANUP_FREE char *why = tide_why_brief(row->why, row->detail);
    tide_buf_printf(&out, "%s%s (%s", i ? ", " : "", name, why);
    if (row->max_rss_bytes)
      tide_buf_printf(&out, ", %s RSS",
                      tide_units_bytes(rss, tide_exact((int64_t)row->max_rss_bytes), style));
    tide_buf_text(&out, ")");
  }
  if (roll->n_rows > SUMMARY_ROWS)
    tide_buf_printf(&out, ", %zu more programs", roll->n_rows - SUMMARY_ROWS);
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

char *tide_roll_count(const struct tide_roll *roll)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  uint64_t all = roll->n_recorded + tide_roll_processes(roll);
  return tide_sprintf("%s of %s%s %s recorded", tide_units_digits(a, roll->n_recorded),
                      roll->at_least ? "at least " : "", tide_units_digits(b, all),
                      all == 1 ? "process" : "processes");
}

char *tide_roll_lead(const struct tide_profile *profile, struct tide_style style,
                     const struct tide_unrecorded **ret_row)
{
  struct tide_lead lead;
  tide_lead_find(profile->capture, &lead);
  const struct tide_unrecorded *row = lead.image_idx == profile->image_idx ? lead.unrecorded : NULL;
  if (ret_row)
    *ret_row = row;
  if (!row)
    return NULL;
  TIDE_CLEANUP_FREE char *name = tide_roll_name(row, style);
  TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, style);
  // Of a small program that has an allocator linked in nobody can tell whether it uses it.
  const char *how = !tide_why_is_partial(row->why)        ? "not recorded"
                    : row->max_rss_bytes >= TELLING_BYTES ? "hardly recorded"
                                                          : "perhaps not recorded as a whole";
  return tide_sprintf("%s was %s: %s %s", name, how, row->n_processes == 1 ? "it" : "each", reason);
}

char *tide_roll_scope(const struct tide_profile *profile)
{
  struct tide_completeness c;
  tide_completeness_judge(profile, &c);
  if (!c.run_is_whole)
    return tide_roll_count(&profile->capture->roll);
  if (!c.n_partial)
    return NULL;
  return tide_sprintf("%zu other %s recorded in part", c.n_partial,
                      c.n_partial == 1 ? "process" : "processes");
}
