// SPDX-License-Identifier: Apache-2.0
//
// A site has the numbers that are not as its defaults, sums of sites have all that add up.
#include "report/site_json.h"

#include "base/alloc.h"
#include "model/call_words.h"
#include "model/image_sums.h"

#include <stddef.h>
#include <string.h>

// ---- numbers ----
//
// What a capture of an older format does not keep is left out; so is what other tools' files lack,
// by the JSON writer itself (report/profile_json.h).

void tide_number_json(struct tide_json *json, const char *key, const struct tide_number *number,
                      uint64_t value)
{
  if (number->is_signed)
    tide_json_put_i64(json, key, (int64_t)value);
  else
    tide_json_put_u64(json, key, value);
}

static bool is_time(const struct tide_number *number)
{
  return number->rule == TIDE_NUMBER_EARLIEST || number->rule == TIDE_NUMBER_LATEST;
}

void tide_numbers_json(struct tide_json *json, const struct tide_image *image,
                       const struct tide_numbers *numbers, bool with_times)
{
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    bool is_wanted = tide_number_adds_up(number) || (with_times && is_time(number));
    if (number->key && is_wanted && tide_number_is_kept(number, image))
      tide_number_json(json, number->key, number, tide_number_get(numbers, number));
  }
}

void tide_totals_json(struct tide_json *json, const struct tide_image *image,
                      const struct tide_numbers *totals)
{
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    bool is_wanted = number->rule == TIDE_NUMBER_DONE || number->rule == TIDE_NUMBER_LEFT ||
                     tide_number_is_of_before(number);
    bool is_kept = tide_number_is_kept(number, image) ||
                   (image->n_sites == 0 && number->figure != TIDE_FIGURE_SAMPLES);
    if (number->key && is_wanted && is_kept)
      tide_number_json(json, tide_number_name(number), number, tide_number_get(totals, number));
  }
}

// ---- sites ----

static const char *const kinds[] = {"heap", "pages", "lost"};

static void put_default(struct tide_json *json, const char *key)
{
  if (!tide_json_lacks(json, key)) {
    tide_json_key(json, key);
    tide_json_open_array(json);
    tide_json_close_array(json);
  }
}

void tide_site_json_defaults(struct tide_json *json, const struct tide_profile *profile)
{
  tide_json_key(json, "site_defaults");
  tide_json_open_object(json);
  tide_json_put_text(json, "kind", kinds[TIDE_SITE_HEAP]);
  tide_json_put_u64(json, "culprit", 0);
  tide_json_put_u64(json, "via", 0);
  tide_json_put_text(json, "call", NULL);
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    if (number->key && tide_number_is_kept(number, profile->image))
      tide_number_json(json, number->key, number, 0);
  }
  tide_json_put_bool(json, "own_max_is_bound", tide_image_is_merged(profile->image));
  tide_json_put_text(json, "mean_life_ns", NULL);
  tide_json_put_text(json, "mean_age_ns", NULL);
  tide_json_put_u64(json, "thread_slots", 1);
  put_default(json, "sizes");
  put_default(json, "lifetimes");
  tide_json_close_object(json);
}

// Buckets as the recorder fills them: sizes up to 4, 8, 16 bytes and so on, times below 1, 2, 4 ns.
static uint64_t most_bytes(unsigned bucket)
{
  return UINT64_C(4) << bucket;
}

static uint64_t most_ns(unsigned bucket)
{
  return (UINT64_C(1) << bucket) - 1;
}

static void put_histogram(struct tide_json *json, const char *key, const uint64_t *counts,
                          unsigned n, uint64_t (*most)(unsigned bucket))
{
  if (tide_json_lacks(json, key))
    return;
  tide_json_key(json, key);
  tide_json_open_array(json);
  for (unsigned k = 0; k < n; k++) {
    if (!counts[k])
      continue;
    tide_json_open_array(json);
    if (k + 1 < n)
      tide_json_u64(json, most(k));
    else
      tide_json_text(json, NULL);
    tide_json_u64(json, counts[k]);
    tide_json_close_array(json);
  }
  tide_json_close_array(json);
}

void tide_histograms_json(struct tide_json *json, const uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                          const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  put_histogram(json, "sizes", sizes, TIDE_SIZE_BUCKETS_N, most_bytes);
  put_histogram(json, "lifetimes", lifetimes, TIDE_LIFE_BUCKETS_N, most_ns);
}

