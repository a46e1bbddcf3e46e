// SPDX-License-Identifier: Apache-2.0
//
// Sites, rows and histograms. The rows of gathered stacks are summed per thread, so that what each
// thread did stays exact.
#include "page/page_sites.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "model/rows.h"

#include <stdlib.h>

static void add_number(struct tide_page_column *columns, enum tide_page_column_id id,
                       uint64_t value)
{
  tide_page_column_add(&columns[id], (double)value);
}

static void add_signed(struct tide_page_column *columns, enum tide_page_column_id id, int64_t value)
{
  tide_page_column_add(&columns[id], (double)value);
}

static void write_site(struct tide_page_column *columns, uint32_t node, enum tide_site_kind kind,
                       uint32_t call, int64_t own_max)
{
  add_number(columns, TIDE_PAGE_SITE_NODE, node);
  add_number(columns, TIDE_PAGE_SITE_KIND, kind);
  add_number(columns, TIDE_PAGE_SITE_CALL, call);
  add_signed(columns, TIDE_PAGE_SITE_OWN_MAX, own_max);
}

// The most that gathered stacks held at one time is not known: this is a bound.
static int64_t most_of_gathered(const struct tide_page_sites *sites,
                                const struct tide_profile *profile,
                                const struct tide_page_other *other)
{
  uint64_t sum = 0;
  for (size_t i = other->first; i < other->first + other->n; i++)
    sum += (uint64_t)TIDE_OF_SITE(&profile->sites[sites->gathered[i]], high_bytes);
  int64_t most = other->of_pages ? profile->image->page_peak_bytes : profile->image->peak_bytes;
  return most > 0 && sum > (uint64_t)most ? most : (int64_t)sum;
}

static uint32_t call_of_gathered(const struct tide_page_sites *sites,
                                 const struct tide_profile *profile, struct tide_naming *naming,
                                 const struct tide_page_other *other)
{
  const uint32_t *gathered = &sites->gathered[other->first];
  uint32_t call = tide_naming_call(naming, profile->sites[gathered[0]].stack);
  for (size_t i = 1; i < other->n; i++)
    if (tide_naming_call(naming, profile->sites[gathered[i]].stack) != call)
      return TIDE_PAGE_CALLS;
  return call;
}

void tide_page_sites_write(const struct tide_page_sites *sites, const struct tide_profile *profile,
                           struct tide_page_names *names, struct tide_page_column *columns)
{
  for (size_t i = 0; i < sites->n_kept; i++) {
    const struct tide_profile_site *site = &profile->sites[sites->kept[i]];
    uint32_t node = tide_page_names_node(names, site->stack);
    uint32_t call = tide_naming_call(names->naming, site->stack);
    write_site(columns, node, site->kind, call, TIDE_OF_SITE(site, high_bytes));
  }
  for (size_t i = 0; i < sites->n_others; i++) {
    const struct tide_page_other *other = &sites->others[i];
    uint32_t node = tide_page_names_other(names, other);
    write_site(columns, node, other->of_pages ? TIDE_SITE_PAGES : TIDE_SITE_HEAP,
               call_of_gathered(sites, profile, names->naming, other),
               most_of_gathered(sites, profile, other));
  }
}

