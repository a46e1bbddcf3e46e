// SPDX-License-Identifier: Apache-2.0
//
// The page's data of what could be read: all that a reader of it relies on must hold, with all
// stacks and with some of them gathered. One input of eight is shown, always the same ones: a page
// takes ten times as long as reading most files.
#pragma once
#include "findings/findings.h"
#include "page/page_data.h"
#include "words/finding_words.h"

#include <math.h>
#include <stdlib.h>

static inline void page_must(bool condition)
{
  if (!condition)
    abort();
}

static inline void count_bytes(void *context, const void *bytes, size_t n)
{
  page_must(n == 0 || bytes);
  *(uint64_t *)context += n;
}

// Every value is a number, of those columns that are indexes a valid one.
static inline void check_column(const struct tide_page_column *column, double below)
{
  for (size_t i = 0; i < column->n; i++) {
    double value = tide_page_column_get(column, i);
    page_must(isfinite(value) && (below < 0 || (value >= 0 && value < below)));
  }
}

static inline void check_indexes(const struct tide_page_column *columns)
{
  static const struct {
    enum tide_page_column_id of, in;
  } indexes[] = {
      {TIDE_PAGE_MODULE_PATH, TIDE_PAGE_TEXT_END},
      {TIDE_PAGE_FRAME_FUNCTION, TIDE_PAGE_TEXT_END},
      {TIDE_PAGE_FRAME_FILE, TIDE_PAGE_TEXT_END},
      {TIDE_PAGE_FRAME_CRATE, TIDE_PAGE_TEXT_END},
      {TIDE_PAGE_FRAME_MODULE, TIDE_PAGE_MODULE_PATH},
      {TIDE_PAGE_SITE_NODE, TIDE_PAGE_NODE_UP},
      {TIDE_PAGE_ROW_SITE, TIDE_PAGE_SITE_NODE},
      {TIDE_PAGE_HIST_SITE, TIDE_PAGE_SITE_NODE},
  };
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++)
    check_column(&columns[i], -1);
  for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
    check_column(&columns[indexes[i].of], (double)columns[indexes[i].in].n);
  for (size_t i = 1; i < columns[TIDE_PAGE_NODE_UP].n; i++) {
    double up = tide_page_column_get(&columns[TIDE_PAGE_NODE_UP], i);
    double frame = tide_page_column_get(&columns[TIDE_PAGE_NODE_FRAME], i);
    page_must(up >= 1 && up <= (double)i);
    page_must(frame >= 0 && frame < (double)columns[TIDE_PAGE_FRAME_LINE].n);
  }
}

static inline void check_cells(const struct tide_page_column *columns)
{
  const struct tide_page_column *ends = &columns[TIDE_PAGE_SNAP_END];
  size_t at = 0;
  for (size_t s = 0; s < ends->n; s++) {
    double site = 0, end = tide_page_column_get(ends, s);
    page_must(end >= (double)at && end <= (double)columns[TIDE_PAGE_CELL_STEP].n);
    for (; (double)at < end; at++)
      site += tide_page_column_get(&columns[TIDE_PAGE_CELL_STEP], at);
    page_must(site == 0 || site < (double)columns[TIDE_PAGE_SITE_NODE].n);
  }
  page_must(at == columns[TIDE_PAGE_CELL_STEP].n);
}

static inline size_t know_nothing(void *context, uint32_t module, uint64_t addr,
                                  struct tide_symbol_frame *out, size_t max)
{
  return 0;
}

static inline void fuzz_page_of(const struct tide_profile *profile, size_t n_keep)
{
  const struct tide_name_source nobody = {.lookup = know_nothing};
  const struct tide_page_options options = {"fuzz", n_keep, n_keep % 2 == 0, 1};
  struct tide_naming *naming = tide_naming_new_from(profile->image, &nobody);
  struct tide_page_data *data = tide_page_data_new(profile, naming, &options);
  uint64_t n_bytes = 0;
  tide_page_data_hand_out(data, count_bytes, &n_bytes);
  page_must(n_bytes == tide_page_data_bytes(data));
  check_indexes(data->columns);
  check_cells(data->columns);
  tide_page_data_free(data);
  tide_naming_free(naming);
}

// What is concluded from it has numbers that can be told.
static inline void fuzz_findings(struct tide_profile *profile)
{
  const struct tide_name_source nobody = {.lookup = know_nothing};
  struct tide_naming *naming = tide_naming_new_from(profile->image, &nobody);
  struct tide_findings *findings = tide_findings_new(profile, naming);
  for (size_t i = 0; i < findings->n; i++) {
    const struct tide_finding *finding = &findings->items[i];
    char *sentence = tide_finding_sentence(finding, naming, TIDE_STYLE_PLAIN);
    char *saving = tide_finding_saving_words(finding, TIDE_STYLE_PLAIN);
    page_must(finding->saving.value >= 0 && finding->has && sentence && saving);
    for (int k = 0; k < TIDE_EVIDENCES_N; k++)
      page_must(finding->evidence[k] >= 0);
    free(sentence);
    free(saving);
  }
  tide_findings_free(findings);
  tide_naming_free(naming);
}

static inline bool fuzz_shows(const uint8_t *input, size_t n)
{
  uint32_t hash = 2166136261; // FNV-1a
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ input[i]) * 16777619;
  return (hash >> 13) % 8 == 0;
}

// `input` is what the capture was read from.
static inline void fuzz_page(const struct tide_capture *capture, const uint8_t *input, size_t n)
{
  bool shows = fuzz_shows(input, n);
  for (size_t i = 0; i < capture->n_images; i++) {
    struct tide_profile *profile = tide_profile_new(capture, i);
    if (shows) {
      fuzz_page_of(profile, TIDE_PAGE_KEEP_ALL);
      fuzz_page_of(profile, profile->n_sites / 2);
    }
    fuzz_findings(profile);
    tide_profile_free(profile);
  }
}