static bool has_any(const uint64_t *counts, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (counts[i])
      return true;
  return false;
}

static void put_spread(struct tide_json *json, const struct tide_profile *profile,
                       const struct tide_profile_site *site)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lifetimes[TIDE_LIFE_BUCKETS_N];
  tide_profile_site_histograms(profile, site, sizes, lifetimes);
  uint64_t n_ended = tide_profile_n_ended(profile->image, TIDE_OF_SITE(site, n_free), lifetimes);
  uint64_t mean_age_ns = tide_mean_age_ns(TIDE_OF_SITE(site, age_ns), tide_site_live_blocks(site));
  if (n_ended)
    tide_json_put_u64(json, "mean_life_ns", TIDE_OF_SITE(site, life_ns) / n_ended);
  if (mean_age_ns)
    tide_json_put_u64(json, "mean_age_ns", mean_age_ns);
  if (site->n_rows != 1)
    tide_json_put_u64(json, "thread_slots", site->n_rows);
  if (has_any(sizes, TIDE_SIZE_BUCKETS_N))
    put_histogram(json, "sizes", sizes, TIDE_SIZE_BUCKETS_N, most_bytes);
  if (has_any(lifetimes, TIDE_LIFE_BUCKETS_N))
    put_histogram(json, "lifetimes", lifetimes, TIDE_LIFE_BUCKETS_N, most_ns);
}

// With recursion a frame may be there more than once: all of them have its number.
static uint64_t find_frame(const struct tide_profile *profile, const struct tide_stack_json *stacks,
                           uint32_t stack, const struct tide_named_frame *frame)
{
  for (uint32_t node = stack; frame && node; node = profile->image->frames[node].parent) {
    size_t n;
    const struct tide_named_frame *frames = tide_naming_of_node(stacks->naming, node, &n);
    if (frame >= frames && frame < frames + n)
      return tide_stack_json_frame(stacks, node, (size_t)(frame - frames));
  }
  return 0;
}

static void put_blame(struct tide_json *json, const struct tide_profile *profile,
                      const struct tide_stack_json *stacks, const struct tide_profile_site *site)
{
  if (site->kind == TIDE_SITE_LOST)
    return;
  struct tide_blame blame = tide_blame_stack(stacks->naming, site->stack);
  uint64_t culprit = find_frame(profile, stacks, site->stack, blame.culprit);
  uint64_t via = find_frame(profile, stacks, site->stack, blame.via);
  if (culprit)
    tide_json_put_u64(json, "culprit", culprit);
  if (via)
    tide_json_put_u64(json, "via", via);
  enum tide_call call = tide_naming_call(stacks->naming, site->stack);
  if (call)
    tide_json_put_text(json, "call", tide_call_word(call));
}

void tide_site_json(struct tide_json *json, const struct tide_profile *profile,
                    const struct tide_stack_json *stacks, const struct tide_profile_site *site)
{
  bool is_bound = tide_profile_own_max_is_bound(profile, site);
  tide_json_open_object(json);
  tide_json_put_i64(json, "weight", site->weight);
  tide_json_put_u64(json, "stack", tide_stack_json_stack(stacks, site->stack));
  if (site->kind != TIDE_SITE_HEAP)
    tide_json_put_text(json, "kind", kinds[site->kind]);
  put_blame(json, profile, stacks, site);
  const struct tide_numbers numbers = tide_site_numbers(site);
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    uint64_t value = tide_number_get(&numbers, number);
    if (value && number->key && tide_number_is_kept(number, profile->image))
      tide_number_json(json, number->key, number, value);
  }
  if (is_bound != tide_image_is_merged(profile->image))
    tide_json_put_bool(json, "own_max_is_bound", is_bound);
  put_spread(json, profile, site);
  tide_json_close_object(json);
}

void tide_site_sum_add(struct tide_site_sum *sum, const struct tide_profile_site *site)
{
  const struct tide_numbers numbers = tide_site_numbers(site);
  sum->weight += site->weight;
  tide_numbers_add(&sum->numbers, &numbers);
}

void tide_site_json_sum(struct tide_json *json, const char *key, const struct tide_profile *profile,
                        const struct tide_site_sum *sum, uint64_t n)
{
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_put_u64(json, "sites", n);
  tide_json_put_i64(json, "weight", sum->weight);
  tide_numbers_json(json, profile->image, &sum->numbers, false);
  tide_json_close_object(json);
}
