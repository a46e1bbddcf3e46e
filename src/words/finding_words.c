// SPDX-License-Identifier: Apache-2.0
//
// A function per rule, in the order of findings/rules.def.
#include "words/finding_words.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/capture.h"
#include "words/culprit_words.h"
#include "words/question_words.h"
#include "words/shorten.h"

#include <string.h>

enum { PIECES_MAX = 8, QUEUE_COLUMNS = 60 };

struct telling { // one sentence: the numbers of a finding as text
  const struct tide_finding *finding;
  const char *where; // "document_read, indexer/indexer.c:58"
  const char *place; // the same before a verb
  struct tide_style style;
  char pieces[PIECES_MAX][TIDE_UNITS_MAX];
  unsigned n_pieces;
};

static int64_t number(const struct telling *t, enum tide_evidence which)
{
  return t->finding->evidence[which];
}

static struct tide_amount amount(const struct telling *t, int64_t value)
{
  return t->finding->is_sampled ? (struct tide_amount){value, TIDE_ESTIMATED, 0}
                                : tide_exact(value);
}

static const char *bytes_words(struct telling *t, enum tide_evidence which)
{
  return tide_units_bytes(t->pieces[t->n_pieces++ % PIECES_MAX], amount(t, number(t, which)),
                          t->style);
}
static const char *count_words(struct telling *t, enum tide_evidence which)
{
  return tide_units_count(t->pieces[t->n_pieces++ % PIECES_MAX], amount(t, number(t, which)),
                          t->style);
}
static const char *time_words(struct telling *t, enum tide_evidence which)
{
  int64_t ns = number(t, which);
  return tide_units_time(t->pieces[t->n_pieces++ % PIECES_MAX], ns > 0 ? (uint64_t)ns : 0,
                         t->style.utf8);
}
static const char *share_words(struct telling *t, enum tide_evidence part, enum tide_evidence whole)
{
  int64_t all = number(t, whole), some = number(t, part);
  return tide_units_share(t->pieces[t->n_pieces++ % PIECES_MAX], amount(t, some),
                          all > some ? all : some, t->style);
}

#define BYTES(which) bytes_words(t, TIDE_EVIDENCE_OF_##which)
#define COUNT(which) count_words(t, TIDE_EVIDENCE_OF_##which)
#define TIME(which) time_words(t, TIDE_EVIDENCE_OF_##which)
#define PLURAL(which) (number(t, TIDE_EVIDENCE_OF_##which) == 1 ? "" : "s")
#define SHARE(part, whole) share_words(t, TIDE_EVIDENCE_OF_##part, TIDE_EVIDENCE_OF_##whole)

static char *leak_words(struct telling *t)
{
  return tide_sprintf("%s %s: %s of the %s blocks that it allocated all through the run were "
                      "never freed, %s, which grew by %s a second",
                      t->place, t->finding->is_note ? "keeps what it allocates" : "leaks",
                      COUNT(BLOCKS), COUNT(ALLOCATIONS), BYTES(BYTES), BYTES(BYTES_PER_SECOND));
}

// "; the queue is that of std::sync::mpsc::Sender<T>::send", where it is known.
static char *queue_words(const struct telling *t)
{
  if (!t->finding->queue)
    return tide_strdup("");
  TIDE_CLEANUP_FREE char *name =
      tide_shorten_function(t->finding->queue->function, QUEUE_COLUMNS, t->style.utf8);
  return tide_sprintf("; the queue is that of %s", name);
}

static char *backlog_words(struct telling *t)
{
  bool is_foreign = tide_finding_has(t->finding, TIDE_EVIDENCE_OF_FOREIGN_FREES);
  TIDE_CLEANUP_FREE char *queue = queue_words(t);
  return tide_sprintf(
      "%s %s: %s blocks (%s, %s of the peak) waited at "
      "once, of %s in all, each for %s in the mean%s%s",
      t->place, t->finding->is_note ? "has much at once" : "makes more than is used up",
      COUNT(BLOCKS), BYTES(BYTES), SHARE(BYTES, PEAK_BYTES), COUNT(ALLOCATIONS), TIME(RESIDENCE_NS),
      is_foreign ? ", until another thread freed them" : "", queue);
}

