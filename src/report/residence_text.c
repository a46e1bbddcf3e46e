// SPDX-License-Identifier: Apache-2.0
//
// One screen: the table, what it means, and who.
#include "report/residence.h"

#include "base/alloc.h"
#include "words/residence_words.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_COLUMNS = 11, SHARE_COLUMNS = 8 };
enum { LEAST_SHARE = 200 }; // of the sum: a smaller row of a list is not worth a line

static void put_bytes(const struct tide_screen *screen, uint64_t n)
{
  char text[TIDE_UNITS_MAX];
  tide_units_bytes(text, tide_exact((int64_t)n), tide_screen_cells(screen));
  tide_screen_right(screen, TIDE_INK_PLAIN, text, BYTES_COLUMNS);
}

static void put_row(const struct tide_screen *screen, uint64_t n, uint64_t whole, const char *words)
{
  char share[TIDE_UNITS_MAX];
  tide_units_share(share, tide_exact((int64_t)n), (int64_t)whole, tide_screen_cells(screen));
  put_bytes(screen, n);
  tide_screen_right(screen, TIDE_INK_FAINT, share, SHARE_COLUMNS);
  tide_sink_text(screen->sink, "  ");
  tide_screen_wrap(screen, BYTES_COLUMNS + SHARE_COLUMNS + 2, words);
}

// Takes the words over; nothing for NULL.
static void put_sentence(const struct tide_screen *screen, const char *label, char *own_words)
{
  if (own_words)
    tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", label, own_words);
  free(own_words);
}

static void write_table(const struct tide_screen *screen, const struct tide_residence *residence)
{
  for (int i = 0; i < TIDE_RESIDENCE_KINDS; i++)
    if (residence->rows[i])
      put_row(screen, residence->rows[i], residence->sum,
              tide_residence_words((enum tide_residence_kind)i));
  TIDE_CLEANUP_FREE char *words = tide_residence_sum_words(residence, tide_screen_style(screen));
  TIDE_CLEANUP_FREE char *all = tide_sprintf("in all: %s", words);
  put_row(screen, residence->sum, residence->sum, all);
}

static void write_sentences(const struct tide_screen *screen,
                            const struct tide_residence_subject *subject)
{
  struct tide_style style = tide_screen_style(screen);
  const struct tide_residence *residence = subject->residence;
  uint64_t own = residence->sum - residence->rows[TIDE_RESIDENCE_RECORDER];
  tide_sink_text(screen->sink, "\n");
  put_sentence(screen, "free:    ", tide_residence_free_words(residence, style));
  put_sentence(screen, "absent:  ", tide_residence_untouched_words(residence, style));
  put_sentence(screen, "beside:  ", tide_residence_beside_words(residence, style));
  if (subject->image)
    put_sentence(screen, "missed:  ", tide_residence_missed_words(subject->image, own, style));
  put_sentence(screen, "limits:  ", tide_residence_limit_words(residence, style));
}

static void write_places(const struct tide_screen *screen,
                         const struct tide_residence_subject *subject,
                         const struct tide_residence_places *places)
{
  uint64_t sum = subject->residence->sum;
  for (size_t i = 0; i < places->n && i < subject->n_rows; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char asked[TIDE_UNITS_MAX];
    if (place->resident < sum / LEAST_SHARE)
      break;
    if (i == 0)
      tide_sink_text(screen->sink, "\n  who has it, in memory\n");
    TIDE_CLEANUP_FREE char *words = tide_sprintf(
        "%s%s, of %s %s", place->words, place->is_mapped ? " (mapped)" : "",
        tide_units_bytes(asked, tide_exact((int64_t)place->asked), tide_screen_style(screen)),
        place->is_mapped ? "mapped" : "asked for");
    put_row(screen, place->resident, sum, words);
  }
}

