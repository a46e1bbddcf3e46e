// SPDX-License-Identifier: Apache-2.0
//
// Freed memory that the allocator keeps, and why it does: survivors on its pages, arenas of threads
// that share nothing, an end of the heap that malloc no longer gives back, large blocks that it no
// longer maps apart.
//
// Tables of where the memory was tell it. Without any it is guessed from ticks: from the heap's
// peak on live bytes fall, and the RSS does not follow; but what rose meanwhile may be files. Of a
// process that runs there is one table, and no tick.
#include "findings/subject.h"

#include "base/alloc.h"

// ---- by ticks ----

static const uint64_t most = 1ull << 50;

static int64_t capped(uint64_t bytes)
{
  return bytes < most ? (int64_t)bytes : (int64_t)most;
}

static bool is_usable(const struct tide_tick *tick)
{
  return tick->rss_bytes && tick->rss_bytes < most && tick->live_bytes >= 0 &&
         tick->live_bytes < (int64_t)most && tick->page_bytes >= 0 &&
         tick->page_bytes < (int64_t)most;
}

static int64_t beside_heap(const struct tide_tick *tick)
{
  return (int64_t)tick->rss_bytes - tick->live_bytes - tick->page_bytes;
}

// At the look with the most heap: what the RSS has beside it, which is no fragmentation.
static const struct tide_tick *fullest(const struct tide_image *image)
{
  const struct tide_tick *full = NULL;
  for (size_t i = 0; i < image->n_ticks; i++)
    if (is_usable(&image->ticks[i]) && (!full || image->ticks[i].live_bytes > full->live_bytes))
      full = &image->ticks[i];
  return full;
}

struct held { // what the allocator keeps
  int64_t bytes, heap_bytes, rss_bytes;
  uint64_t at_ns;
  const struct tide_residence *table; // NULL: nobody looked what it is
  enum tide_confidence confidence;
};

// What is neither of the heap nor mapped by the program itself nor the recorder's: by a table,
// however old; else all that was beside the heap when that was fullest.
static int64_t beside_all(const struct tide_image *image, const struct tide_tick *full)
{
  const struct tide_residence *table =
      image->n_residences ? &image->residences[image->n_residences - 1] : NULL;
  int64_t at_peak = beside_heap(full) > 0 ? beside_heap(full) : 0;
  uint64_t bands[TIDE_RESIDENT_BANDS];
  if (!table || table->heap == TIDE_HEAP_UNKNOWN)
    return at_peak;
  tide_residence_bands(table, bands);
  int64_t told = capped(bands[TIDE_RESIDENT_FILES]) + capped(bands[TIDE_RESIDENT_STACKS]) +
                 capped(bands[TIDE_RESIDENT_OTHER]);
  return told < at_peak ? told : at_peak;
}

// The last look at or before a moment that tells something, from another such look on.
static const struct tide_tick *look_before(const struct tide_image *image,
                                           const struct tide_tick *from, uint64_t time_ns)
{
  const struct tide_tick *last = from, *end = image->ticks + image->n_ticks;
  for (; from < end && from->time_ns <= time_ns; from++)
    last = is_usable(from) ? from : last;
  return last;
}

// The least of it over the last part of the run, up to where programs take down what they built.
// What was before the first look of that part is told by the look before it.
static bool is_kept_until_end(const struct tide_subject *subject, struct held *ret_held)
{
  const struct tide_image *image = subject->image;
  const struct tide_tick *full = image->has_resident ? fullest(image) : NULL, *at = NULL;
  uint64_t last_ns = subject->start_ns + subject->run_ns / 1000 * LAST_PERMILLE;
  uint64_t since_ns = last_ns - subject->run_ns / KEPT_RSS_TIME;
  int64_t least = 0;
  if (!full || !subject->has_course)
    return false;
  int64_t beside = beside_all(image, full);
  for (const struct tide_tick *tick = look_before(image, full, since_ns);
       tick < image->ticks + image->n_ticks; tick++) {
    if (tick->time_ns > last_ns || !is_usable(tick))
      continue;
    int64_t kept = beside_heap(tick) - beside;
    if (at && kept >= least)
      continue;
    at = tick;
    least = kept;
  }
  if (!at)
    return false;
  *ret_held = (struct held){.bytes = least,
                            .heap_bytes = at->live_bytes,
                            .rss_bytes = (int64_t)at->rss_bytes,
                            .at_ns = at->time_ns,
                            .confidence = TIDE_CONFIDENCE_LOW};
  return true;
}