static char *growth_words(struct telling *t)
{
  return tide_sprintf("%s %s: %s blocks (%s, %s of the peak) came all through the run and "
                      "stayed until its end, %s a second",
                      t->place, t->finding->is_note ? "keeps what comes" : "only grows",
                      COUNT(BLOCKS), BYTES(BYTES), SHARE(BYTES, PEAK_BYTES),
                      BYTES(BYTES_PER_SECOND));
}

static char *unused_words(struct telling *t)
{
  bool touched = number(t, TIDE_EVIDENCE_OF_TOUCHED_BYTES);
  bool is_one = number(t, TIDE_EVIDENCE_OF_LOOKED_BLOCKS) == 1;
  return tide_sprintf("%s asks for more than it uses: %s block%s of %s%s had %s%s in memory when "
                      "%s freed; it held %s at the peak",
                      t->place, COUNT(LOOKED_BLOCKS), PLURAL(LOOKED_BLOCKS), BYTES(LOOKED_BYTES),
                      is_one ? "" : " in the mean", touched ? BYTES(TOUCHED_BYTES) : "nothing",
                      touched ? " of it" : "", is_one ? "it was" : "they were", BYTES(BYTES));
}

// "600 blocks of 47.8 KiB in the mean"; of instances, "286.7 KiB in 6 blocks for each of 100".
static char *untouched_blocks(struct telling *t)
{
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_ITEMS))
    return tide_sprintf("%s in %s blocks for each of %s instances", BYTES(ITEM_BYTES),
                        COUNT(PLACES), COUNT(ITEMS));
  if (number(t, TIDE_EVIDENCE_OF_BLOCKS) == 1)
    return tide_strdup("1 block");
  return tide_sprintf("%s blocks of %s in the mean", COUNT(BLOCKS), BYTES(BLOCK_BYTES));
}

static char *untouched_words(struct telling *t)
{
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_LOOKED_BLOCKS))
    return unused_words(t);
  char least[TIDE_UNITS_MAX];
  struct tide_amount bytes = amount(t, t->finding->saving.value); // "at least" is said
  TIDE_CLEANUP_FREE char *blocks = untouched_blocks(t);
  return tide_sprintf("%s asks for more than it uses: of its %s at the peak, %s, "
                      "at least %s was never in memory",
                      t->place, BYTES(BYTES), blocks, tide_units_bytes(least, bytes, t->style));
}

// ": at 4.42 s the heap held 13.0 MiB of its peak's 380.0 MiB, and of 385.0 MiB resident 360.0 MiB
// was free", as far as it is known.
static char *held_words(struct telling *t)
{
  bool has_time = tide_finding_has(t->finding, TIDE_EVIDENCE_OF_SINCE_NS);
  bool has_heap = tide_finding_has(t->finding, TIDE_EVIDENCE_OF_HEAP_BYTES);
  TIDE_CLEANUP_FREE char *when =
      has_time ? tide_sprintf("at %s ", TIME(SINCE_NS)) : tide_strdup("");
  TIDE_CLEANUP_FREE char *heap =
      has_heap && tide_finding_has(t->finding, TIDE_EVIDENCE_OF_PEAK_BYTES)
          ? tide_sprintf("the heap held %s of its peak's %s, and ", BYTES(HEAP_BYTES),
                         BYTES(PEAK_BYTES))
          : tide_strdup("");
  char kept[TIDE_UNITS_MAX];
  return tide_finding_has(t->finding, TIDE_EVIDENCE_OF_FREE_BYTES)
             ? tide_sprintf("%s%sof %s resident %s %s free", when, heap, BYTES(RSS_BYTES),
                            BYTES(FREE_BYTES), has_time ? "was" : "is")
             : tide_sprintf("%s%s%s was resident, %s more than that explains", when, heap,
                            BYTES(RSS_BYTES), tide_units_bytes(kept, t->finding->saving, t->style));
}

