// SPDX-License-Identifier: Apache-2.0
//
// Most spans are shorter than a page; of long ones the middle is counted at once.
#include "residence/ledger.h"

static bool is_free(enum tide_residence_kind kind)
{
  return kind == TIDE_RESIDENCE_FREE;
}

static bool is_in_use(enum tide_residence_kind kind)
{
  return kind == TIDE_RESIDENCE_BLOCKS || kind == TIDE_RESIDENCE_ROUNDING ||
         kind == TIDE_RESIDENCE_UNRECORDED || kind == TIDE_RESIDENCE_CACHED;
}

// Free in the map's sense: ends of arenas are.
static bool is_idle(enum tide_residence_kind kind)
{
  return kind == TIDE_RESIDENCE_FREE || kind == TIDE_RESIDENCE_TOP;
}

static void end_page(struct tide_ledger *ledger)
{
  struct tide_residence *to = ledger->to;
  if (ledger->is_heap && ledger->page.resident)
    tide_ledger_map_add(ledger, ledger->page.start, ledger->page.live, ledger->page.idle,
                        ledger->page.in_use ? ledger->page.free : 0);
  if (ledger->page.resident && ledger->page.free && ledger->page.in_use) {
    to->pinned += ledger->page.free;
    to->n_pinned_pages++;
    if (ledger->page.of_several) {
      to->n_shared_pins++;
    } else if (ledger->page.site != TIDE_NO_SITE) {
      to->sites[ledger->page.site].n_pinned++;
      to->sites[ledger->page.site].pinned += ledger->page.free;
    }
  }
  ledger->page.start = UINT64_MAX;
  ledger->page.free = ledger->page.live = ledger->page.idle = 0;
}

void tide_ledger_begin_heap(struct tide_ledger *ledger)
{
  end_page(ledger);
  ledger->is_heap = true;
}

void tide_ledger_end_heap(struct tide_ledger *ledger)
{
  end_page(ledger);
  ledger->is_heap = false;
}

static void turn_to(struct tide_ledger *ledger, uint64_t start)
{
  if (ledger->page.start == start)
    return;
  end_page(ledger);
  ledger->page.start = start;
  ledger->page.resident = tide_space_resident(ledger->space, start, start + 1);
  ledger->page.in_use = ledger->page.of_several = false;
  ledger->page.site = TIDE_NO_SITE;
}

static void note_block(struct tide_ledger *ledger, uint32_t site)
{
  bool is_first = !ledger->page.in_use;
  ledger->page.in_use = true;
  if (is_first)
    ledger->page.site = site;
  else if (ledger->page.site != site)
    ledger->page.of_several = true;
}

// [lo, hi) lies in one page, or is whole pages.
static void count_resident(struct tide_ledger *ledger, uint64_t lo, uint64_t hi,
                           enum tide_residence_kind kind, uint32_t site)
{
  uint64_t resident = tide_space_resident(ledger->space, lo, hi);
  uint64_t absent = hi - lo - resident;
  ledger->to->rows[kind] += resident;
  if (kind != TIDE_RESIDENCE_BLOCKS && kind != TIDE_RESIDENCE_MAPPED)
    return;
  absent -= tide_space_swapped(ledger->space, lo, hi);
  ledger->to->untouched += kind == TIDE_RESIDENCE_BLOCKS ? absent : 0;
  ledger->to->sites[site].resident += resident;
  ledger->to->sites[site].untouched += absent;
}

static void count_in_page(struct tide_ledger *ledger, uint64_t lo, uint64_t hi,
                          enum tide_residence_kind kind, uint32_t site)
{
  turn_to(ledger, lo / ledger->space->page_bytes * ledger->space->page_bytes);
  count_resident(ledger, lo, hi, kind, site);
  *(is_idle(kind) ? &ledger->page.idle : &ledger->page.live) += hi - lo;
  if (is_in_use(kind))
    note_block(ledger, site);
  else if (is_free(kind))
    ledger->page.free += hi - lo;
}

void tide_ledger_span(struct tide_ledger *ledger, uint64_t lo, uint64_t hi,
                      enum tide_residence_kind kind, uint32_t site)
{
  uint64_t page = ledger->space->page_bytes;
  if (lo >= hi)
    return;
  uint64_t first_end = (lo / page + 1) * page, last_start = (hi - 1) / page * page;
  if (first_end > last_start) { // of one page, or of two
    uint64_t cut = first_end < hi ? first_end : hi;
    count_in_page(ledger, lo, cut, kind, site);
    if (cut < hi)
      count_in_page(ledger, cut, hi, kind, site);
    return;
  }
  count_in_page(ledger, lo, first_end, kind, site);
  count_resident(ledger, first_end, last_start, kind, site);
  if (ledger->is_heap)
    tide_ledger_map_add_pages(ledger, first_end, last_start, is_idle(kind));
  count_in_page(ledger, last_start, hi, kind, site);
}
