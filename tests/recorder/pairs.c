// SPDX-License-Identifier: Apache-2.0
//
// Events that wait to be booked: when they do, when they go on, and what is booked in the end.
#include "store/pairs.h"

#include "expect.h"
#include "test_store.h"

enum { ADDRESS = 0x10000000, BIG = 1 << 20 };

static struct tide_writer w;
static struct tide_cell *cell, *other;
static struct tide_ends *ends_of(struct tide_cell *c)
{
  return tide_ends_of(&w, c);
}

// Times are whole units of the live map's.
static uint64_t at(uint64_t unit)
{
  return unit << tide_live_unit_bits();
}

static void pair(struct tide_cell *c, uint64_t size, uint64_t unit)
{
  uint64_t now = at(unit);
  if (!tide_pairs_alloc(&w, c, ADDRESS, size, now))
    abort();
  if (!tide_pairs_free_waiting(&w, ADDRESS))
    tide_pairs_free_booked(&w, ADDRESS, now);
}

// A store with one thread, whose total was once BIG and is 0 again, and so was each cell's.
static void open_store(void)
{
  test_live_init();
  test_store_open();
  test_writer_open(&w);
  tide_total_join(&w, 1, 0);
  cell = tide_writer_cell_new(&w, 1, TIDE_NODE_FIRST);
  other = tide_writer_cell_new(&w, 2, TIDE_NODE_FIRST + 1);
  pair(cell, BIG, 1);
  pair(other, BIG, 1);
}

// One after another at one stack wait, whatever their sizes; another stack ends that.
static void pairs_wait(void)
{
  const struct tide_pairs *pairs = &w.slot->pairs;
  pair(cell, 100, 2);
  EXPECT(!pairs->cell && cell->n_alloc == 2); // the first of a kind does not
  for (uint64_t size = 0; size < 1000; size++)
    pair(cell, size, 2);
  EXPECT(pairs->n_ended == 1000 && pairs->b_ended == 499500 && cell->n_alloc == 2);
  EXPECT(tide_hist_of(&w, ends_of(cell))->size[5] == 64); // 65 to 128 bytes
  pair(other, 100, 2);
  EXPECT(cell->n_alloc == 1002 && cell->n_free == 1002 && ends_of(cell)->n_temp == 1002);
  EXPECT(cell->b_alloc == BIG + 100 + 499500 && cell->b_free == cell->b_alloc);
  EXPECT(tide_streak_bucket(ends_of(cell)->lives) == 0);
  EXPECT(tide_streak_count(ends_of(cell)->lives) == 1002);
}

// The clock moves between two blocks: the later one has its own time, the earlier ones theirs.
static void the_clock_moves(void)
{
  pair(cell, 10, 10);
  pair(cell, 10, 10);
  tide_pairs_retime(&w, at(500));
  pair(other, 10, 500);
  EXPECT(cell->t_last == at(10));
  pair(cell, 10, 600);
  pair(cell, 10, 600);
  tide_pairs_retime(&w, at(700));
  pair(cell, 10, 700);
  tide_pairs_settle(&w);
  EXPECT(cell->t_last == at(700));
  // While a block is there: it has lived.
  uint64_t life = ends_of(cell)->life_sum;
  pair(cell, 10, 700);
  pair(cell, 10, 700);
  tide_pairs_alloc(&w, cell, ADDRESS, 10, at(700));
  tide_pairs_retime(&w, at(760));
  EXPECT(!tide_pairs_free_waiting(&w, ADDRESS));
  tide_pairs_free_booked(&w, ADDRESS, at(760));
  EXPECT(ends_of(cell)->life_sum - life == at(60));
}

// What concerns a maximum does not wait, nor what another interval or thread has to know.
static void what_does_not_wait(void)
{
  const struct tide_pairs *pairs = &w.slot->pairs;
  pair(cell, 10, 800);
  pair(cell, 10, 800);
  pair(cell, BIG + 1, 800);
  EXPECT(!pairs->cell && tide_store.header->max_bytes == BIG + 1 &&
         ends_of(cell)->high_bytes == BIG + 1);
  pair(cell, 10, 800);
  pair(cell, 10, 800);
  EXPECT(pairs->cell);
  tide_store.header->stamp.interval++;
  tide_pairs_retime(&w, at(801));
  pair(cell, 10, 801);
  EXPECT(!pairs->cell && cell->stamp.interval == tide_store.header->stamp.interval);
  pair(cell, 10, 801);
  EXPECT(pairs->cell && pairs->n_ended == 1);
}

