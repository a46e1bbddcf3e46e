// SPDX-License-Identifier: Apache-2.0
//
// Reads with the same functions as the command, from memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/stored_names.h"
#include "tide/format.h"
#include "import_fixture.h"

#include <stdio.h>
#include <string.h>

struct tide_capture *import_text(const char *text)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  if (tide_import_bytes(text, strlen(text), "some.file", &capture, &diag))
    fail_msg("%s", diag.text);
  assert_int_equal(tide_capture_check(capture, &diag), TIDE_ERR_OK);
  return capture;
}

const char *import_refused(const char *text, size_t n)
{
  static struct tide_diag diag;
  struct tide_capture *capture = NULL;
  diag = (struct tide_diag){0};
  if (tide_import_bytes(text, n, "some.file", &capture, &diag) == TIDE_ERR_OK)
    fail_msg("read: %.200s", text);
  assert_null(capture);
  assert_non_null(strstr(diag.text, "some.file"));
  return diag.text;
}

size_t import_all_cuts(const char *text, size_t n)
{
  size_t n_read = 0;
  for (size_t cut = 0; cut < n; cut++) {
    struct tide_capture *capture = NULL;
    struct tide_diag diag = {0};
    if (tide_import_bytes(text, cut, "some.file", &capture, &diag)) {
      assert_non_null(strstr(diag.text, "some.file"));
      continue;
    }
    assert_int_equal(tide_capture_check(capture, &diag), TIDE_ERR_OK);
    n_read++;
    tide_capture_free(capture);
  }
  return n_read;
}

static void describe(const struct tide_image *image, uint32_t node, struct tide_buf *out)
{
  const struct tide_frame *frame = &image->frames[node];
  const struct tide_stored_frame *frames;
  size_t n = tide_stored_names_find(&image->names, frame->module, frame->pc, &frames);
  if (out->n)
    tide_buf_text(out, " < ");
  if (frame->flags & TIDE_FRAME_CUT)
    tide_buf_text(out, "(cut)");
  else if (frame->flags & TIDE_FRAME_LOST)
    tide_buf_text(out, "(lost)");
  else if (n == 0)
    tide_buf_printf(out, "%s+%#llx", image->modules[frame->module].path,
                    (unsigned long long)(frame->pc - image->modules[frame->module].bias));
  for (size_t i = 0; i < n; i++) {
    const char *function = tide_stored_text(&image->names, frames[i].function);
    const char *file = tide_stored_text(&image->names, frames[i].file);
    tide_buf_printf(out, "%s%s", i ? " << " : "", function ? function : "?");
    if (file)
      tide_buf_printf(out, " %s:%u", file, frames[i].line);
  }
}

const char *import_stack(const struct tide_image *image, uint32_t node)
{
  static char text[1024];
  struct tide_buf out = {0};
  for (; node; node = image->frames[node].parent)
    describe(image, node, &out);
  snprintf(text, sizeof text, "%s", tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

const struct tide_site *import_site(const struct tide_image *image, const char *stack)
{
  for (size_t i = 0; i < image->n_sites; i++)
    if (strcmp(import_stack(image, image->sites[i].stack), stack) == 0)
      return &image->sites[i];
  for (size_t i = 0; i < image->n_sites; i++)
    print_message("there is: %s\n", import_stack(image, image->sites[i].stack));
  return NULL;
}