static char *fragmented_words(struct telling *t)
{
  struct tide_buf text = {0};
  TIDE_CLEANUP_FREE char *held = held_words(t);
  bool is_guess = !tide_finding_has(t->finding, TIDE_EVIDENCE_OF_FREE_BYTES);
  tide_buf_printf(&text, "%s: %s",
                  is_guess ? "more stays resident than blocks explain"
                           : "the allocator keeps memory that was freed",
                  held);
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_TRIM_BYTES))
    tide_buf_printf(&text, "; malloc_trim(0) would give back %s",
                    number(t, TIDE_EVIDENCE_OF_TRIM_BYTES) ? BYTES(TRIM_BYTES) : "nothing");
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_PINNED_BYTES))
    tide_buf_printf(&text, "; blocks in use keep %s on their pages", BYTES(PINNED_BYTES));
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_PINNED_PAGES))
    tide_buf_printf(&text, ", those of %s alone %s page%s", t->where, COUNT(PINNED_PAGES),
                    PLURAL(PINNED_PAGES));
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_SPARSE_BYTES))
    tide_buf_printf(&text, "; %s is free in runs of equal blocks less than half full",
                    BYTES(SPARSE_BYTES));
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_SPARSE_RUNS))
    tide_buf_printf(&text, ", and in %s of them most are of %s", COUNT(SPARSE_RUNS), t->where);
  if (tide_finding_has(t->finding, TIDE_EVIDENCE_OF_BLOCKS))
    tide_buf_printf(&text, "; most blocks that are left, %s, are of %s", COUNT(BLOCKS), t->where);
  char *words = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return words;
}

