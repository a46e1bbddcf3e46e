// SPDX-License-Identifier: Apache-2.0
//
// What the table says, line by line: its rows, who has the memory, who keeps what is free, arenas,
// files. A list has so many lines as its reader asked for, and none that is not worth one.
#include "report/residence.h"

#include "base/alloc.h"
#include "words/residence_words.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SHARE = 200 }; // of the sum: a smaller row of a list is not worth a line

static const struct {
  const char *key, *title;
} lists[TIDE_RESIDENCE_LISTS] = {
    [TIDE_RESIDENCE_LIST_ROWS] = {"rows", NULL},
    [TIDE_RESIDENCE_LIST_PLACES] = {"places", "who has it, in memory"},
    [TIDE_RESIDENCE_LIST_PINS] = {"pins", "whose blocks alone keep free memory"},
    [TIDE_RESIDENCE_LIST_RUNS] = {"runs",
                                  "runs of equal blocks, free in those less than half full"},
    [TIDE_RESIDENCE_LIST_SPARSE] = {"sparse", "whose blocks are most in runs less than half full"},
    [TIDE_RESIDENCE_LIST_LARGE] = {"large", "large blocks, not in memory"},
    [TIDE_RESIDENCE_LIST_ENDED] = {"ended", "large blocks, not in memory when they were freed"},
    [TIDE_RESIDENCE_LIST_ARENAS] = {"arenas", "arenas of malloc, in memory"},
    [TIDE_RESIDENCE_LIST_FILES] = {"files", "files, shared memory and memory with a name"},
};

static const char *const note_labels[TIDE_RESIDENCE_NOTES] = {
    [TIDE_RESIDENCE_NOTE_FREE] = "free",     [TIDE_RESIDENCE_NOTE_TRIED] = "tried",
    [TIDE_RESIDENCE_NOTE_HUGE] = "huge",     [TIDE_RESIDENCE_NOTE_BESIDE] = "beside",
    [TIDE_RESIDENCE_NOTE_MISSED] = "missed", [TIDE_RESIDENCE_NOTE_LIMITS] = "limits",
};

const char *tide_residence_list_key(enum tide_residence_list_kind kind)
{
  return lists[kind].key;
}

const char *tide_residence_list_title(enum tide_residence_list_kind kind)
{
  return lists[kind].title;
}

const char *tide_residence_note_label(enum tide_residence_note note)
{
  return note_labels[note];
}

struct telling {
  const struct tide_residence_subject *subject;
  struct tide_style style;
  struct tide_residence_told *told;
};

// Takes the words over.
static void add_line(struct telling *t, enum tide_residence_list_kind kind, int64_t bytes,
                     bool has_share, char *own_words)
{
  struct tide_residence_list *list = &t->told->lists[kind];
  if (kind != TIDE_RESIDENCE_LIST_ROWS && list->n >= t->subject->n_rows) {
    list->n_left++;
    free(own_words);
    return;
  }
  TIDE_GROW(list->lines, list->n, list->cap);
  list->lines[list->n++] = (struct tide_residence_line){bytes, has_share, own_words};
}

static const char *size_words(char out[TIDE_UNITS_MAX], uint64_t n, const struct telling *t)
{
  return tide_units_bytes(out, tide_exact((int64_t)n), t->style);
}

static void tell_rows(struct telling *t)
{
  const struct tide_residence *residence = t->subject->residence;
  for (int i = 0; i < TIDE_RESIDENCE_KINDS; i++)
    if (residence->rows[i])
      add_line(t, TIDE_RESIDENCE_LIST_ROWS, (int64_t)residence->rows[i], true,
               tide_strdup(tide_residence_words((enum tide_residence_kind)i)));
  TIDE_CLEANUP_FREE char *words = tide_residence_sum_words(residence, t->style);
  t->told->sum = (struct tide_residence_line){(int64_t)residence->sum, true,
                                              tide_sprintf("in all: %s", words)};
  t->told->absent =
      (struct tide_residence_line){(int64_t)(0 - residence->untouched), false,
                                   tide_residence_untouched_words(residence, t->style)};
}

