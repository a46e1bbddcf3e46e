// SPDX-License-Identifier: Apache-2.0
//
// Asking the kernel for the pages of a block, within a budget. See touch.h.
//
// The budget is one word, the moment at which all looks so far would be paid for at the rate that
// they may cost. A look moves it on by 32 times its own price; while it is too far ahead of now, no
// block is looked at. Prices are fixed, not measured: a thread that is interrupted in a look has
// not spent what passed meanwhile.
#include "store/touch.h"

#include "rt/sys.h"
#include "store/book.h"

#include <sys/syscall.h>

enum {
  PIECE_PAGES = 256,    // that a call asks for
  PIECES_PER_MS = 1000, // and what it takes
  PART = 32,
  BURST_MS = 10,
};

static uint64_t paid_until; // ticks; atomic
static bool is_refused;     // for good; a fork child's as well

static uint64_t ticks_per_ms(void)
{
  const uint64_t a_fast_one = 4000000000; // where nobody knows
  uint64_t per_second = tide_ticks_per_second();
  return (per_second ? per_second : a_fast_one) / 1000;
}

// Whether so many pieces may be asked for now. If so, they are paid for.
static bool pay(uint64_t n_pieces, uint64_t now)
{
  uint64_t price = (n_pieces + 1) * ticks_per_ms() / PIECES_PER_MS * PART;
  uint64_t burst = ticks_per_ms() * BURST_MS * PART;
  uint64_t until = tide_load_relaxed(&paid_until);
  for (;;) {
    // A clock that was set back, or a block so large that it is beyond all bounds.
    uint64_t ahead = until - now < 2 * burst ? until - now : 0;
    if (price > burst || ahead > burst - price)
      return false;
    if (__atomic_compare_exchange_n(&paid_until, &until, now + ahead + price, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return true;
  }
}

// Of [from, to), which begins and ends where it may, on the pages from `at` on.
static uint64_t in_memory(const unsigned char *pages, uint64_t at, uint64_t n, uint64_t from,
                          uint64_t to)
{
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < n; i++, at += tide_sys_page_bytes) {
    uint64_t lo = at > from ? at : from, end = at + tide_sys_page_bytes, hi = end < to ? end : to;
    bytes += pages[i] & 1 ? hi - lo : 0;
  }
  return bytes;
}

TIDE_COLD uint64_t tide_touch_look(uint64_t addr, uint64_t size, uint64_t now)
{
  uint64_t page = tide_sys_page_bytes, end = addr + size, touched = 0;
  uint64_t first = addr & ~(page - 1), n_pages = tide_sys_whole_pages(end - first) / page;
  unsigned char pages[PIECE_PAGES] = {0};
  if (tide_load_relaxed(&is_refused) || end < addr || !pay(n_pages / PIECE_PAGES + 1, now))
    return TIDE_TOUCH_UNKNOWN;
  if (tide_sys_sandboxed()) {
    tide_store_relaxed(&is_refused, true);
    return TIDE_TOUCH_UNKNOWN;
  }
  for (uint64_t i = 0; i < n_pages; i += PIECE_PAGES) {
    uint64_t n = n_pages - i < PIECE_PAGES ? n_pages - i : PIECE_PAGES, at = first + i * page;
    long ret = TIDE_SYS(SYS_mincore, at, n * page, pages);
    if (tide_sys_failed(ret)) {
      if (ret != -ENOMEM && ret != -EAGAIN) // not mapped: the program's mistake, or busy
        tide_store_relaxed(&is_refused, true);
      return TIDE_TOUCH_UNKNOWN;
    }
    touched += in_memory(pages, at, n, addr, end);
  }
  return touched;
}

TIDE_COLD void tide_touch_count(struct tide_writer *w, uint32_t cell, uint64_t size,
                                uint64_t touched)
{
  struct tide_cell *c = touched == TIDE_TOUCH_UNKNOWN ? NULL : tide_book_cell_of(w, cell);
  if (!c)
    return;
  struct tide_touches *touches = tide_touches_of(w, c);
  touches->n_looked++;
  touches->b_looked += size;
  touches->b_touched += touched;
}