#define WRITE_DONE(field) tide_page_column_add(&columns[TIDE_PAGE_ROW_##field], (double)row->field);
#define WRITE_HELD(field) WRITE_DONE(field)
#define WRITE_HIGH(field)
#define WRITE_EARLIEST(field)                                                                      \
  add_signed(columns, TIDE_PAGE_ROW_##field, has_times ? (int64_t)(row->field - start_ns) : 0);
#define WRITE_LATEST(field) WRITE_EARLIEST(field)

static void write_row(struct tide_page_column *columns, uint32_t number,
                      const struct tide_site *row, uint64_t start_ns)
{
  add_number(columns, TIDE_PAGE_ROW_SITE, number);
  add_number(columns, TIDE_PAGE_ROW_THREAD, row->thread);
  bool has_times = row->n_alloc > 0; // a thread that only frees has none
#define TIDE_NUMBER(field, type, rule, ...) WRITE_##rule(field)
#include "model/numbers.def"
}

static void write_histogram(struct tide_page_column *columns, uint32_t number, unsigned first,
                            const uint64_t *counts, unsigned n)
{
  for (unsigned k = 0; k < n; k++) {
    if (!counts[k])
      continue;
    add_number(columns, TIDE_PAGE_HIST_SITE, number);
    add_number(columns, TIDE_PAGE_HIST_BUCKET, first + k);
    add_number(columns, TIDE_PAGE_HIST_COUNT, counts[k]);
  }
}

static void write_histograms(struct tide_page_column *columns, uint32_t number,
                             const uint64_t *sizes, const uint64_t *lifetimes)
{
  write_histogram(columns, number, 0, sizes, TIDE_SIZE_BUCKETS_N);
  write_histogram(columns, number, TIDE_SIZE_BUCKETS_N, lifetimes, TIDE_LIFE_BUCKETS_N);
}

static size_t threads_of(const struct tide_image *image)
{
  size_t n = 0;
  for (size_t i = 0; i < image->n_sites; i++) {
    uint32_t thread = tide_image_site(image, i).thread;
    n = thread >= n ? thread + (size_t)1 : n;
  }
  return n;
}

struct sums {           // of gathered stacks, per thread
  struct tide_site *of; // all zero between two gatherings
  uint8_t *is_met;      // likewise
  uint32_t *met;        // threads with any
  size_t n_met;
};

static void add_row(struct sums *sums, const struct tide_site *row)
{
  if (!sums->is_met[row->thread])
    sums->met[sums->n_met++] = row->thread;
  sums->is_met[row->thread] = 1;
  tide_counters_add(&sums->of[row->thread].counters, &row->counters);
}

static int by_number(const void *left, const void *right)
{
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static void write_gathered(const struct tide_page_sites *sites, const struct tide_profile *profile,
                           struct tide_page_column *columns, size_t i, struct sums *sums)
{
  const struct tide_page_other *other = &sites->others[i];
  uint32_t number = (uint32_t)(sites->n_kept + i);
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  for (size_t g = other->first; g < other->first + other->n; g++) {
    const struct tide_profile_site *site = &profile->sites[sites->gathered[g]];
    for (uint32_t k = 0; k < site->n_rows; k++) {
      const struct tide_site row =
          tide_image_site(profile->image, profile->rows[site->first_row + k]);
      add_row(sums, &row);
      tide_site_sum_buckets(profile->image, &row, sizes, lifetimes);
    }
  }
  qsort(sums->met, sums->n_met, sizeof *sums->met, by_number);
  for (size_t k = 0; k < sums->n_met; k++) {
    struct tide_site *sum = &sums->of[sums->met[k]];
    sum->thread = sums->met[k];
    write_row(columns, number, sum, profile->image->start_ns);
    sums->is_met[sum->thread] = 0;
    *sum = (struct tide_site){0};
  }
  sums->n_met = 0;
  write_histograms(columns, number, sizes, lifetimes);
}

void tide_page_rows_write(const struct tide_page_sites *sites, const struct tide_profile *profile,
                          struct tide_page_column *columns)
{
  const struct tide_image *image = profile->image;
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lifetimes[TIDE_LIFE_BUCKETS_N];
  for (uint32_t number = 0; number < sites->n_kept; number++) {
    const struct tide_profile_site *site = &profile->sites[sites->kept[number]];
    for (uint32_t k = 0; k < site->n_rows; k++) {
      const struct tide_site row = tide_image_site(image, profile->rows[site->first_row + k]);
      write_row(columns, number, &row, image->start_ns);
    }
    tide_profile_site_histograms(profile, site, sizes, lifetimes);
    write_histograms(columns, number, sizes, lifetimes);
  }
  size_t n_threads = threads_of(image);
  TIDE_CLEANUP_FREE struct tide_site *of = tide_alloc_array(n_threads + 1, sizeof *of);
  TIDE_CLEANUP_FREE uint8_t *is_met = tide_alloc_array(n_threads + 1, 1);
  TIDE_CLEANUP_FREE uint32_t *met = tide_alloc_array(n_threads + 1, sizeof *met);
  struct sums sums = {of, is_met, met, 0};
  for (size_t i = 0; i < sites->n_others; i++)
    write_gathered(sites, profile, columns, i, &sums);
}