// "malloc_trim(0) gave back 161.7 MiB in 12.0 ms, and 161.7 MiB were expected: RSS went from ..."
static char *tried_words(const struct telling *t)
{
  const struct tide_residence_tried *tried = t->subject->tried;
  const struct tide_residence *residence = t->subject->residence;
  char gave[TIDE_UNITS_MAX], expected[TIDE_UNITS_MAX], took[TIDE_UNITS_MAX];
  char before[TIDE_UNITS_MAX], after[TIDE_UNITS_MAX], left[TIDE_UNITS_MAX];
  uint64_t less = tried->rss_before > tried->rss_after ? tried->rss_before - tried->rss_after : 0;
  TIDE_CLEANUP_FREE char *rest = tried->left_bytes
                                     ? tide_sprintf("; %s that the call needed stay mapped",
                                                    size_words(left, tried->left_bytes, t))
                                     : tide_strdup("");
  return tide_sprintf(
      "malloc_trim(0) gave back %s in %s, where %s were expected; RSS was %s "
      "before it and %s after%s",
      size_words(gave, less, t), tide_units_time(took, tried->took_ns, t->style.utf8),
      size_words(expected, residence->trim + residence->trim_top, t),
      size_words(before, tried->rss_before, t), size_words(after, tried->rss_after, t), rest);
}

static void tell_notes(struct telling *t)
{
  const struct tide_residence *residence = t->subject->residence;
  const struct tide_image *image = t->subject->image;
  uint64_t own = residence->sum - residence->rows[TIDE_RESIDENCE_RECORDER];
  char **notes = t->told->notes;
  notes[TIDE_RESIDENCE_NOTE_FREE] = tide_residence_free_words(residence, t->style);
  if (t->subject->tried)
    notes[TIDE_RESIDENCE_NOTE_TRIED] = tried_words(t);
  notes[TIDE_RESIDENCE_NOTE_HUGE] = tide_residence_huge_words(residence, t->style);
  notes[TIDE_RESIDENCE_NOTE_BESIDE] = tide_residence_beside_words(residence, t->style);
  if (image)
    notes[TIDE_RESIDENCE_NOTE_MISSED] = tide_residence_missed_words(image, own, t->style);
  notes[TIDE_RESIDENCE_NOTE_LIMITS] = tide_residence_limit_words(residence, t->style);
}

// ---- places ----

static void tell_places(struct telling *t, const struct tide_residence_places *places)
{
  uint64_t least = t->subject->residence->sum / LEAST_SHARE;
  for (size_t i = 0; i < places->n; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char asked[TIDE_UNITS_MAX], swapped[TIDE_UNITS_MAX];
    if (place->resident < least && (!place->swapped || place->swapped < least))
      continue;
    TIDE_CLEANUP_FREE char *more =
        place->swapped ? tide_sprintf("; %s is swapped out", size_words(swapped, place->swapped, t))
                       : tide_strdup("");
    add_line(t, TIDE_RESIDENCE_LIST_PLACES, (int64_t)place->resident, true,
             tide_sprintf("%s%s, of %s %s%s", place->words, place->is_mapped ? " (mapped)" : "",
                          size_words(asked, place->asked, t),
                          place->is_mapped ? "mapped" : "asked for", more));
  }
}

static int pin_order(const void *a, const void *b)
{
  const struct tide_residence_place *x = a, *y = b;
  return x->pinned > y->pinned ? -1 : x->pinned < y->pinned;
}

// Sorts the places anew.
static void tell_pins(struct telling *t, struct tide_residence_places *places)
{
  uint64_t least = t->subject->residence->sum / LEAST_SHARE;
  if (places->n)
    qsort(places->items, places->n, sizeof *places->items, pin_order);
  for (size_t i = 0; i < places->n && places->items[i].pinned; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char pages[TIDE_UNITS_MAX];
    if (place->pinned < least)
      break;
    add_line(t, TIDE_RESIDENCE_LIST_PINS, (int64_t)place->pinned, true,
             tide_sprintf("%s, on %s %s", place->words, tide_units_plain(pages, place->n_pinned),
                          place->n_pinned == 1 ? "page" : "pages"));
  }
}

// ---- runs of equal blocks ----