// ---- by tables ----

static bool is_much(const struct held *held)
{
  return held->bytes >= KEPT_RSS_BYTES && held->bytes >= held->rss_bytes / KEPT_RSS_PART;
}

static struct held held_by(const struct tide_residence *table)
{
  uint64_t bands[TIDE_RESIDENT_BANDS];
  tide_residence_bands(table, bands);
  int64_t sum = capped(table->sum), recorder = capped(bands[TIDE_RESIDENT_RECORDER]);
  return (struct held){.bytes = capped(bands[TIDE_RESIDENT_HELD]),
                       .heap_bytes = capped(table->asked),
                       .rss_bytes = sum > recorder ? sum - recorder : 0,
                       .at_ns = table->time_ns,
                       .table = table,
                       .confidence = TIDE_CONFIDENCE_MEDIUM};
}

// Has the RSS fallen since the table, while the run went on?
static bool has_fallen_since(const struct tide_subject *subject, const struct held *held)
{
  const struct tide_image *image = subject->image;
  uint64_t last_ns = subject->start_ns + subject->run_ns / 1000 * LAST_PERMILLE;
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    if (tick->time_ns > held->at_ns && tick->time_ns < last_ns && is_usable(tick) &&
        (int64_t)tick->rss_bytes < held->rss_bytes - held->bytes / 2)
      return true;
  }
  return false;
}

// What was resident at most after the table, if that is so much more that the table does not tell
// what is kept by then; else 0.
static int64_t later_rss(const struct tide_subject *subject, const struct held *held)
{
  const struct tide_image *image = subject->image;
  int64_t highest = 0;
  for (size_t i = 0; held->table && i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    if (tick->time_ns > held->at_ns && is_usable(tick) && (int64_t)tick->rss_bytes > highest)
      highest = (int64_t)tick->rss_bytes;
  }
  return highest > held->rss_bytes + held->rss_bytes / LATER_PART ? highest : 0;
}

// A table of a heap that grew or shrank meanwhile has its pages of one moment and its blocks of
// another: what is between them is no free memory. Ticks tell more then, but not of an allocator
// that maps its memory as any program does.
static bool is_blurred(const struct tide_residence *table)
{
  uint64_t before = table->rss_before, after = table->rss_after;
  uint64_t moved = before > after ? before - after : after - before;
  return table->heap == TIDE_HEAP_GLIBC && moved > table->sum / BLURRED_PART;
}

// Kept for the last part of the run, as each table since then saw it. Tables are taken when the
// heap has changed, so without a newer one it has not.
static bool is_held_by_tables(const struct tide_subject *subject, struct held *ret_held)
{
  const struct tide_image *image = subject->image;
  uint64_t last_ns = subject->start_ns + subject->run_ns / 1000 * LAST_PERMILLE;
  uint64_t since_ns = UINT64_MAX;
  for (size_t i = image->n_residences; i > 0; i--) {
    struct held held = held_by(&image->residences[i - 1]);
    if (!is_much(&held) || is_blurred(held.table))
      break;
    if (i == image->n_residences)
      *ret_held = held;
    since_ns = held.at_ns;
  }
  if (since_ns == UINT64_MAX)
    return false;
  if (!image->n_ticks) // a process that runs: now
    return true;
  return since_ns <= last_ns && last_ns - since_ns >= subject->run_ns / KEPT_RSS_TIME &&
         !has_fallen_since(subject, ret_held);
}

