// SPDX-License-Identifier: Apache-2.0
//
// tidemark info: the facts of a capture.
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "report/info.h"

int tide_cmd_info(const struct tide_arguments *arguments)
{
  struct tide_opened opened = {0};
  struct tide_diag diag = {0};
  enum tide_err err = tide_looking_capture(arguments, &opened, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  struct tide_sink sink;
  struct tide_symbol_sources sources = tide_sources_of(arguments);
  if (arguments->json) {
    tide_sink_init(&sink, stdout);
    tide_info_json_write(&sink, opened.capture, opened.path, opened.file_bytes, &sources);
  } else {
    tide_pager_begin(&sink, arguments);
    struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
    tide_info_write(&screen, opened.capture, opened.path, opened.file_bytes, &sources);
  }
  err = tide_pager_finish(&sink, "the facts", &diag);
  tide_opened_done(&opened);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
