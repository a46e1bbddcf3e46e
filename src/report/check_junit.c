// SPDX-License-Identifier: Apache-2.0
//
// JUnit's XML as GitLab, Jenkins and others read it: a suite per capture, a test case per budget. A
// broken budget is a failure, one that cannot be told an error. XML 1.0 has no place for most
// control characters, nor for U+FFFE and U+FFFF, escaped or not: they become '?'.
#include "report/check.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "words/check_words.h"

#include <string.h>

static bool is_no_character(const char *c)
{
  return strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0;
}

static void write_xml(struct tide_sink *sink, const char *text)
{
  struct tide_buf scratch = {0};
  for (const char *c = tide_utf8_mend(text, &scratch); *c; c++) {
    switch (*c) {
    case '&': tide_sink_text(sink, "&amp;"); break;
    case '<': tide_sink_text(sink, "&lt;"); break;
    case '>': tide_sink_text(sink, "&gt;"); break;
    case '"': tide_sink_text(sink, "&quot;"); break;
    case '\n': tide_sink_text(sink, "&#10;"); break;
    default:
      if (is_no_character(c)) {
        tide_sink_text(sink, "?");
        c += 2;
      } else {
        tide_sink_bytes(sink, (unsigned char)*c < 0x20 || *c == 0x7f ? "?" : c, 1);
      }
    }
  }
  tide_buf_done(&scratch);
}

static void put_attribute(struct tide_sink *sink, const char *name, const char *value)
{
  tide_sink_printf(sink, " %s=\"", name);
  write_xml(sink, value);
  tide_sink_text(sink, "\"");
}

static void write_case(struct tide_sink *sink, const struct tide_check_report *report,
                       const struct tide_judged *judged)
{
  const struct tide_style style = {.utf8 = true};
  uint32_t line;
  const char *path = tide_check_spot(report, judged, &line);
  TIDE_CLEANUP_FREE char *name = tide_budget_words(judged->budget);
  TIDE_CLEANUP_FREE char *sentence = tide_judged_sentence(judged, style);
  TIDE_CLEANUP_FREE char *message = tide_check_message(judged);
  tide_sink_text(sink, "    <testcase");
  put_attribute(sink, "name", name);
  put_attribute(sink, "classname",
                tide_judged_has_name(judged) ? judged->program
                                             : report->files[judged->file_idx].path);
  if (path)
    put_attribute(sink, "file", path);
  if (path && line)
    tide_sink_printf(sink, " line=\"%u\"", line);
  if (judged->ruling == TIDE_RULING_KEPT) {
    tide_sink_text(sink, ">\n      <system-out>");
    write_xml(sink, sentence);
    tide_sink_text(sink, "</system-out>\n    </testcase>\n");
    return;
  }
  const char *element = judged->ruling == TIDE_RULING_BROKEN ? "failure" : "error";
  tide_sink_printf(sink, ">\n      <%s", element);
  put_attribute(sink, "type", tide_ruling_words[judged->ruling]);
  put_attribute(sink, "message", sentence);
  tide_sink_text(sink, ">");
  write_xml(sink, message);
  tide_sink_printf(sink, "</%s>\n    </testcase>\n", element);
}

static void write_counts(struct tide_sink *sink, const size_t counts[TIDE_RULINGS_N])
{
  tide_sink_printf(sink, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"",
                   counts[TIDE_RULING_KEPT] + counts[TIDE_RULING_BROKEN] +
                       counts[TIDE_RULING_UNKNOWN],
                   counts[TIDE_RULING_BROKEN], counts[TIDE_RULING_UNKNOWN]);
}

void tide_check_junit_write(struct tide_sink *sink, const struct tide_check_report *report)
{
  const struct tide_judgement *judgement = report->judgement;
  tide_sink_text(sink, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
  put_attribute(sink, "name", "heap budgets");
  write_counts(sink, judgement->counts);
  tide_sink_text(sink, ">\n");
  for (size_t i = 0; i < report->n_files; i++) {
    size_t counts[TIDE_RULINGS_N] = {0};
    for (size_t k = 0; k < judgement->n; k++)
      if (judgement->items[k].file_idx == i)
        counts[judgement->items[k].ruling]++;
    tide_sink_text(sink, "  <testsuite");
    put_attribute(sink, "name", report->files[i].path);
    write_counts(sink, counts);
    tide_sink_text(sink, ">\n");
    for (size_t k = 0; k < judgement->n; k++)
      if (judgement->items[k].file_idx == i)
        write_case(sink, report, &judgement->items[k]);
    tide_sink_text(sink, "  </testsuite>\n");
  }
  tide_sink_text(sink, "</testsuites>\n");
}