// A look has its price, and where that was paid early there is none of what came of it: much more
// was resident later, or of what was live then most is gone.
static bool is_outdated(const struct tide_subject *subject, const struct tide_residence *table)
{
  const struct tide_image *image = subject->image;
  const struct held held = held_by(table);
  uint64_t last_ns = subject->start_ns + subject->run_ns / 1000 * LAST_PERMILLE;
  const struct tide_tick *last = NULL;
  for (size_t i = 0; i < image->n_ticks; i++)
    if (image->ticks[i].time_ns <= last_ns && is_usable(&image->ticks[i]))
      last = &image->ticks[i];
  bool is_gone = last && last->time_ns > held.at_ns && last->live_bytes < held.heap_bytes / 2;
  return is_gone || is_blurred(table) || later_rss(subject, &held);
}

static bool is_held(const struct tide_subject *subject, struct held *ret_held)
{
  const struct tide_image *image = subject->image;
  size_t n = image->n_residences;
  if (image->by_fork)
    return false;
  // Blocks from before it was attached to are in nobody's list but glibc's own.
  if (image->lacks & TIDE_LACK_BEFORE)
    return n && image->residences[n - 1].heap == TIDE_HEAP_GLIBC &&
           is_held_by_tables(subject, ret_held);
  if (n && image->residences[n - 1].heap != TIDE_HEAP_UNKNOWN) {
    if (is_held_by_tables(subject, ret_held))
      return true;
    if (!is_outdated(subject, &image->residences[n - 1]))
      return false;
  }
  return is_kept_until_end(subject, ret_held) && is_much(ret_held);
}

// ---- why ----

static struct tide_finding *find_held(const struct tide_subject *subject, const struct held *held,
                                      enum tide_finding_rule rule, const struct tide_suspect *who,
                                      int64_t saving)
{
  struct tide_finding *finding = tide_subject_find(subject, rule, who, held->confidence, saving);
  tide_finding_saves(finding, TIDE_ESTIMATED);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_RSS_BYTES, held->rss_bytes);
  if (!(subject->image->lacks & TIDE_LACK_PEAK))
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  if (!held->table || held->table->has_recorder)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_HEAP_BYTES, held->heap_bytes);
  if (subject->image->n_ticks)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_SINCE_NS,
                      (int64_t)(held->at_ns - subject->start_ns));
  if (!held->table)
    return finding;
  int64_t later = later_rss(subject, held);
  if (later)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_LATER_RSS_BYTES, later);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_FREE_BYTES, held->bytes);
  if (held->table->heap == TIDE_HEAP_GLIBC)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_TRIM_BYTES,
                      capped(held->table->trim) + capped(held->table->trim_top));
  return finding;
}

// Without any look at what it is: who still has blocks then, which may be what keeps the pages.
static const struct tide_suspect *survivor(const struct tide_subject *subject)
{
  const struct tide_suspect *who = NULL;
  for (size_t i = 0; subject->has_course && i < subject->n_suspects; i++) {
    const struct tide_suspect *suspect = &subject->suspects[i];
    if (suspect->place->peak_blocks > 0 && suspect->course.live_blocks[MOMENTS - 1] > 0 &&
        (!who || suspect->course.live_blocks[MOMENTS - 1] > who->course.live_blocks[MOMENTS - 1]))
      who = suspect;
  }
  return who;
}

// Whose blocks alone keep most free memory: so many pages or, of an allocator that gives back by
// runs of equal blocks, so many of those.
static const struct tide_suspect *pinner(const struct tide_subject *subject,
                                         const struct tide_residence *table, int64_t *ret_n)
{
  TIDE_CLEANUP_FREE int64_t *kept = tide_alloc_array(subject->n_suspects + 1, sizeof *kept);
  const struct tide_suspect *who = NULL;
  *ret_n = 0;
  for (size_t i = 0; i < table->n_sites; i++) {
    const struct tide_residence_site *site = &table->sites[i];
    size_t idx = tide_subject_of_stack(subject, site->stack);
    if (site->is_mapped || idx == TIDE_SUSPECT_NONE)
      continue;
    kept[idx] = tide_added(kept[idx], capped(table->n_classes ? site->n_sparse : site->n_pinned));
    if (kept[idx] <= *ret_n)
      continue;
    *ret_n = kept[idx];
    who = &subject->suspects[idx];
  }
  return who;
}

