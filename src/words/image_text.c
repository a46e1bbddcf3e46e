// SPDX-License-Identifier: Apache-2.0
//
// A process image in words.
#define _GNU_SOURCE
#include "words/image_text.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

// "redis-server unixsocket:/run/redis.sock", where "/opt/My Tools/sorter" is a path.
static bool is_title(const char *word)
{
  const char *space = strchr(word, ' '), *slash = strchr(word, '/');
  return strstr(word, ": ") || (space && (!slash || space < slash));
}

// The name a program was called by, "" where that is none: processes that write a title over it
// ("sshd: me@pts/0"), that were started through /proc, or by a word that is no file name.
static const char *called_name(const struct tide_image *image)
{
  const char *word = tide_image_argument(image, 0);
  if (!word || is_title(word) || strncmp(word, "/proc/", 6) == 0)
    return "";
  const char *name = base_name(word);
  name += *name == '-'; // a login shell
  for (const unsigned char *c = (const unsigned char *)name; *c; c++)
    if (*c <= ' ' || *c == 0x7f || *c == '/')
      return "";
  return name;
}

// One file may be several programs, by the name of the link it is called through.
const char *tide_image_program(const struct tide_image *image)
{
  const char *name = called_name(image);
  if (*name)
    return name;
  if (image->exe && *image->exe)
    return base_name(image->exe);
  const char *first = tide_image_argument(image, 0);
  if (first && *first)
    return base_name(first);
  return image->file ? base_name(image->file) : "?";
}

bool tide_image_same_program(const struct tide_image *a, const struct tide_image *b)
{
  const char *a_exe = a->exe ? a->exe : "", *b_exe = b->exe ? b->exe : "";
  return strcmp(tide_image_program(a), tide_image_program(b)) == 0 ||
         (*a_exe && strcmp(base_name(a_exe), base_name(b_exe)) == 0);
}

char *tide_image_process_words(const struct tide_image *image)
{
  const char *program = tide_image_program(image);
  if (strcmp(program, "?") == 0)
    program = "program";
  return image->pid ? tide_sprintf("%s (process %u)", program, image->pid)
                    : tide_sprintf("%s (several processes)", program);
}

char *tide_image_end_words(const struct tide_image *image)
{
  switch (image->end_kind) {
  case TIDE_END_EXITED:
    return image->end_value < 0 ? tide_strdup("ended")
                                : tide_sprintf("exited %d", image->end_value);
  case TIDE_END_SIGNALED: {
    const char *name = sigabbrev_np(image->end_value);
    return name ? tide_sprintf("killed by SIG%s", name)
                : tide_sprintf("killed by signal %d", image->end_value);
  }
  case TIDE_END_EXECED: return tide_strdup("replaced itself by exec");
  case TIDE_END_DETACHED: return tide_strdup("let go");
  case TIDE_END_UNKNOWN: break;
  }
  return tide_strdup("last seen");
}

const char *tide_image_end_tag(const struct tide_image *image)
{
  switch (image->end_kind) {
  case TIDE_END_EXITED: return "exited";
  case TIDE_END_SIGNALED: return "signaled";
  case TIDE_END_EXECED: return "execed";
  case TIDE_END_DETACHED: return "detached";
  case TIDE_END_UNKNOWN: break;
  }
  return "unknown";
}

// The joined arguments may or may not end in a NUL; the copy in memory always has one behind it.
const char *tide_image_argument(const struct tide_image *image, size_t i)
{
  const char *at = image->cmdline;
  const char *end = at ? at + image->cmdline_len : NULL;
  for (; at && at < end; i--) {
    if (i == 0)
      return at;
    at += strnlen(at, (size_t)(end - at)) + 1;
  }
  return NULL;
}

static void append_quoted(struct tide_buf *out, const char *argument)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=./,:@%^";
  if (*argument && !argument[strspn(argument, plain)]) {
    tide_buf_text(out, argument);
    return;
  }
  tide_buf_u8(out, '\'');
  for (; *argument; argument++) {
    if (*argument == '\'')
      tide_buf_text(out, "'\\''");
    else
      tide_buf_u8(out, (uint8_t)*argument);
  }
  tide_buf_u8(out, '\'');
}

char *tide_image_command(const struct tide_image *image)
{
  struct tide_buf out = {0};
  for (size_t i = 0; tide_image_argument(image, i); i++) {
    if (i)
      tide_buf_u8(&out, ' ');
    append_quoted(&out, tide_image_argument(image, i));
  }
  if (!out.n)
    tide_buf_text(&out, image->exe ? image->exe : "");
  tide_buf_u8(&out, 0);
  return (char *)out.data;
}

const char *tide_image_meaning(const struct tide_image *image)
{
  const char *origin = image->origin && strstr(image->origin, "DHAT (") ? image->origin : "";
  if (strstr(origin, "copy)"))
    return "here an allocation is a copy made, its bytes are what was copied";
  if (strstr(origin, "ad-hoc)"))
    return "here an allocation is an event, its bytes are the event's weight";
  return NULL;
}

char *tide_image_untold_words(const struct tide_image *image)
{
  static const struct {
    uint32_t lack;
    const char *words;
  } untold[] = {
      {TIDE_LACK_PEAK, "what was held at the peak"},
      {TIDE_LACK_LIVE, "what was held at the end"},
      {TIDE_LACK_TOTAL, "what was allocated in all"},
      {TIDE_LACK_BLOCKS, "numbers of blocks"},
      {TIDE_LACK_TEMP, "what was temporary"},
      {TIDE_LACK_LIFETIMES, "how long blocks lived"},
      {TIDE_LACK_LIFE_HIST, "classes of lifetimes"},
      {TIDE_LACK_SIZE_HIST, "classes of sizes"},
      {TIDE_LACK_RESIZES, "resizes"},
      {TIDE_LACK_THREADS, "which thread did what"},
      {TIDE_LACK_TIMES, "when a place allocated"},
      {TIDE_LACK_CLOCK, "how long anything took"},
      {TIDE_LACK_BEFORE, "blocks from before it was attached to"},
      {TIDE_LACK_UNHOOKED, "blocks by functions that could not be hooked"},
      {TIDE_LACK_LATER, "blocks of libraries that were loaded later and could not be hooked"},
  };
  struct tide_buf text = {0};
  for (size_t i = 0; i < sizeof untold / sizeof *untold; i++)
    if (image->lacks & untold[i].lack)
      tide_buf_printf(&text, "%s%s", text.n ? "; " : "", untold[i].words);
  char *words = text.n ? tide_strdup(tide_buf_cstr(&text)) : NULL;
  tide_buf_done(&text);
  return words;
}

// The numbers are those of store/layout.h, which captures keep.
const char *tide_image_off_words(const struct tide_image *image)
{
  static const char *const words[] = {
      NULL,
      "the kernel refused memory for the recorder",
      "an internal check failed",
      "the program sandboxed itself",
  };
  return image->off_reason < sizeof words / sizeof *words ? words[image->off_reason]
                                                          : "for a reason not known here";
}

const char *tide_capture_left_out_words(const struct tide_capture *capture)
{
  for (size_t i = 0; i < capture->n_images; i++)
    if (tide_image_is_rest(capture, &capture->images[i]))
      return "are added up, by program";
  return "were not kept"; // by a tidemark of before
}

const char *tide_capture_arch(const struct tide_capture *capture)
{
  static const char *const names[] = {"unknown", "x86_64", "aarch64"};
  return names[capture->arch < 3 ? capture->arch : 0];
}
