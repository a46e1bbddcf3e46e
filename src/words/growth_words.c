// SPDX-License-Identifier: Apache-2.0
//
// Times are those of looks: that something was there "by" then is all that is known.
#include "words/growth_words.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/image_sums.h"

enum { LOOKS_LEAST = 4 }; // fewer say nothing

struct saying {
  const struct tide_image *image;
  struct tide_style style;
};

static const char *bytes_words(const struct saying *s, char out[TIDE_UNITS_MAX], int64_t bytes)
{
  return tide_units_bytes(out, tide_image_bytes(s->image, TIDE_FIGURE_LIVE, bytes), s->style);
}

static const char *when_words(const struct saying *s, char out[TIDE_UNITS_MAX],
                              const struct tide_growth_step *step)
{
  uint64_t start = s->image->start_ns;
  return tide_units_time(out, step->time_ns > start ? step->time_ns - start : 0, s->style.utf8);
}

static void say_steps(const struct saying *s, const struct tide_growth *growth,
                      struct tide_buf *text)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX], c[TIDE_UNITS_MAX], d[TIDE_UNITS_MAX];
  tide_buf_printf(text, "from %s at %s to %s at %s", bytes_words(s, a, growth->first->held),
                  when_words(s, b, growth->first), bytes_words(s, c, growth->last->held),
                  when_words(s, d, growth->last));
  tide_buf_printf(text, " in %s steps", tide_units_plain(a, growth->n_rises));
  if (growth->is_by_shares)
    tide_buf_text(text, ", each by half of it or more");
  else if (growth->each_bytes)
    tide_buf_printf(text, ", asked for by %s",
                    bytes_words(s, a, (int64_t)(growth->each_bytes & INT64_MAX)));
  else
    tide_buf_printf(text, ", the largest %s by %s", bytes_words(s, a, growth->largest->rose),
                    when_words(s, b, growth->largest));
}

char *tide_growth_words(const struct tide_growth *growth, const struct tide_image *image,
                        struct tide_style style)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  struct saying s = {image, style};
  struct tide_buf text = {0};
  if (!growth->n_rises || image->n_snapshots < LOOKS_LEAST || image->lacks & TIDE_LACK_CLOCK)
    return NULL;
  if (growth->n_rises > 1)
    say_steps(&s, growth, &text);
  else
    tide_buf_printf(&text, "to %s by %s, in one step", bytes_words(&s, a, growth->first->held),
                    when_words(&s, b, growth->first));
  if (growth->n_falls)
    tide_buf_printf(&text, "; it fell %s %s", tide_units_plain(a, growth->n_falls),
                    tide_units_plural(growth->n_falls, "time", "times"));
  char *words = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return words;
}
