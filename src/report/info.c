// SPDX-License-Identifier: Apache-2.0
//
// The facts as text: the capture in three lines, then each image, then its modules.
#include "report/info.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/capture.h"
#include "model/stored_names.h"
#include "profile/profile.h"
#include "words/completeness_text.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- modules ----
//
// Recorded objects against the files of today.

const char *tide_module_state(struct tide_symboliser *symboliser, const struct tide_module *module,
                              const char **ret_note)
{
  uint32_t id =
      tide_symboliser_add(symboliser, module->path, module->build_id, module->build_id_len);
  const struct tide_symbol_object *object = tide_symboliser_object(symboliser, id);
  *ret_note = object ? object->note : "";
  if (object && object->opened)
    return object->has_debug_info ? "lines" : "names";
  if (module->path[0] == '[')
    return "kernel";
  return access(module->path, F_OK) == 0 ? "changed" : "gone";
}

void tide_module_build_id(const struct tide_module *module, char out[65])
{
  uint32_t n = module->build_id_len < 32 ? module->build_id_len : 32;
  out[0] = 0;
  for (uint32_t i = 0; i < n; i++)
    snprintf(out + 2 * i, 3, "%02x", module->build_id[i]);
}

// ---- the text ----

static void write_line(const struct tide_screen *screen, const char *indent, const char *label,
                       const char *text)
{
  TIDE_CLEANUP_FREE char *padded = tide_sprintf("%-11s", label);
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, indent, padded, text);
}

static void write_rows(const struct tide_screen *screen, const char *indent,
                       struct tide_info_rows *own_rows)
{
  for (size_t i = 0; i < own_rows->n; i++)
    write_line(screen, indent, own_rows->items[i].label, own_rows->items[i].text);
  tide_info_rows_done(own_rows);
}

static void write_capture(const struct tide_screen *screen, const struct tide_capture *capture,
                          const char *file, uint64_t file_bytes)
{
  char size[TIDE_UNITS_MAX];
  size_t n = capture->n_images;
  TIDE_CLEANUP_FREE char *name = tide_utf8_clean(file, screen->utf8);
  TIDE_CLEANUP_FREE char *facts = tide_sprintf(
      "(%s): %zu %s%s",
      tide_units_bytes(size, tide_exact((int64_t)file_bytes), tide_screen_style(screen)), n,
      n == 1 ? "process image" : "process images",
      capture->cut        ? ", file damaged"
      : capture->taken    ? ", a dump"
      : capture->finished ? ""
                          : ", not ended properly");
  bool fits = tide_utf8_width(name) + 1 + tide_utf8_width(facts) <= screen->width;
  tide_screen_ink(screen, TIDE_INK_STRONG, name);
  tide_sink_text(screen->sink, fits ? " " : "\n  ");
  tide_screen_wrap(screen, fits ? tide_utf8_width(name) + 1 : 2, facts);
  struct tide_info_rows rows = {.style = tide_screen_style(screen)};
  tide_info_add_capture(&rows, capture);
  write_rows(screen, "  ", &rows);
  if (capture->cut)
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ",
                          "note: ", capture->cut_note ? capture->cut_note : "the file is damaged");
  if (capture->n_images_left_out) {
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("%" PRIu32 " smaller process images %s", capture->n_images_left_out,
                     tide_capture_left_out_words(capture));
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "note: ", text);
  }
}

static void write_roll(const struct tide_screen *screen, const struct tide_roll *roll)
{
  if (!roll->is_known)
    return;
  TIDE_CLEANUP_FREE char *count = tide_roll_count(roll);
  write_line(screen, "  ", "run", count);
  for (size_t i = 0; i < roll->n_rows; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, tide_screen_style(screen));
    TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, tide_screen_style(screen));
    TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(row->why, row->detail);
    TIDE_CLEANUP_FREE char *pid =
        row->pid ? tide_sprintf(" (%" PRIu32 ")", row->pid) : tide_strdup("");
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("%s%s %s%s%s", name, pid, reason, way_out ? "; " : "", way_out ? way_out : "");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "not recorded: ", text);
    if (*row->exe)
      write_line(screen, "      ", "program", row->exe);
    if (*row->parent)
      write_line(screen, "      ", "started by", row->parent);
  }
  if (roll->n_refused) {
    TIDE_CLEANUP_FREE char *text = tide_sprintf(
        "%" PRIu64 " other %s knocked and %s refused: not known to be of this run", roll->n_refused,
        roll->n_refused == 1 ? "process" : "processes", roll->n_refused == 1 ? "was" : "were");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "note: ", text);
  }
}

