// SPDX-License-Identifier: Apache-2.0
//
// tidemark html: the page and its data in one file.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "page/html_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDES_MAX = 2, LIMIT_DEFAULT_BYTES = 15 << 20 };
// Other processes that a file has at most: nobody looks at more, and each takes its time.
enum { OTHERS_MAX = 32 };

struct sides {
  struct tide_looking items[SIDES_MAX];
  size_t n;
};

static enum tide_err open_sides(const struct tide_arguments *arguments, struct sides *sides,
                                struct tide_diag *diag)
{
  size_t n = arguments->n_rest ? arguments->n_rest : 1;
  enum tide_err err = TIDE_ERR_OK;
  for (size_t i = 0; i < n && !err; i++) {
    err = tide_looking_open(arguments, arguments->rest[i], NULL, &sides->items[i], diag);
    sides->n += !err;
  }
  return err;
}

static void sides_done(struct sides *sides)
{
  for (size_t i = 0; i < sides->n; i++)
    tide_looking_done(&sides->items[i]);
}

// The name of a capture without its directory and what says that it is one; owned.
static char *stem_of(const char *path)
{
  static const char *const endings[] = {".tide", ".store"};
  const char *slash = strrchr(path, '/');
  const char *base = slash && slash[1] ? slash + 1 : path;
  size_t n = strlen(base);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t n_ending = strlen(endings[i]);
    if (n > n_ending && strcmp(base + n - n_ending, endings[i]) == 0)
      return tide_strndup(base, n - n_ending);
  }
  return tide_strdup(base);
}

// In the current directory, as a run's capture is; owned.
static char *default_name(const struct sides *sides)
{
  TIDE_CLEANUP_FREE char *first = stem_of(sides->items[0].opened.path);
  if (sides->n == 1)
    return tide_sprintf("%s.html", first);
  TIDE_CLEANUP_FREE char *second = stem_of(sides->items[1].opened.path);
  return tide_sprintf("%s-%s.html", first, second);
}

static char *words_of_sources(bool wanted, uint64_t n_files)
{
  char files[TIDE_UNITS_MAX];
  if (!wanted)
    return tide_strdup("");
  if (!n_files)
    return tide_strdup("; no source file could be put into it: the Source pane says why");
  return tide_sprintf(", with source lines of %s file%s", tide_units_digits(files, n_files),
                      n_files == 1 ? "" : "s");
}

static char *words_of_others(const struct sides *sides, size_t n_others)
{
  size_t n = sides->items[0].opened.capture->n_images - 1;
  if (!n_others)
    return tide_strdup("");
  return n_others == n ? tide_sprintf(", with all %zu processes", n + 1)
                       : tide_sprintf(", with %zu of %zu processes", n_others + 1, n + 1);
}