static int untouched_order(const void *a, const void *b)
{
  const struct tide_residence_place *x = a, *y = b;
  uint64_t p = x->large_asked - x->large_resident, q = y->large_asked - y->large_resident;
  return p > q ? -1 : p < q;
}

// Blocks of 64 KiB and more, in the mean. Sorts the places anew.
static void write_large(const struct tide_screen *screen,
                        const struct tide_residence_subject *subject,
                        struct tide_residence_places *places)
{
  struct tide_style style = tide_screen_style(screen);
  uint64_t sum = subject->residence->sum;
  bool any = false;
  if (places->n)
    qsort(places->items, places->n, sizeof *places->items, untouched_order);
  for (size_t i = 0; i < places->n && i < subject->n_rows; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char n[TIDE_UNITS_MAX], asked[TIDE_UNITS_MAX], touched[TIDE_UNITS_MAX];
    uint64_t missing = place->large_asked - place->large_resident;
    if (place->is_mapped || missing < sum / LEAST_SHARE || missing < place->large_asked / 4)
      continue;
    if (!any)
      tide_sink_text(screen->sink, "\n  large blocks, not in memory\n");
    any = true;
    tide_units_plain(n, place->n_large);
    tide_units_bytes(asked, tide_exact((int64_t)(place->large_asked / place->n_large)), style);
    tide_units_bytes(touched, tide_exact((int64_t)(place->large_resident / place->n_large)), style);
    TIDE_CLEANUP_FREE char *words = tide_sprintf("%s: %s %s, asked %s%s, touched %s", place->words,
                                                 n, place->n_large == 1 ? "block" : "blocks", asked,
                                                 place->n_large == 1 ? "" : " each", touched);
    put_bytes(screen, missing);
    tide_sink_text(screen->sink, "  ");
    tide_screen_wrap(screen, BYTES_COLUMNS + 2, words);
  }
}

static int pin_order(const void *a, const void *b)
{
  const struct tide_residence_place *x = a, *y = b;
  return x->pinned > y->pinned ? -1 : x->pinned < y->pinned;
}

// Sorts the places anew.
static void write_pins(const struct tide_screen *screen,
                       const struct tide_residence_subject *subject,
                       struct tide_residence_places *places)
{
  uint64_t sum = subject->residence->sum;
  if (places->n)
    qsort(places->items, places->n, sizeof *places->items, pin_order);
  for (size_t i = 0; i < places->n && i < subject->n_rows; i++) {
    const struct tide_residence_place *place = &places->items[i];
    char pages[TIDE_UNITS_MAX];
    if (place->pinned < sum / LEAST_SHARE)
      break;
    if (i == 0)
      tide_sink_text(screen->sink, "\n  whose blocks alone keep free memory\n");
    TIDE_CLEANUP_FREE char *words =
        tide_sprintf("%s, on %s pages", place->words, tide_units_plain(pages, place->n_pinned));
    put_row(screen, place->pinned, sum, words);
  }
}

static void write_arenas(const struct tide_screen *screen,
                         const struct tide_residence_subject *subject)
{
  const struct tide_residence *residence = subject->residence;
  if (residence->n_arenas < 2)
    return;
  tide_sink_text(screen->sink, "\n  arenas of malloc, in memory\n");
  for (size_t i = 0; i < residence->n_arenas && i < subject->n_rows; i++) {
    const struct tide_residence_arena *arena = &residence->arenas[i];
    char free_bytes[TIDE_UNITS_MAX], trim[TIDE_UNITS_MAX];
    struct tide_style style = tide_screen_style(screen);
    TIDE_CLEANUP_FREE char *name = tide_residence_arena_words(residence, i);
    tide_units_bytes(free_bytes, tide_exact((int64_t)(arena->free + arena->top)), style);
    tide_units_bytes(trim, tide_exact((int64_t)(arena->trim + arena->trim_top)), style);
    TIDE_CLEANUP_FREE char *words =
        tide_sprintf("%s: %s free (a trim gives back %s)", name, free_bytes, trim);
    put_row(screen, arena->in_use + arena->free + arena->top, residence->sum, words);
  }
  if (residence->n_arenas > subject->n_rows)
    tide_sink_printf(screen->sink, "  and %zu more\n", residence->n_arenas - subject->n_rows);
}

