// SPDX-License-Identifier: Apache-2.0
//
// One screen: the table, what it means, and who.
#include "report/residence.h"

#include "base/alloc.h"
#include "words/residence_words.h"

#include <string.h>

enum { BYTES_COLUMNS = 11, SHARE_COLUMNS = 8, LABEL_COLUMNS = 9 };

static void put_line(const struct tide_screen *screen, const struct tide_residence_line *line,
                     uint64_t whole)
{
  char size[TIDE_UNITS_MAX], share[TIDE_UNITS_MAX] = "";
  tide_units_bytes(size, tide_exact(line->bytes), tide_screen_cells(screen));
  tide_screen_right(screen, TIDE_INK_PLAIN, size, BYTES_COLUMNS);
  if (line->has_share)
    tide_units_share(share, tide_exact(line->bytes), (int64_t)whole, tide_screen_cells(screen));
  tide_screen_right(screen, TIDE_INK_FAINT, share, SHARE_COLUMNS);
  tide_sink_text(screen->sink, "  ");
  tide_screen_wrap(screen, BYTES_COLUMNS + SHARE_COLUMNS + 2, line->words);
}

static void put_list(const struct tide_screen *screen, const struct tide_residence_list *list,
                     const char *title, uint64_t whole)
{
  if (list->n && title)
    tide_sink_printf(screen->sink, "\n  %s\n", title);
  for (size_t i = 0; i < list->n; i++)
    put_line(screen, &list->lines[i], whole);
  if (list->n_left)
    tide_sink_printf(screen->sink, "  and %zu more\n", list->n_left);
}

static void put_note(const struct tide_screen *screen, const char *name, const char *words)
{
  char label[LABEL_COLUMNS + 1];
  snprintf(label, sizeof label, "%s:%*s", name, LABEL_COLUMNS - (int)strlen(name) - 1, "");
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", label, words);
}

// The program's own, at every moment that is known.
static void put_over_time(const struct tide_screen *screen, const struct tide_image *image)
{
  struct tide_style style = tide_screen_style(screen);
  if (image->n_residences < 2)
    return;
  tide_sink_text(screen->sink, "\n  in memory over time, without tidemark's own\n");
  for (size_t i = 0; i < image->n_residences; i++) {
    const struct tide_residence *table = &image->residences[i];
    uint64_t own = table->sum - table->rows[TIDE_RESIDENCE_RECORDER];
    TIDE_CLEANUP_FREE char *when = tide_residence_when_words(image, table, style);
    TIDE_CLEANUP_FREE char *words = tide_residence_bands_words(image, table, style);
    TIDE_CLEANUP_FREE char *text = tide_sprintf("%s: %s", when, words);
    struct tide_residence_line line = {(int64_t)own, true, text};
    put_line(screen, &line, table->sum);
  }
}

void tide_residence_write(const struct tide_screen *screen,
                          const struct tide_residence_subject *subject)
{
  struct tide_residence_told told;
  uint64_t sum = subject->residence->sum;
  tide_residence_told_make(subject, tide_screen_style(screen), &told);
  tide_screen_paragraph(screen, TIDE_INK_STRONG, "", "", told.title);
  tide_sink_text(screen->sink, "\n");
  put_list(screen, &told.lists[TIDE_RESIDENCE_LIST_ROWS], NULL, sum);
  put_line(screen, &told.sum, sum);
  if (told.absent.words)
    put_line(screen, &told.absent, sum);
  tide_sink_text(screen->sink, "\n");
  for (int i = 0; i < TIDE_RESIDENCE_NOTES; i++)
    if (told.notes[i])
      put_note(screen, tide_residence_note_label((enum tide_residence_note)i), told.notes[i]);
  for (int i = TIDE_RESIDENCE_LIST_ROWS + 1; i < TIDE_RESIDENCE_LISTS; i++) {
    put_list(screen, &told.lists[i], tide_residence_list_title((enum tide_residence_list_kind)i),
             sum);
    if (i == TIDE_RESIDENCE_LIST_PINS)
      tide_residence_map_write(screen, subject->residence);
  }
  if (subject->image)
    put_over_time(screen, subject->image);
  tide_residence_told_done(&told);
}