static void say_written(const struct sides *sides, const char *name, uint64_t limit_bytes,
                        bool with_sources, const struct tide_html_told *told)
{
  char size[TIDE_UNITS_MAX], gathered[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX], limit[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *sources = words_of_sources(with_sources, told->n_source_files);
  TIDE_CLEANUP_FREE char *others = words_of_others(sides, told->n_others);
  tide_units_bytes(size, tide_exact((int64_t)told->n_bytes), TIDE_STYLE_PLAIN);
  if (!told->n_gathered) {
    tide_say("wrote %s, %s%s%s", name, size, others, sources);
    return;
  }
  tide_say("wrote %s, %s%s%s; %s of %s stacks gathered to stay within %s; "
           "'tidemark view %s%s%s' shows all",
           name, size, others, sources, tide_units_digits(gathered, told->n_gathered),
           tide_units_digits(all, told->n_stacks),
           tide_units_bytes(limit, tide_exact((int64_t)limit_bytes), TIDE_STYLE_PLAIN),
           sides->items[0].opened.path, sides->n > 1 ? " " : "",
           sides->n > 1 ? sides->items[1].opened.path : "");
}

// ---- other processes of the only capture ----

struct other_processes {
  const struct tide_arguments *arguments;
  const struct tide_rules *rules;
  struct tide_resolver *resolver;
  size_t *images;
  size_t n;
};

static struct tide_naming *name_other(void *context, const struct tide_image *image)
{
  const struct other_processes *others = context;
  return tide_naming_open_with(others->arguments, image, others->rules, others->resolver);
}

static int higher_peak_first(const void *a, const void *b, void *context)
{
  const struct tide_image *images = context;
  size_t i = *(const size_t *)a, k = *(const size_t *)b;
  if (images[i].peak_bytes != images[k].peak_bytes)
    return images[i].peak_bytes > images[k].peak_bytes ? -1 : 1;
  return (i > k) - (i < k);
}

// Those with the highest peaks besides the one that is shown first.
static struct other_processes find_others(const struct tide_arguments *arguments,
                                          const struct sides *sides)
{
  const struct tide_looking *looking = &sides->items[0];
  const struct tide_capture *capture = looking->opened.capture;
  struct other_processes others = {.arguments = arguments, .rules = looking->rules};
  if (sides->n > 1 || capture->n_images < 2 || arguments->process)
    return others;
  others.images = tide_alloc_array(capture->n_images, sizeof *others.images);
  for (size_t i = 0; i < capture->n_images; i++)
    if (i != looking->profile->image_idx)
      others.images[others.n++] = i;
  qsort_r(others.images, others.n, sizeof *others.images, higher_peak_first, capture->images);
  others.n = others.n < OTHERS_MAX ? others.n : OTHERS_MAX;
  others.resolver = tide_resolver_open(arguments);
  return others;
}

static void others_done(struct other_processes *others)
{
  tide_resolver_free(others->resolver);
  free(others->images);
}

static enum tide_err write_html(const struct tide_arguments *arguments, const char *name,
                                struct sides *sides, struct other_processes *others,
                                struct tide_diag *diag)
{
  struct tide_html_side html_sides[SIDES_MAX];
  struct tide_html_told told = {0};
  struct tide_output output;
  for (size_t i = 0; i < sides->n; i++)
    html_sides[i] = (struct tide_html_side){sides->items[i].profile, sides->items[i].naming,
                                            sides->items[i].opened.path};
  const struct tide_html_report report = {
      .others = {others->images, others->n, name_other, others},
      .page = tide_embedded_page(),
      .sides = html_sides,
      .n_sides = sides->n,
      .limit_bytes = arguments->max_bytes ? arguments->max_bytes : LIMIT_DEFAULT_BYTES,
      .sources = arguments->sources,
  };
  enum tide_err err = TIDE_ERR_OK;
  for (size_t i = 0; i < sides->n && !err; i++)
    err = tide_output_check_apart(name, sides->items[i].opened.path, diag);
  if (!err)
    err = tide_output_open(name, arguments->force, &output, diag);
  if (err)
    return err;
  err = tide_html_report_write(&report, &output.sink, &told, diag);
  tide_progress_stop();
  err = tide_output_close(&output, err, diag);
  if (!err)
    say_written(sides, output.path ? output.path : "to standard output", report.limit_bytes,
                report.sources, &told);
  return err;
}

static enum tide_err check_html_arguments(const struct tide_arguments *arguments,
                                          struct tide_diag *diag)
{
  enum tide_err err = tide_embedded_page_check(tide_embedded_page(), diag);
  if (err)
    return err;
  if (arguments->n_rest > SIDES_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "two files at a time: \"%s\" is one too many",
                     arguments->rest[SIDES_MAX]);
  // Said before the names are looked up, which may take a while.
  const char *output = arguments->output;
  if (output && strcmp(output, "-") != 0 && !arguments->force && access(output, F_OK) == 0)
    return tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it", output);
  return TIDE_ERR_OK;
}

int tide_cmd_html(const struct tide_arguments *arguments)
{
  struct sides sides = {0};
  struct tide_diag diag = {0};
  enum tide_err err = check_html_arguments(arguments, &diag);
  if (!err)
    err = open_sides(arguments, &sides, &diag);
  if (!err) {
    TIDE_CLEANUP_FREE char *own_name = default_name(&sides);
    struct other_processes others = find_others(arguments, &sides);
    err = write_html(arguments, arguments->output ? arguments->output : own_name, &sides, &others,
                     &diag);
    others_done(&others);
  }
  sides_done(&sides);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