static char *arenas_words(struct telling *t)
{
  char saved[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *held = held_words(t);
  return tide_sprintf("%s arenas of malloc keep free memory, each for its own threads: %s, and one "
                      "arena for all would keep about %s less",
                      COUNT(ARENAS), held,
                      tide_units_bytes(saved, amount(t, t->finding->saving.value), t->style));
}

static char *end_words(struct telling *t)
{
  TIDE_CLEANUP_FREE char *held = held_words(t);
  return tide_sprintf(
      "malloc keeps the free end of its heap, %s: %s; since large blocks were freed "
      "it gives back only ends that are larger still",
      BYTES(BYTES), held);
}

static char *threshold_words(struct telling *t)
{
  TIDE_CLEANUP_FREE char *held = held_words(t);
  return tide_sprintf(
      "%s leaves free memory in malloc's heap: blocks of about %s, %s of such large "
      "ones at once, had no mappings of their own, which malloc gives only to what "
      "is larger than all it has unmapped; %s",
      t->place, BYTES(BLOCK_BYTES), BYTES(BYTES), held);
}

static char *small_words(struct telling *t)
{
  return tide_sprintf("%s has many small blocks: %s of %s each at the peak, and for each the "
                      "allocator takes about %s more",
                      t->place, COUNT(BLOCKS), BYTES(BLOCK_BYTES), BYTES(OVERHEAD_BYTES));
}

static char *early_words(struct telling *t)
{
  return tide_sprintf("%s holds from the start to the end: %s in %s block%s, %s of the peak, "
                      "allocated within the first %s",
                      t->place, BYTES(BYTES), COUNT(BLOCKS), PLURAL(BLOCKS),
                      SHARE(BYTES, PEAK_BYTES), TIME(UNTIL_NS));
}

static char *each_words(struct telling *t)
{
  TIDE_CLEANUP_FREE char *blocks = tide_finding_has(t->finding, TIDE_EVIDENCE_OF_PLACES)
                                       ? tide_sprintf(" in %s blocks", COUNT(PLACES))
                                       : tide_strdup("");
  return tide_sprintf("%s takes %s%s for each %s: %s of them at the peak, %s or %s of it", t->place,
                      BYTES(BLOCK_BYTES), blocks, t->finding->noun ? t->finding->noun : "instance",
                      COUNT(BLOCKS), BYTES(BYTES), SHARE(BYTES, PEAK_BYTES));
}

static char *budget_words(struct telling *t)
{
  char tenfold[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *places =
      number(t, TIDE_EVIDENCE_OF_PLACES) > 1
          ? tide_sprintf("%s places with one block each, the largest %s", COUNT(PLACES), t->where)
          : tide_strdup(t->where);
  return tide_sprintf(
      "an item costs %s (%s): %s items at the peak took %s, %s of it, and ten times "
      "as many would take %s",
      BYTES(ITEM_BYTES), places, COUNT(BLOCKS), BYTES(BYTES), SHARE(BYTES, PEAK_BYTES),
      tide_units_bytes(tenfold, amount(t, 10 * number(t, TIDE_EVIDENCE_OF_BYTES)), t->style));
}

static char *steps_words(struct telling *t)
{
  bool is_counted = tide_finding_has(t->finding, TIDE_EVIDENCE_OF_CONTAINERS);
  char most[TIDE_UNITS_MAX];
  bool in_place = number(t, TIDE_EVIDENCE_OF_COPIED_BYTES) < t->finding->saving.value;
  TIDE_CLEANUP_FREE char *copied =
      in_place ? tide_sprintf("; it mostly grew in place, and where something lies behind it %s "
                              "would be copied",
                              tide_units_bytes(most, t->finding->saving, t->style))
               : tide_sprintf(", copied up to %s", BYTES(COPIED_BYTES));
  return tide_sprintf("%s grows in small steps: %s resizes%s%s%s%s, by %s each in the mean%s",
                      t->place, COUNT(RESIZES), is_counted ? " of " : "",
                      is_counted ? COUNT(CONTAINERS) : "", is_counted ? " block" : "",
                      is_counted ? PLURAL(CONTAINERS) : "", BYTES(STEP_BYTES), copied);
}

static char *crossing_words(struct telling *t)
{
  TIDE_CLEANUP_FREE char *when =
      tide_finding_has(t->finding, TIDE_EVIDENCE_OF_LARGEST_STEP_BYTES)
          ? tide_sprintf("; it was seen to grow past that from %s to %s, by up to %s between two "
                         "looks",
                         TIME(SINCE_NS), TIME(UNTIL_NS), BYTES(LARGEST_STEP_BYTES))
          : tide_strdup("");
  bool is_resized = tide_finding_has(t->finding, TIDE_EVIDENCE_OF_RESIZES);
  return tide_sprintf("%s grows by %s, past the size from which on malloc maps blocks apart: of %s "
                      "allocations %s are of more than 128 KiB, each %s until malloc has freed one "
                      "as large; at most %s was copied%s",
                      t->place, is_resized ? "resizing" : "allocating anew", COUNT(ALLOCATIONS),
                      COUNT(MAPPED), is_resized ? "mapped anew" : "mapped and unmapped again",
                      BYTES(COPIED_BYTES), when);
}

static char *reserve_words(struct telling *t)
{
  return tide_sprintf("%s grows containers from small, again and again: %s of them, %s times each, "
                      "%s of the program's %s allocations",
                      t->place, COUNT(CONTAINERS), COUNT(RESIZES_PER_BLOCK), COUNT(RESIZES),
                      COUNT(ALL_ALLOCATIONS));
}

static char *temporary_words(struct telling *t)
{
  TIDE_CLEANUP_FREE char *cost =
      tide_finding_has(t->finding, TIDE_EVIDENCE_OF_EVERY_NS)
          ? tide_sprintf(", one for every %s of %s", TIME(EVERY_NS),
                         tide_finding_has(t->finding, TIDE_EVIDENCE_OF_CPU_NS)
                             ? "its processor time"
                             : "the run")
          : tide_strdup("");
  return tide_sprintf(
      "%s allocates for a moment only: %s blocks of %s in the mean were freed by the "
      "time of the next allocation, %s of all%s",
      t->place, COUNT(TEMPORARY), BYTES(BLOCK_BYTES), SHARE(TEMPORARY, ALL_ALLOCATIONS), cost);
}

static const struct {
  char *(*sentence)(struct telling *t);
  const char *advice;
  const char *of_note; // the same where it is a note; NULL: as it is
} rules[TIDE_RULES_N] = {
    [TIDE_RULE_LEAK] = {leak_words, "Free them where what they belong to ends.",
                        "If what they belong to has ended, free them there."},
    [TIDE_RULE_BACKLOG] = {backlog_words,
                           "Give the queue a limit, so that its maker waits, or use it up faster.",
                           "If it is a queue, a limit lets its maker wait."},
    [TIDE_RULE_GROWTH] = {growth_words,
                          "If it is a cache or a log, give it a limit; drop what is done with."},
    [TIDE_RULE_UNTOUCHED] = {untouched_words,
                             "Allocate what is needed, and more when it is; or a smaller default."},
    [TIDE_RULE_FRAGMENTED] = {fragmented_words,
                              "Keep blocks that stay apart from those that go; let the allocator "
                              "give back after the peak (glibc's: malloc_trim(0)).",
                              "A look at where its memory is, while it runs, tells what that is."},
    [TIDE_RULE_ARENAS] = {arenas_words,
                          "Run it with MALLOC_ARENA_MAX=1, or 2 where threads wait for each other "
                          "in malloc; or let fewer threads allocate."},
    [TIDE_RULE_END] = {end_words, "Run it with MALLOC_TRIM_THRESHOLD_=131072, or call "
                                  "malloc_trim(0) after such a phase."},
    [TIDE_RULE_THRESHOLD] =
        {threshold_words,
         "Run it with MALLOC_MMAP_THRESHOLD_=131072: such blocks are then given "
         "back as they are freed, for a system call and new pages each; or free "
         "them in the order that they came in.",
         "If it stays so: MALLOC_MMAP_THRESHOLD_=131072 gives such blocks back when they are "
         "freed."},
    [TIDE_RULE_SMALL] = {small_words,
                         "Allocate them together: an array, an arena or a pool of one size."},
    [TIDE_RULE_EARLY] = {early_words, "If it serves the start alone, free it after that."},
    [TIDE_RULE_EACH] = {each_words,
                        "For planning. If it is too much, make it smaller, lazy or shared: every "
                        "byte counts as many times."},
    [TIDE_RULE_BUDGET] = {budget_words,
                          "For planning. Fewer or smaller fields, or fewer items in memory at "
                          "once, make it less."},
    [TIDE_RULE_STEPS] =
        {steps_words, "Grow by half of it or more at a time, or reserve what it will hold.",
         "By half of it or more at a time it would not depend on what lies behind."},
    [TIDE_RULE_CROSSING] = {crossing_words,
                            "If its size is known before, reserve it: while it grows, old and new "
                            "are there at once."},
    [TIDE_RULE_RESERVE] = {reserve_words, "Reserve what they will hold, or keep one and clear it."},
    [TIDE_RULE_TEMPORARY] = {temporary_words,
                             "Keep one buffer outside of the loop, or put it on the stack."},
};

// By what is nearest to the finding.
static const char *missing_words(unsigned missing)
{
  return missing & TIDE_MISSING_PARTS ? "; the file is damaged, and there may be more"
         : missing & TIDE_MISSING_EVENTS
             ? "; not every event of it was recorded with its whole stack"
         : missing & TIDE_MISSING_END ? "; the run went on after that, and there may be more"
         : missing                    ? "; some processes of the run went unrecorded"
                                      : "";
}

char *tide_finding_sentence(const struct tide_finding *finding, const struct tide_naming *naming,
                            struct tide_style style)
{
  TIDE_CLEANUP_FREE char *where =
      finding->frame ? tide_frame_words(naming, finding->frame, style) : tide_strdup("the program");
  // "f, a.c:7, leaks", but "prog+0x42 leaks".
  TIDE_CLEANUP_FREE char *place = tide_sprintf("%s%s", where, strchr(where, ' ') ? "," : "");
  struct telling t = {.finding = finding, .where = where, .place = place, .style = style};
  TIDE_CLEANUP_FREE char *text = rules[finding->rule].sentence(&t);
  struct tide_buf all = {0};
  tide_buf_text(&all, text);
  if (tide_finding_has(finding, TIDE_EVIDENCE_OF_LATER_RSS_BYTES))
    tide_buf_printf(&all, "; later %s were resident, and nobody looked what more is kept of them",
                    bytes_words(&t, TIDE_EVIDENCE_OF_LATER_RSS_BYTES));
  if (finding->n_alike)
    tide_buf_printf(&all, "; less of that in %zu more place%s", finding->n_alike,
                    finding->n_alike > 1 ? "s" : "");
  tide_buf_text(&all, missing_words(finding->missing));
  tide_buf_text(&all, ".");
  char *sentence = tide_strdup(tide_buf_cstr(&all));
  tide_buf_done(&all);
  return sentence;
}

static const char *rule_advice(const struct tide_finding *finding)
{
  const char *of_note = rules[finding->rule].of_note;
  return finding->is_note && of_note ? of_note : rules[finding->rule].advice;
}

// Of memory that is free and kept: what gives it back is another thing for each allocator.
static const char *fragmented_advice(const struct tide_finding *finding)
{
  enum { TRIM_PART = 16 }; // of the free memory: what gives back less is no advice
  bool is_glibc = tide_finding_has(finding, TIDE_EVIDENCE_OF_TRIM_BYTES);
  int64_t trim_bytes = finding->evidence[TIDE_EVIDENCE_OF_TRIM_BYTES];
  if (is_glibc && trim_bytes &&
      trim_bytes >= finding->evidence[TIDE_EVIDENCE_OF_FREE_BYTES] / TRIM_PART)
    return "Keep blocks that stay apart from those that go; call malloc_trim(0) after the peak.";
  if (is_glibc)
    return "Keep blocks that stay apart from those that go.";
  if (tide_finding_has(finding, TIDE_EVIDENCE_OF_FREE_BYTES))
    return "Keep blocks that stay apart from those that go; have the allocator give back after the "
           "peak (jemalloc: arena.<i>.purge or a shorter dirty_decay_ms, mimalloc: mi_collect).";
  return rule_advice(finding);
}

const char *tide_finding_advice(const struct tide_finding *finding)
{
  return finding->rule == TIDE_RULE_FRAGMENTED ? fragmented_advice(finding) : rule_advice(finding);
}

char *tide_finding_saving_words(const struct tide_finding *finding, struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  switch (tide_rule_rows[finding->rule].saving) {
  case TIDE_SAVING_COPIED:
    return tide_sprintf("%s of copying", tide_units_bytes(text, finding->saving, style));
  case TIDE_SAVING_CALLS:
    return tide_sprintf("%s calls of the allocator",
                        tide_units_count(text, finding->saving, style));
  default: return tide_sprintf("%s of memory", tide_units_bytes(text, finding->saving, style));
  }
}

char *tide_finding_heading(const struct tide_finding *finding, struct tide_style style)
{
  const char *dot = style.utf8 ? " · " : " - ";
  TIDE_CLEANUP_FREE char *saving = tide_finding_saving_words(finding, style);
  if (finding->is_note)
    return tide_sprintf("%s%s%s%sa note: nothing wrong by itself",
                        tide_rule_rows[finding->rule].word, dot, saving, dot);
  return tide_sprintf("%s%ssaves %s%s%sconfidence %s", tide_rule_rows[finding->rule].word, dot,
                      finding->saving.exactness == TIDE_EXACT ? "up to " : "", saving, dot,
                      tide_confidence_words[finding->confidence]);
}

char *tide_findings_title(const struct tide_findings *findings, const char *program)
{
  size_t n_faults = 0;
  while (n_faults < findings->n && !findings->items[n_faults].is_note)
    n_faults++;
  size_t n_notes = findings->n - n_faults;
  TIDE_CLEANUP_FREE char *notes =
      n_notes ? tide_sprintf(", %zu note%s", n_notes, n_notes > 1 ? "s" : "") : tide_strdup("");
  return n_faults ? tide_sprintf("%s: %zu finding%s%s", program, n_faults, n_faults > 1 ? "s" : "",
                                 notes)
                  : tide_sprintf("%s: nothing %sfound by the %d rules%s", program,
                                 n_notes ? "wrong " : "", TIDE_RULES_N, notes);
}

// ---- two runs ----

char *tide_finding_since_words(const struct tide_finding *before, struct tide_style style)
{
  if (!before)
    return tide_strdup("new");
  TIDE_CLEANUP_FREE char *then = tide_finding_saving_words(before, style);
  return tide_sprintf("there before, too: %s then", then);
}

// "23.4 MiB more": of bytes or blocks, as was asked.
static const char *changed_words(char out[TIDE_UNITS_MAX], const struct tide_diff *diff,
                                 int64_t change, struct tide_style style)
{
  bool in_bytes = diff->after->profile->question.unit == TIDE_UNIT_BYTES;
  int64_t size = change == INT64_MIN ? INT64_MAX : change < 0 ? -change : change;
  struct tide_amount amount = tide_profile_amount(diff->after->profile, size);
  return in_bytes ? tide_units_bytes(out, amount, style) : tide_units_count(out, amount, style);
}

// "64 blocks of 2.0 KiB": what a side of a place has, as exactly as its image knows it.
static char *side_words(const struct tide_view *side, const struct tide_diff_amount *has,
                        const char *noun, struct tide_style style)
{
  char n[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  struct tide_question question = side->profile->question;
  question.unit = TIDE_UNIT_BLOCKS;
  struct tide_amount blocks = tide_question_amount(side->profile->image, &question, has->blocks);
  struct tide_amount each = tide_amount_like(blocks, has->bytes / has->blocks);
  return tide_sprintf("%s %sof %s", tide_units_count(n, blocks, style), noun,
                      tide_units_bytes(size, each, style));
}

static char *each_change(const struct tide_diff *diff, const struct tide_diff_place *place,
                         struct tide_style style)
{
  bool is_now = place->after.blocks > 0, was_then = place->before.blocks > 0;
  TIDE_CLEANUP_FREE char *now =
      is_now ? side_words(diff->after, &place->after, "blocks ", style) : NULL;
  TIDE_CLEANUP_FREE char *then =
      was_then ? side_words(diff->before, &place->before, is_now ? "" : "blocks ", style) : NULL;
  if (!is_now)
    return then ? tide_sprintf("it had %s each", then) : NULL;
  return then ? tide_sprintf("%s each, before %s", now, then)
              : tide_sprintf("%s each, and none before", now);
}

char *tide_change_sentence(const struct tide_diff *diff, const struct tide_diff_place *place,
                           struct tide_style style)
{
  char size[TIDE_UNITS_MAX];
  const struct tide_naming *naming = NULL;
  const struct tide_named_frame *frame = tide_diff_frame(diff, place, &naming);
  int64_t change = tide_diff_change(diff, place);
  if (!frame || !change)
    return NULL;
  TIDE_CLEANUP_FREE char *where = tide_frame_words(naming, frame, style);
  TIDE_CLEANUP_FREE char *each = each_change(diff, place, style);
  return tide_sprintf("%s: %s %s %s%s%s.", where, changed_words(size, diff, change, style),
                      change > 0 ? "more" : "less",
                      tide_diff_measure_words(&diff->after->profile->question), each ? "; " : "",
                      each ? each : "");
}

char *tide_changes_sentence(const struct tide_diff *diff, struct tide_style style)
{
  char size[TIDE_UNITS_MAX], now[TIDE_UNITS_MAX], then[TIDE_UNITS_MAX];
  int64_t change = tide_diff_change(diff, &diff->total);
  int64_t after = tide_diff_measure(diff, &diff->total.after);
  int64_t before = tide_diff_measure(diff, &diff->total.before);
  const char *what = tide_diff_measure_words(&diff->after->profile->question);
  if (!change)
    return tide_sprintf("as much %s as before: %s", what, changed_words(now, diff, after, style));
  return tide_sprintf("%s %s %s: %s, before %s", changed_words(size, diff, change, style),
                      change > 0 ? "more" : "less", what, changed_words(now, diff, after, style),
                      changed_words(then, diff, before, style));
}

char *tide_findings_unjudged_words(const struct tide_findings *findings)
{
  struct tide_buf text = {0};
  unsigned n = 0;
  for (int rule = 0; rule < TIDE_RULES_N; rule++)
    if (findings->unjudged >> rule & 1)
      tide_buf_printf(&text, "%s%s", n++ ? ", " : "", tide_rule_rows[rule].word);
  if (n)
    tide_buf_text(&text, ": the capture has not got the numbers for it");
  if (findings->is_short)
    tide_buf_printf(&text,
                    "%sleak, backlog, growth, early: too few looks at the run to tell what "
                    "came and went",
                    n ? "; " : "");
  char *words = text.n ? tide_strdup(tide_buf_cstr(&text)) : NULL;
  tide_buf_done(&text);
  return words;
}

char *tide_findings_living_words(const struct tide_image *image)
{
  return tide_strdup(
      tide_image_is_unrecorded(image)
          ? "all but where its memory is: nobody records it. 'tidemark attach' does from now on"
          : "what comes and goes: its recording's own file tells that, as of its last checkpoint");
}