// "of 320 B: 1,204 runs of 20.0 KiB, 61 % in use; 40 to a quarter, 211 to a half, 500 to three
// quarters, 453 above"
static char *class_line(const struct telling *t, const struct tide_residence_class *class)
{
  char size[TIDE_UNITS_MAX], n[TIDE_UNITS_MAX], each[TIDE_UNITS_MAX], used[TIDE_UNITS_MAX];
  char quarters[4][TIDE_UNITS_MAX];
  uint64_t slots = class->n_slots ? class->n_slots : 1, runs = class->n_runs ? class->n_runs : 1;
  for (int i = 0; i < 4; i++)
    tide_units_plain(quarters[i], class->quarters[i]);
  return tide_sprintf(
      "of %s: %s %s, %s each in memory in the mean, %s in use; up to a quarter %s, a half %s, "
      "three quarters %s, full %s",
      size_words(size, class->block_bytes, t), tide_units_plain(n, class->n_runs),
      class->n_runs == 1 ? "run" : "runs", size_words(each, class->resident / runs, t),
      tide_units_percent(used, tide_exact((int64_t) class->n_blocks), slots, t->style), quarters[0],
      quarters[1], quarters[2], quarters[3]);
}

static void tell_runs(struct telling *t)
{
  const struct tide_residence *residence = t->subject->residence;
  uint64_t least = residence->sum / LEAST_SHARE;
  for (size_t i = 0; i < residence->n_classes; i++) {
    const struct tide_residence_class *class = &residence->classes[i];
    if (class->sparse && class->resident >= least)
      add_line(t, TIDE_RESIDENCE_LIST_RUNS, (int64_t) class->sparse, true, class_line(t, class));
  }
}

static int sparse_order(const void *a, const void *b)
{
  const struct tide_residence_place *x = a, *y = b;
  return x->sparse > y->sparse ? -1 : x->sparse < y->sparse;
}

// Sorts the places anew.
static void tell_sparse(struct telling *t, struct tide_residence_places *places)
{
  uint64_t least = t->subject->residence->sum / LEAST_SHARE;
  if (places->n)
    qsort(places->items, places->n, sizeof *places->items, sparse_order);
  for (size_t i = 0; i < places->n && places->items[i].sparse; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char runs[TIDE_UNITS_MAX];
    if (place->sparse < least)
      break;
    add_line(t, TIDE_RESIDENCE_LIST_SPARSE, (int64_t)place->sparse, true,
             tide_sprintf("%s, %s %s", place->words, tide_units_plain(runs, place->n_sparse),
                          place->n_sparse == 1 ? "run" : "runs"));
  }
}

static uint64_t missing(const struct tide_residence_place *place)
{
  return place->large_asked - place->large_touched;
}

static int missing_order(const void *a, const void *b)
{
  uint64_t x = missing(a), y = missing(b);
  return x > y ? -1 : x < y;
}

// Blocks of TIDE_RESIDENCE_LARGE bytes and more, in the mean. Sorts the places anew.
static void tell_large(struct telling *t, enum tide_residence_list_kind kind,
                       struct tide_residence_places *places)
{
  uint64_t least = t->subject->residence->sum / LEAST_SHARE;
  if (places->n)
    qsort(places->items, places->n, sizeof *places->items, missing_order);
  for (size_t i = 0; i < places->n; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char n[TIDE_UNITS_MAX], asked[TIDE_UNITS_MAX], touched[TIDE_UNITS_MAX];
    if (!place->n_large || place->is_mapped || missing(place) < least ||
        missing(place) < place->large_asked / 4)
      continue;
    bool is_one = place->n_large == 1;
    add_line(t, kind, (int64_t)missing(place), false,
             tide_sprintf("%s: %s %s, asked %s%s, touched %s", place->words,
                          tide_units_plain(n, place->n_large), is_one ? "block" : "blocks",
                          size_words(asked, place->large_asked / place->n_large, t),
                          is_one ? "" : " each",
                          size_words(touched, place->large_touched / place->n_large, t)));
  }
}

// ---- arenas and files ----