// Among others, nothing waits while every event is published, and later no more than the share.
static void others_come(void)
{
  const struct tide_pairs *pairs = &w.slot->pairs;
  struct tide_writer newcomer = {.slot = tide_slot_at(tide_slot_new())};
  newcomer.slot_id = newcomer.slot->id;
  pair(cell, 10, 900);
  pair(cell, 10, 900);
  EXPECT(pairs->cell);
  tide_total_join(&newcomer, 2, 0);
  tide_pairs_look(&w);
  EXPECT(!pairs->cell);
  pair(cell, 10, 902);
  pair(cell, 10, 902);
  EXPECT(!pairs->cell);
  tide_store.header->n_disturbed += 10000;
  pair(cell, 10, 903);
  EXPECT(tide_crowd.share > 10 && tide_crowd.share < 5000);
  pair(cell, 10, 903);
  pair(cell, 10, 903);
  EXPECT(pairs->cell);
  pair(cell, 2 * (uint64_t)tide_crowd.share + 1, 903);
  EXPECT(!pairs->cell);
  tide_total_leave(&newcomer);
  tide_pairs_look(&w);
  pair(cell, 10, 904);
  pair(cell, TIDE_LARGE_BYTES - 1, 904); // alone again
  EXPECT(pairs->cell);
  pair(cell, TIDE_LARGE_BYTES, 904); // what is looked at when it ends never waits
  EXPECT(!pairs->cell);
  pair(cell, TIDE_LARGE_BYTES, 904);
  EXPECT(!pairs->cell);
}

// A size that the live map has no room for in a slot.
static void a_large_block(void)
{
  const uint64_t size = (1ull << 40) + 5;
  tide_pairs_settle(&w);
  uint64_t bytes = cell->b_free;
  EXPECT(tide_pairs_alloc(&w, cell, ADDRESS + (1ull << 33), size, at(1000)));
  EXPECT(tide_pairs_alloc(&w, other, ADDRESS, 10, at(1000)));
  EXPECT(tide_pairs_free_booked(&w, ADDRESS + (1ull << 33), at(1001)));
  EXPECT(cell->b_free - bytes == size);
}

// Blocks that lie near to each other, as those of most allocators but glibc's, are at home in their
// tables, and their events the quick way's: also where sizes vary, and at the end of one of the
// latest two.
static void near_blocks_are_quick(void)
{
  enum { BLOCKS = 500 };
  const uint64_t from = 0x30000000, spacing = tide_live_map.apart ? 32 : 16;
  uint32_t n_quick = 0;
  tide_pairs_settle(&w);
  tide_hist_of(&w, ends_of(other));
  for (uint64_t i = 0; i < BLOCKS; i++) {
    uint64_t size = i % 3 ? 16 : 100, addr = from + i * spacing;
    tide_cell_fold(&w, other);
    if (tide_book_alloc_quickly(&w, TIDE_FORM_HASHED, other, addr, size, at(1100)))
      n_quick++;
    else
      EXPECT(tide_pairs_alloc(&w, other, addr, size, at(1100)));
  }
  EXPECT(n_quick >= BLOCKS - BLOCKS / 20); // but the first, whose tables were small
  uint64_t n_temp = ends_of(other)->n_temp;
  EXPECT(tide_book_free_hashed(&w, from + (BLOCKS - 2) * spacing, at(1100)));
  EXPECT(tide_book_free_hashed(&w, from + (BLOCKS - 1) * spacing, at(1100)));
  EXPECT(ends_of(other)->n_temp == n_temp + 2 && w.temp_cell == other);
  EXPECT(!tide_book_free_hashed(&w, from + (BLOCKS - 1) * spacing, at(1100))); // it is gone
  n_quick = 0;
  for (uint64_t i = 0; i < BLOCKS - 2; i++)
    if (tide_book_free_hashed(&w, from + i * spacing, at(1101)))
      n_quick++;
    else
      EXPECT(tide_pairs_free_booked(&w, from + i * spacing, at(1101)));
  EXPECT(n_quick >= BLOCKS - 4); // all but those that turn the lives' streak for the first time
  EXPECT(other->n_alloc - other->n_free == 1); // that of a_large_block()
  EXPECT(!w.station.at);
}

int main(void)
{
  open_store();
  pairs_wait();
  the_clock_moves();
  what_does_not_wait();
  others_come();
  a_large_block();
  near_blocks_are_quick();
  return n_bad != 0;
}