static int64_t sparse_bytes(const struct tide_residence *table)
{
  int64_t bytes = 0;
  for (size_t i = 0; i < table->n_classes; i++)
    bytes = tide_added(bytes, capped(table->classes[i].sparse));
  return bytes;
}

static void tell_fragmented(const struct tide_subject *subject, const struct held *held)
{
  int64_t n = 0;
  const struct tide_suspect *who =
      held->table ? pinner(subject, held->table, &n) : survivor(subject);
  struct tide_finding *finding = find_held(subject, held, TIDE_RULE_FRAGMENTED, who, held->bytes);
  if (!held->table && who)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, who->course.live_blocks[MOMENTS - 1]);
  if (held->table && held->table->pinned)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_PINNED_BYTES, capped(held->table->pinned));
  int64_t sparse = held->table ? sparse_bytes(held->table) : 0;
  if (sparse)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_SPARSE_BYTES, sparse);
  if (n)
    tide_finding_tell(
        finding,
        held->table->n_classes ? TIDE_EVIDENCE_OF_SPARSE_RUNS : TIDE_EVIDENCE_OF_PINNED_PAGES, n);
}

// The end of the heap that all threads use at first: malloc gives back what is more than its
// threshold, which is twice the largest block that was freed from a mapping of its own.
static int64_t kept_end(const struct tide_residence *table)
{
  int64_t end = 0;
  for (size_t i = 0; i < table->n_arenas; i++)
    if (table->arenas[i].is_main)
      end = tide_added(end, capped(table->arenas[i].top));
  return end > USUAL_END_BYTES ? end - USUAL_END_BYTES : 0;
}

// What one arena would keep less. It needs room for what was live at once, and a header for each
// block. Where that is not known it may need as much as the largest of those that are there.
static int64_t kept_apart(const struct tide_subject *subject, const struct tide_residence *table)
{
  int64_t all = 0, in_use = 0, largest = 0;
  for (size_t i = 0; i < table->n_arenas; i++) {
    const struct tide_residence_arena *arena = &table->arenas[i];
    int64_t resident = capped(arena->in_use) + capped(arena->free) + capped(arena->top);
    all = tide_added(all, resident);
    in_use = tide_added(in_use, capped(arena->in_use));
    largest = resident > largest ? resident : largest;
  }
  int64_t blocks = subject->image->peak_blocks;
  int64_t needed =
      subject->image->lacks & TIDE_LACK_PEAK
          ? largest + in_use
          : subject->peak_bytes + (blocks > 0 && blocks < (int64_t)most ? blocks * 16 : 0);
  needed = needed > in_use ? needed : in_use;
  return table->n_arenas > 1 && all > needed ? all - needed : 0;
}

static void tell_arenas(const struct tide_subject *subject, const struct held *held, int64_t saving)
{
  struct tide_finding *finding = find_held(subject, held, TIDE_RULE_ARENAS, NULL, saving);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ARENAS, (int64_t)held->table->n_arenas);
}

static void tell_end(const struct tide_subject *subject, const struct held *held, int64_t saving)
{
  struct tide_finding *finding = find_held(subject, held, TIDE_RULE_END, NULL, saving);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, saving + USUAL_END_BYTES);
}

// Blocks that malloc maps apart, and gives back as they are freed, until it has freed a larger one:
// from then on they are cut from its heap.
static bool is_large(const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  uint64_t each = place->n_alloc ? place->b_alloc / place->n_alloc : 0;
  return each >= MAPPED_BYTES && each <= MAPPED_MOST;
}

struct needed { // by blocks of one kind, at once
  int64_t large, small, small_blocks;
};