static const char *module_words(const char *state)
{
  if (strcmp(state, "lines") == 0)
    return "names and lines";
  return strcmp(state, "names") == 0 ? "names, no lines" : state;
}

enum { MODULE_HANG = 17, MODULE_FACTS = 2 + 12 + 2 + 15, PATH_LEAST = 20 }; // columns

// On a narrow screen the build id and the state stand below the path.
static void write_module(const struct tide_screen *screen, const char *label, const char *path,
                         const char *id, enum tide_ink ink, const char *state)
{
  bool beside = screen->width >= MODULE_HANG + PATH_LEAST + MODULE_FACTS;
  size_t room = screen->width - MODULE_HANG - (beside ? MODULE_FACTS : 0);
  TIDE_CLEANUP_FREE char *shown = tide_utf8_fit(path, room, screen->utf8);
  tide_sink_printf(screen->sink, "      %-11s", label);
  tide_screen_left(screen, TIDE_INK_PLAIN, shown, beside ? room : 0);
  if (beside) {
    tide_sink_printf(screen->sink, "  %-12.12s  ", id);
    tide_screen_ink(screen, ink, state);
    tide_sink_text(screen->sink, "\n");
    return;
  }
  TIDE_CLEANUP_FREE char *facts = tide_sprintf("%.12s %s", id, state);
  tide_sink_text(screen->sink, "\n");
  tide_sink_repeat(screen->sink, ' ', MODULE_HANG);
  tide_screen_wrap(screen, MODULE_HANG, facts);
}

// A path, the start of its build id, and what of it could be read today.
static void write_modules(const struct tide_screen *screen, const struct tide_image *image,
                          struct tide_symboliser *symboliser)
{
  for (size_t i = 1; i < image->n_modules; i++) {
    const struct tide_module *module = &image->modules[i];
    char id[65];
    const char *note, *state = tide_module_state(symboliser, module, &note);
    tide_module_build_id(module, id);
    bool lost = strcmp(state, "changed") == 0 || strcmp(state, "gone") == 0;
    bool stored = lost && tide_stored_names_has_module(&image->names, (uint32_t)i);
    write_module(screen, i == 1 ? "modules" : "", module->path, *id ? id : "no build id",
                 lost && !stored ? TIDE_INK_WARN : TIDE_INK_FAINT,
                 stored ? "names stored" : module_words(state));
  }
}

void tide_info_write(const struct tide_screen *screen, const struct tide_capture *capture,
                     const char *file, uint64_t file_bytes,
                     const struct tide_symbol_sources *sources)
{
  struct tide_symboliser *symboliser = tide_symboliser_new();
  tide_symboliser_set_sources(symboliser, sources);
  write_capture(screen, capture, file, file_bytes);
  write_roll(screen, &capture->roll);
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    struct tide_profile *profile = tide_profile_new(capture, i);
    TIDE_CLEANUP_FREE char *command = tide_image_command(image);
    TIDE_CLEANUP_FREE char *label = tide_image_is_merged(image)
                                        ? tide_sprintf("#%zu merged ", i)
                                        : tide_sprintf("#%zu %" PRIu32 " ", i, image->pid);
    tide_screen_paragraph(screen, TIDE_INK_STRONG, "  ", label, command);
    struct tide_info_rows rows = {.style = tide_screen_style(screen)};
    tide_info_add_image(&rows, profile);
    write_rows(screen, "      ", &rows);
    write_modules(screen, image, symboliser);
    tide_profile_free(profile);
  }
  tide_symboliser_free(symboliser);
}