static void write_file(const struct tide_screen *screen,
                       const struct tide_residence_subject *subject,
                       const struct tide_residence_file *file)
{
  char copied[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  TIDE_CLEANUP_FREE char *mapper = tide_residence_file_mapper(subject, file);
  tide_buf_text(&text, file->path);
  if (file->copied)
    tide_buf_printf(
        &text, ", %s of it copied",
        tide_units_bytes(copied, tide_exact((int64_t)file->copied), tide_screen_style(screen)));
  if (mapper)
    tide_buf_printf(&text, ", mapped by %s", mapper);
  put_row(screen, file->resident, subject->residence->sum, tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void write_files(const struct tide_screen *screen,
                        const struct tide_residence_subject *subject)
{
  const struct tide_residence *residence = subject->residence;
  for (size_t i = 0; i < residence->n_files && i < subject->n_rows; i++) {
    const struct tide_residence_file *file = &residence->files[i];
    if (file->resident < residence->sum / LEAST_SHARE)
      break;
    if (i == 0)
      tide_sink_text(screen->sink, "\n  files, shared memory and memory with a name\n");
    write_file(screen, subject, file);
  }
}

static uint64_t since_start(const struct tide_image *image, uint64_t time_ns)
{
  return time_ns > image->start_ns ? time_ns - image->start_ns : 0;
}

static char *title_of(const struct tide_residence_subject *subject,
                      const struct tide_screen *screen)
{
  char time[TIDE_UNITS_MAX];
  if (!subject->image)
    return tide_sprintf("where the memory of %s (pid %u) is", subject->name, subject->pid);
  tide_units_time(time, since_start(subject->image, subject->residence->time_ns), screen->utf8);
  return tide_sprintf("where the memory of %s (pid %u) was, at %s", subject->name, subject->pid,
                      time);
}

// The program's own, at every moment that is known.
static void write_over_time(const struct tide_screen *screen,
                            const struct tide_residence_subject *subject)
{
  const struct tide_image *image = subject->image;
  struct tide_style style = tide_screen_style(screen);
  if (image->n_residences < 2)
    return;
  tide_sink_text(screen->sink, "\n  in memory over time, without tidemark's own\n");
  for (size_t i = 0; i < image->n_residences; i++) {
    const struct tide_residence *table = &image->residences[i];
    char time[TIDE_UNITS_MAX];
    uint64_t parts[TIDE_RESIDENT_PARTS];
    tide_residence_parts(table, parts);
    tide_units_time(time, since_start(image, table->time_ns), screen->utf8);
    TIDE_CLEANUP_FREE char *words = tide_residence_parts_words(table, style);
    TIDE_CLEANUP_FREE char *line = tide_sprintf("at %s: %s", time, words);
    put_row(screen, table->sum - parts[TIDE_RESIDENT_RECORDER], table->sum, line);
  }
}

void tide_residence_write(const struct tide_screen *screen,
                          const struct tide_residence_subject *subject)
{
  struct tide_residence_places places;
  TIDE_CLEANUP_FREE char *title = title_of(subject, screen);
  tide_screen_paragraph(screen, TIDE_INK_STRONG, "", "", title);
  tide_sink_text(screen->sink, "\n");
  write_table(screen, subject->residence);
  write_sentences(screen, subject);
  tide_residence_places_make(subject, &places);
  write_places(screen, subject, &places);
  write_pins(screen, subject, &places);
  write_large(screen, subject, &places);
  write_arenas(screen, subject);
  write_files(screen, subject);
  if (subject->image)
    write_over_time(screen, subject);
  tide_residence_places_done(&places);
}
