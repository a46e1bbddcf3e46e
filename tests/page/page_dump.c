// SPDX-License-Identifier: Apache-2.0
//
// page_dump FILE [PROCESS [KEEP [first]]] writes the page's data of a capture to standard output,
// as it is: for the tests of those who read it. KEEP stacks stand for themselves, the others are
// gathered; as they are in what is seen first.
#include "base/alloc.h"
#include "cli/hint_words.h"
#include "import/importers.h"
#include "model/image_sums.h"
#include "observe/store_read.h"
#include "page/page_data.h"
#include "profile/completeness.h"
#include "view/blame.h"

#include <stdio.h>
#include <stdlib.h>

static enum tide_err open_file(const char *path, struct tide_capture **ret_capture,
                               struct tide_diag *diag)
{
  if (tide_store_file_is(path))
    return tide_store_file_read(path, ret_capture, diag);
  return tide_import_file(path, ret_capture, diag);
}

static enum tide_err dump(struct tide_capture *capture, size_t image_idx,
                          const struct tide_page_options *options, struct tide_diag *diag)
{
  struct tide_profile *profile = tide_profile_new(capture, image_idx);
  static const struct tide_symbol_sources sources = {.hints = tide_cli_hint_words};
  struct tide_resolver *resolver = tide_resolver_new();
  tide_resolver_set_sources(resolver, &sources);
  struct tide_naming *naming = tide_naming_new(profile->image, resolver);
  tide_wrappers_fold(naming);
  struct tide_page_data *data = tide_page_data_new(profile, naming, options);
  struct tide_sink sink;
  tide_sink_init(&sink, stdout);
  tide_page_data_write(data, &sink);
  enum tide_err err = tide_sink_finish(&sink, "standard output", diag);
  tide_sink_done(&sink);
  tide_page_data_free(data);
  tide_naming_free(naming);
  tide_profile_free(profile);
  return err;
}

int main(int argc, char **argv)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  size_t image_idx = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: page_dump FILE [PROCESS [KEEP [first]]]\n");
    return 2;
  }
  struct tide_page_options options = {.file = argv[1], .n_keep = TIDE_PAGE_KEEP_ALL};
  if (argc > 3)
    options.n_keep = strtoul(argv[3], NULL, 10);
  options.is_first = argc > 4;
  enum tide_err err = open_file(argv[1], &capture, &diag);
  for (size_t i = 0; !err && i < capture->n_images; i++) { // as the command does when it opens one
    tide_image_settle_peak(&capture->images[i]);
    capture->images[i].file = tide_strdup(argv[1]);
  }
  if (!err)
    err = tide_profile_pick(capture, argc > 2 && *argv[2] ? argv[2] : NULL, &image_idx, &diag);
  if (!err)
    err = dump(capture, image_idx, &options, &diag);
  if (err)
    fprintf(stderr, "page_dump: %s\n", diag.text);
  tide_capture_free(capture);
  return err ? 1 : 0;
}