// The most of each at any snapshot.
static struct needed needed_at_once(const struct tide_subject *subject)
{
  struct needed needed = {0};
  for (size_t i = 0; i < subject->image->n_snapshots; i++) {
    const struct tide_snapshot *snapshot = &subject->image->snapshots[i];
    struct needed now = {0};
    for (size_t k = 0; k < snapshot->n_rows; k++) {
      const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, k);
      size_t idx = tide_subject_of_stack(subject, row.stack);
      bool of_heap = !(subject->image->frames[row.stack].flags & TIDE_FRAME_PAGES);
      if (!of_heap || row.live_bytes <= 0 || row.live_blocks <= 0)
        continue;
      if (idx != TIDE_SUSPECT_NONE && is_large(&subject->suspects[idx])) {
        now.large = tide_added(now.large, row.live_bytes);
        continue;
      }
      now.small = tide_added(now.small, row.live_bytes);
      now.small_blocks = tide_added(now.small_blocks, row.live_blocks);
    }
    needed.large = now.large > needed.large ? now.large : needed.large;
    needed.small = now.small > needed.small ? now.small : needed.small;
    needed.small_blocks =
        now.small_blocks > needed.small_blocks ? now.small_blocks : needed.small_blocks;
  }
  return needed;
}

// What malloc's heap has more than all other blocks ever needed at once is what the large ones
// left: not more than they were.
static int64_t left_by_large(const struct tide_subject *subject, const struct held *held,
                             const struct needed *needed)
{
  int64_t all = 0, others = needed->small, live = 0;
  for (size_t i = 0; i < held->table->n_arenas; i++) {
    const struct tide_residence_arena *arena = &held->table->arenas[i];
    all = tide_added(all, capped(arena->in_use) + capped(arena->free) + capped(arena->top));
  }
  if (needed->small_blocks < (int64_t)most)
    others = tide_added(others, needed->small_blocks * 16);
  for (size_t i = 0; i < subject->n_suspects; i++)
    if (is_large(&subject->suspects[i]))
      live = tide_added(live, subject->suspects[i].course.live_bytes[MOMENTS - 1]);
  int64_t left = all - others - live;
  left = left < needed->large - live ? left : needed->large - live;
  left = left < held->bytes ? left : held->bytes;
  return left > 0 ? left : 0;
}

static const struct tide_suspect *large_suspect(const struct tide_subject *subject)
{
  const struct tide_suspect *who = NULL;
  for (size_t i = 0; i < subject->n_suspects; i++)
    if (is_large(&subject->suspects[i]) &&
        (!who || subject->suspects[i].place->b_alloc > who->place->b_alloc))
      who = &subject->suspects[i];
  return who;
}

// True: most of what is kept was theirs.
static bool tell_large(const struct tide_subject *subject, struct held *held)
{
  const struct tide_suspect *who = subject->has_course ? large_suspect(subject) : NULL;
  struct needed needed = who ? needed_at_once(subject) : (struct needed){0};
  int64_t saving = who ? left_by_large(subject, held, &needed) : 0;
  if (saving <= held->bytes / 2)
    return false;
  // Between two snapshots the others may have needed more.
  if (held->confidence > TIDE_CONFIDENCE_MEDIUM)
    held->confidence = TIDE_CONFIDENCE_MEDIUM;
  struct tide_finding *finding = find_held(subject, held, TIDE_RULE_THRESHOLD, who, saving);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, needed.large);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCK_BYTES,
                    (int64_t)(who->place->b_alloc / who->place->n_alloc));
  return true;
}

void tide_rules_of_residence(const struct tide_subject *subject)
{
  struct held held;
  if (!is_held(subject, &held))
    return;
  bool is_glibc = held.table && held.table->heap == TIDE_HEAP_GLIBC;
  int64_t end = is_glibc ? kept_end(held.table) : 0;
  int64_t apart = is_glibc ? kept_apart(subject, held.table) : 0;
  if (end > held.bytes / 2)
    tell_end(subject, &held, end);
  else if (apart > held.bytes / 2)
    tell_arenas(subject, &held, apart);
  else if (!is_glibc || !tell_large(subject, &held))
    tell_fragmented(subject, &held);
}