// What of the free a trim gives back, what blocks in use keep, and what stays at the end.
static char *arena_line(const struct telling *t, size_t arena_idx)
{
  const struct tide_residence *residence = t->subject->residence;
  const struct tide_residence_arena *arena = &residence->arenas[arena_idx];
  char free_bytes[TIDE_UNITS_MAX], trim[TIDE_UNITS_MAX], kept[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  uint64_t back = arena->trim + arena->trim_top;
  uint64_t pinned = arena->free > arena->trim ? arena->free - arena->trim : 0;
  uint64_t end = arena->top > arena->trim_top ? arena->top - arena->trim_top : 0;
  TIDE_CLEANUP_FREE char *name = tide_residence_arena_words(residence, arena_idx);
  tide_buf_printf(&text, "%s: %s free (a trim gives back %s", name,
                  size_words(free_bytes, arena->free + arena->top, t),
                  back ? size_words(trim, back, t) : "nothing");
  if (pinned)
    tide_buf_printf(&text, ", survivors pin %s", size_words(kept, pinned, t));
  if (end)
    tide_buf_printf(&text, ", %s stays at its end", size_words(kept, end, t));
  tide_buf_text(&text, ")");
  char *words = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return words;
}

static void tell_arenas(struct telling *t)
{
  const struct tide_residence *residence = t->subject->residence;
  for (size_t i = 0; i < residence->n_arenas && residence->n_arenas > 1; i++) {
    const struct tide_residence_arena *arena = &residence->arenas[i];
    add_line(t, TIDE_RESIDENCE_LIST_ARENAS, (int64_t)(arena->in_use + arena->free + arena->top),
             true, arena_line(t, i));
  }
}

static char *file_line(const struct telling *t, const struct tide_residence_file *file)
{
  char copied[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  TIDE_CLEANUP_FREE char *mapper = tide_residence_file_mapper(t->subject, file);
  tide_buf_text(&text, file->path);
  if (file->copied)
    tide_buf_printf(&text, ", %s of it copied", size_words(copied, file->copied, t));
  if (mapper)
    tide_buf_printf(&text, ", mapped by %s", mapper);
  char *words = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return words;
}

static void tell_files(struct telling *t)
{
  const struct tide_residence *residence = t->subject->residence;
  uint64_t least = residence->sum / LEAST_SHARE;
  for (size_t i = 0; i < residence->n_files && residence->files[i].resident >= least; i++)
    add_line(t, TIDE_RESIDENCE_LIST_FILES, (int64_t)residence->files[i].resident, true,
             file_line(t, &residence->files[i]));
}

// ---- all of it ----

static char *title_of(const struct tide_residence_subject *subject, struct tide_style style)
{
  if (!subject->image)
    return tide_sprintf("where the memory of %s (pid %u) is", subject->name, subject->pid);
  TIDE_CLEANUP_FREE char *when =
      tide_residence_when_words(subject->image, subject->residence, style);
  return tide_sprintf("where the memory of %s (pid %u) was, %s", subject->name, subject->pid, when);
}

void tide_residence_told_make(const struct tide_residence_subject *subject, struct tide_style style,
                              struct tide_residence_told *ret_told)
{
  struct telling t = {subject, style, ret_told};
  struct tide_residence_places places;
  *ret_told = (struct tide_residence_told){.title = title_of(subject, style)};
  tell_rows(&t);
  tell_notes(&t);
  tide_residence_places_make(subject, &places);
  tell_places(&t, &places);
  tell_pins(&t, &places);
  tell_runs(&t);
  tell_sparse(&t, &places);
  tell_large(&t, TIDE_RESIDENCE_LIST_LARGE, &places);
  tide_residence_places_done(&places);
  tide_residence_places_ended(subject, &places);
  tell_large(&t, TIDE_RESIDENCE_LIST_ENDED, &places);
  tide_residence_places_done(&places);
  tell_arenas(&t);
  tell_files(&t);
}

void tide_residence_told_done(struct tide_residence_told *told)
{
  free(told->title);
  free(told->sum.words);
  free(told->absent.words);
  for (int i = 0; i < TIDE_RESIDENCE_NOTES; i++)
    free(told->notes[i]);
  for (int k = 0; k < TIDE_RESIDENCE_LISTS; k++) {
    for (size_t i = 0; i < told->lists[k].n; i++)
      free(told->lists[k].lines[i].words);
    free(told->lists[k].lines);
  }
  *told = (struct tide_residence_told){0};
}
