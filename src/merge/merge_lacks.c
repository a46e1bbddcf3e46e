// SPDX-License-Identifier: Apache-2.0
//
// What the sum does not hold, and where it comes from. A number that one input lacks is not known
// of all of them: it is absent from the sum, and what the others have of it is not kept.
#include "merge/merge_inputs.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/image_sums.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  uint32_t lack;
  const char *words;
} measures[] = {{TIDE_LACK_PEAK, "peak"}, {TIDE_LACK_LIVE, "live"}, {TIDE_LACK_TOTAL, "total"}};
enum { MEASURES_N = sizeof measures / sizeof *measures };
#define ALL_MEASURES (TIDE_LACK_PEAK | TIDE_LACK_LIVE | TIDE_LACK_TOTAL)

static const char *origin_of(const struct tide_image *image)
{
  return image->origin ? image->origin : "tidemark";
}

// DHAT's other modes count copies and events of any kind in the place of allocations.
static bool counts_allocations(const struct tide_image *image)
{
  const char *origin = origin_of(image);
  bool is_dhat = strncmp(origin, "DHAT", 4) == 0 || strstr(origin, " DHAT");
  return !is_dhat || (!strstr(origin, "copy") && !strstr(origin, "ad-hoc"));
}

static void add_held(struct tide_buf *out, const struct tide_image *image)
{
  const char *before = "";
  if (out->n)
    tide_buf_text(out, "; ");
  tide_buf_printf(out, "%s holds ", origin_of(image));
  for (size_t i = 0; i < MEASURES_N; i++)
    if (!(image->lacks & measures[i].lack)) {
      tide_buf_printf(out, "%s%s", before, measures[i].words);
      before = ", ";
    }
  if (!*before)
    tide_buf_text(out, "none of peak, live and total");
}

static bool was_named(const struct tide_merging *m, size_t input)
{
  for (size_t i = 0; i < input; i++)
    if (strcmp(origin_of(m->inputs[i]), origin_of(m->inputs[input])) == 0 &&
        ((m->inputs[i]->lacks ^ m->inputs[input]->lacks) & ALL_MEASURES) == 0)
      return true;
  return false;
}

enum tide_err tide_merge_lacks_check(const struct tide_merging *m, struct tide_diag *diag)
{
  uint32_t lacks = 0;
  for (size_t i = 0; i < m->n_inputs; i++) {
    lacks |= m->inputs[i]->lacks;
    if (counts_allocations(m->inputs[i]) != counts_allocations(m->inputs[0]) ||
        (!counts_allocations(m->inputs[0]) &&
         strcmp(origin_of(m->inputs[i]), origin_of(m->inputs[0])) != 0))
      return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                       "%s and %s count different things, which have no sum",
                       origin_of(m->inputs[0]), origin_of(m->inputs[i]));
  }
  if (m->n_inputs == 1 || (lacks & ALL_MEASURES) != ALL_MEASURES)
    return TIDE_ERR_OK;
  struct tide_buf held = {0};
  for (size_t i = 0; i < m->n_inputs; i++)
    if (m->inputs[i]->lacks & ALL_MEASURES && !was_named(m, i))
      add_held(&held, m->inputs[i]);
  enum tide_err err =
      tide_fail(diag, TIDE_ERR_UNSUPPORTED, "they have no measure in common to add up: %s",
                tide_buf_cstr(&held));
  tide_buf_done(&held);
  return err;
}

// Each tool once, of sums those they are of.
static void add_origins(struct tide_buf *out, const char *origin)
{
  size_t n_prefix = strlen(TIDE_ORIGIN_SUM);
  bool is_sum = strncmp(origin, TIDE_ORIGIN_SUM, n_prefix) == 0;
  for (const char *at = is_sum ? origin + n_prefix : origin; at;) {
    const char *comma = is_sum ? strstr(at, ", ") : NULL;
    TIDE_CLEANUP_FREE char *item = comma ? tide_strndup(at, (size_t)(comma - at)) : tide_strdup(at);
    if (!strstr(tide_buf_cstr(out), item))
      tide_buf_printf(out, "%s%s", out->n ? ", " : "", item);
    at = comma ? comma + 2 : NULL;
  }
}

void tide_merge_lacks_set(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  struct tide_buf origins = {0};
  bool foreign = false;
  for (size_t i = 0; i < m->n_inputs; i++) {
    image->lacks |= m->inputs[i]->lacks;
    foreign |= m->inputs[i]->origin != NULL;
    add_origins(&origins, origin_of(m->inputs[i]));
  }
  if (foreign && m->n_inputs == 1)
    image->origin = tide_strdup(m->inputs[0]->origin);
  else if (foreign)
    image->origin = tide_sprintf("%s%s", TIDE_ORIGIN_SUM, tide_buf_cstr(&origins));
  tide_buf_done(&origins);
}

static void forget_of_site(struct tide_site *site, uint32_t lacks)
{
  tide_counters_forget(&site->counters, lacks);
  if (lacks & TIDE_LACK_LIFE_HIST)
    site->life_mask = 0;
  if (lacks & TIDE_LACK_SIZE_HIST) { // its counts are before those of the lifetimes
    site->first_count += tide_site_n_sizes(site);
    site->size_mask = 0;
  }
}

void tide_merge_lacks_forget(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  if (m->n_inputs == 1)
    return;
  for (size_t i = 0; i < image->n_sites; i++)
    forget_of_site(&image->sites[i], image->lacks);
  if (image->lacks & TIDE_LACK_PEAK) {
    image->peak_bytes = image->peak_blocks = 0;
    image->peak_ns = image->peak_bound_bytes = image->rss_at_peak_bytes = 0;
  }
  if (image->lacks & TIDE_LACK_CLOCK)
    image->end_ns = image->peak_ns = 0;
  if (image->lacks & TIDE_LACK_THREADS)
    image->n_threads = image->max_live_threads = 0;
}
