// SPDX-License-Identifier: Apache-2.0
//
// tidemark doctor: what would be seen of a program or of a process that runs, and why not. It reads
// files and /proc, and changes nothing.
#include "attach/families.h"
#include "attach/needed.h"
#include "attach/sandbox.h"
#include "attach/signature.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "model/capture.h"
#include "supervise/attach.h"
#include "supervise/target_check.h"
#include "supervise/usher.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Also the exit status.
enum seen { SEEN_ALL, SEEN_PART, SEEN_NOTHING };
static const char *const seen_tags[] = {"all", "part", "nothing"};

enum { ROWS_MAX = 12 };

struct finding {
  enum seen seen;
  char *subject, *verdict, *next; // owned; next NULL: there is nothing to type
  struct {
    const char *label; // also the key in JSON
    char *text;        // owned
  } rows[ROWS_MAX];
  size_t n_rows;
};

static void add_row(struct finding *f, const char *label, char *own_text)
{
  f->rows[f->n_rows].label = label;
  f->rows[f->n_rows++].text = own_text;
}

static void set_verdict(struct finding *f, enum seen seen, char *own_verdict, char *own_next)
{
  f->seen = seen;
  f->verdict = own_verdict;
  f->next = own_next;
}

static void finding_done(struct finding *f)
{
  for (size_t i = 0; i < f->n_rows; i++)
    free(f->rows[i].text);
  free(f->subject);
  free(f->verdict);
  free(f->next);
}

// ---- what the objects tell ----

// "libc's malloc (libc.so.6), jemalloc (redis-server)"; "" where none is known by its symbols.
static char *allocators_in(const struct tide_hookables *entries)
{
  struct tide_buf text = {0};
  for (size_t i = 0; i < entries->n; i++) {
    const struct tide_hookable *e = &entries->all[i];
    const char *slash = strrchr(e->loaded->path, '/');
    if (e->family == TIDE_FAMILY_PAGES)
      continue;
    TIDE_CLEANUP_FREE char *one =
        tide_sprintf("%s (%s)", tide_family_words(e->family), slash ? slash + 1 : e->loaded->path);
    if (!text.n || !strstr(tide_buf_cstr(&text), one))
      tide_buf_printf(&text, "%s%s", text.n ? ", " : "", one);
  }
  char *words = tide_strdup(text.n ? tide_buf_cstr(&text) : "");
  tide_buf_done(&text);
  return words;
}

// Where no allocator is known: are there functions that map pages?
static bool has_pages(const struct tide_hookables *entries)
{
  for (size_t i = 0; i < entries->n; i++)
    if (entries->all[i].role == TIDE_ROLE_MAP)
      return true;
  return false;
}

#define PAGES_ALONE                                                                                \
  "its blocks will not be seen, only the pages that it maps (mmap, brk), by stack: no allocator "  \
  "in it is known by its symbols or its code"

static void add_allocators(struct finding *f, const char *allocators,
                           const struct tide_loaded *program)
{
  if (!*allocators) {
    TIDE_CLEANUP_FREE char *advice = program ? tide_signature_advice(program) : NULL;
    add_row(f, "allocators", tide_strdup("none that is known by its symbols or its code"));
    if (advice)
      add_row(f, "would help", tide_sprintf("%s (--debug-dir names one)", advice));
  } else if (program && program->signed_by) {
    add_row(
        f, "allocators",
        tide_sprintf("%s, known by its code, which is that of %s", allocators, program->signed_by));
  } else {
    add_row(f, "allocators", tide_strdup(allocators));
  }
}

static void add_program_rows(struct finding *f, const struct tide_loaded *program)
{
  const struct tide_elf *elf = program->elf, *debug = program->debug;
  bool has_names = elf->has_symtab || (debug && debug->has_symtab);
  bool has_lines = elf->debug != TIDE_ELF_DEBUG_NONE || (debug && debug->debug);
  add_row(f, "symbols",
          tide_strdup(has_names ? "names of all its functions"
                                : "stripped: names of exported functions alone"));
  add_row(f, "debug info",
          tide_strdup(has_lines ? "lines and inlined calls"
                                : "none: no lines; name its debug files with --debug-dir, or set "
                                  "DEBUGINFOD_URLS, or build with -g"));
  add_row(f, "unwinding",
          tide_strdup(program->n_extents ? "by its unwind tables"
                                         : "no unwind tables: stacks by frame pointers, which may "
                                           "end early"));
}

static void add_cost(struct finding *f)
{
  add_row(
      f, "cost",
      tide_strdup("1.2 to 1.4 times the time in programs that allocate all the time (cc1, CPython, "
                  "perl, redis: docs/overhead.md), hardly any in others; 9 to 20 bytes for a "
                  "live block"));
}

// ---- a command ----

static const char *linkage_words(const struct tide_target *target)
{
  if (!target->unfit)
    return "dynamic, glibc";
  switch (target->why) {
  case TIDE_WHY_STATIC: return "static";
  case TIDE_WHY_MUSL: return "dynamic, musl";
  case TIDE_WHY_OTHER_LOADER: return "dynamic, with a loader that is not known";
  case TIDE_WHY_BITS_32: return "32-bit";
  case TIDE_WHY_OTHER_MACHINE: return "for another kind of processor";
  default: return "dynamic, glibc";
  }
}

static const char *last_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// A script's program is its interpreter.
static bool is_script(const char *command, const struct tide_target *target)
{
  return target->path && strcmp(last_name(command), last_name(target->path)) != 0;
}

static void judge_command(struct finding *f, const char *command, const struct tide_target *target,
                          const char *allocators, bool maps_pages)
{
  if (!target->unfit && is_script(command, target)) {
    set_verdict(
        f, SEEN_PART,
        tide_sprintf("runs the script %s: what this interpreter itself allocates will be seen; of "
                     "the programs that the script starts nothing can be told from here",
                     command),
        tide_sprintf("tidemark run %s", command));
    return;
  }
  if (!target->unfit) {
    set_verdict(
        f, SEEN_ALL,
        tide_strdup("every allocation by malloc and its kin will be seen, by a preloaded library"),
        tide_sprintf("tidemark run %s", command));
    return;
  }
  TIDE_CLEANUP_FREE char *why = tide_why_sentence(target->why, target->detail);
  bool could_help = tide_usher_is_tried() && tide_usher_could_help(target->why, target->detail);
  bool is_found = *allocators || target->why == TIDE_WHY_MUSL;
  if (could_help && is_found)
    set_verdict(
        f, SEEN_ALL,
        tide_sprintf("every allocation by the functions of its allocators will be seen, by the "
                     "agent, as far as they can be hooked (the report says which cannot): it %s",
                     why),
        tide_sprintf("tidemark run %s", command));
  else if (could_help && maps_pages && !tide_why_is_partial(target->why))
    set_verdict(f, SEEN_PART, tide_strdup(PAGES_ALONE), tide_sprintf("tidemark run %s", command));
  else if (tide_why_is_partial(target->why))
    set_verdict(f, SEEN_PART,
                tide_sprintf("only what goes through libc's allocator will be seen: it %s", why),
                tide_sprintf("tidemark run %s", command));
  else
    set_verdict(f, SEEN_NOTHING,
                tide_sprintf("nothing will be seen: it %s%s", why,
                             could_help
                                 ? ", and no allocator in it is known by its symbols or its code"
                                 : ""),
                NULL);
}

// What is found in its files: its own allocators decide how it is recorded.
static void add_command_rows(struct finding *f, const struct tide_target *target,
                             const struct tide_loaded_list *list, const char *allocators)
{
  struct tide_buf missing = {0};
  TIDE_CLEANUP_FREE char *libc = tide_needed_libc(list);
  bool is_static = target->unfit && target->why == TIDE_WHY_STATIC;
  add_row(f, "linkage", tide_strdup(linkage_words(target)));
  if (libc)
    add_row(f, "libc", tide_sprintf("%s%s", libc, is_static ? ", linked in" : ""));
  for (size_t i = 0; i < list->n_unread; i++)
    tide_buf_printf(&missing, "%s%s", i ? ", " : "", list->unread[i].path);
  if (missing.n)
    add_row(f, "missing",
            tide_sprintf("%s: the program will not start, or finds it otherwise",
                         tide_buf_cstr(&missing)));
  tide_buf_done(&missing);
  add_allocators(f, allocators, &list->all[0]);
}

static enum tide_err examine_command(const struct tide_arguments *arguments, struct finding *f,
                                     struct tide_diag *diag)
{
  const char *command = arguments->rest[0];
  struct tide_target target;
  struct tide_loaded_list list = {0};
  struct tide_hookables own = {0}, all = {0};
  struct stat st;
  tide_target_check(command, &target);
  enum tide_err err = TIDE_ERR_OK;
  if (!target.path)
    err = tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s: %s", command,
                    stat(command, &st)    ? "there is no such command"
                    : S_ISDIR(st.st_mode) ? "it is a directory, not a program"
                                          : "it is no program that can be executed");
  if (!err)
    err = tide_needed_list_make(target.path, arguments->debug_dirs, NULL, &list, diag);
  if (!err) {
    tide_hookables_sign(&list, arguments->debug_dirs);
    struct tide_loaded_list program = {.all = list.all, .n = 1};
    tide_hookables_find(&program, &own);
    tide_hookables_find(&list, &all);
    TIDE_CLEANUP_FREE char *own_allocators = allocators_in(&own);
    TIDE_CLEANUP_FREE char *allocators = allocators_in(&all);
    f->subject = tide_strdup(target.path);
    judge_command(f, command, &target, own_allocators, has_pages(&own));
    add_command_rows(f, &target, &list, allocators);
    add_program_rows(f, &list.all[0]);
    add_row(f, "children",
            tide_strdup("programs that it starts are recorded, too, each as it can be"));
    add_cost(f);
    tide_hookables_done(&own);
    tide_hookables_done(&all);
    tide_loaded_list_done(&list);
  }
  tide_target_done(&target);
  return err;
}

// ---- a process ----

static void examine_objects(struct finding *f, const struct tide_outside *outside,
                            const char *debug_dirs, uint32_t pid)
{
  struct tide_loaded_list list = {0};
  struct tide_hookables entries = {0};
  tide_loaded_list_make(outside, debug_dirs, &list);
  tide_hookables_sign(&list, debug_dirs);
  tide_hookables_find(&list, &entries);
  TIDE_CLEANUP_FREE char *allocators = allocators_in(&entries);
  bool is_filtered = tide_sandbox_is_foreign(pid);
  if (!*allocators && has_pages(&entries))
    set_verdict(f, SEEN_PART, tide_strdup(PAGES_ALONE), tide_sprintf("tidemark attach %u", pid));
  else if (!*allocators)
    set_verdict(
        f, SEEN_NOTHING,
        tide_strdup("nothing can be seen: no allocator is known by its symbols or its code"), NULL);
  else if (is_filtered)
    set_verdict(
        f, SEEN_PART,
        tide_strdup("it has a seccomp filter: attaching asks that what it permits, and may be "
                    "refused"),
        tide_sprintf("tidemark attach %u", pid));
  else
    set_verdict(f, SEEN_ALL,
                tide_strdup("every allocation from the moment of attaching will be seen, as far as "
                            "its functions can be hooked: attaching says which cannot"),
                tide_sprintf("tidemark attach %u", pid));
  TIDE_CLEANUP_FREE char *libc = tide_needed_libc(&list);
  if (libc)
    add_row(f, "libc", tide_strdup(libc));
  add_allocators(f, allocators, list.n ? &list.all[0] : NULL);
  if (list.n)
    add_program_rows(f, &list.all[0]);
  add_row(f, "permission", tide_strdup("you may trace it"));
  tide_hookables_done(&entries);
  tide_loaded_list_done(&list);
}

static enum tide_err examine_process(const struct tide_arguments *arguments, uint32_t pid,
                                     struct finding *f, struct tide_diag *diag)
{
  struct tide_candidate process;
  struct tide_outside *outside = NULL;
  struct tide_diag refusal = {0};
  enum tide_err err = tide_candidate_read(pid, &process, diag);
  if (err)
    return err;
  f->subject = tide_sprintf("process %s", process.where);
  if (tide_candidate_check(&process, &refusal) ||
      tide_outside_open(pid, false, &outside, &refusal)) {
    set_verdict(f, SEEN_NOTHING, tide_strdup(refusal.text), NULL);
    return TIDE_ERR_OK;
  }
  examine_objects(f, outside, arguments->debug_dirs, pid);
  if (tide_candidate_is_elsewhere(&process))
    add_row(f, "container",
            tide_strdup("other mounts than ours: its files are read under its root"));
  add_cost(f);
  tide_outside_close(outside);
  return TIDE_ERR_OK;
}

// ---- telling ----

static void write_text(const struct tide_arguments *arguments, struct tide_sink *sink,
                       const struct finding *f)
{
  struct tide_screen screen = tide_terminal_screen(sink, stdout, arguments);
  TIDE_CLEANUP_FREE char *head = tide_sprintf("%s: %s", f->subject, f->verdict);
  tide_screen_paragraph(&screen, TIDE_INK_PLAIN, "", "", head);
  for (size_t i = 0; i < f->n_rows; i++) {
    TIDE_CLEANUP_FREE char *label = tide_sprintf("%-12s", f->rows[i].label);
    tide_screen_paragraph(&screen, TIDE_INK_PLAIN, "  ", label, f->rows[i].text);
  }
  if (f->next)
    tide_sink_printf(sink, "  next:  %s\n", f->next);
}

static void write_json(struct tide_sink *sink, const struct finding *f)
{
  struct tide_json json;
  tide_json_init(&json, sink);
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-doctor-1");
  tide_json_put_text(&json, "subject", f->subject);
  tide_json_put_text(&json, "seen", seen_tags[f->seen]);
  tide_json_put_text(&json, "verdict", f->verdict);
  for (size_t i = 0; i < f->n_rows; i++) {
    char key[32];
    snprintf(key, sizeof key, "%s", f->rows[i].label);
    for (char *gap = key; (gap = strchr(gap, ' '));)
      *gap = '_';
    tide_json_put_text(&json, key, f->rows[i].text);
  }
  tide_json_put_text(&json, "next", f->next);
  tide_json_close_object(&json);
  tide_json_done(&json);
}

int tide_cmd_doctor(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  struct finding f = {0};
  struct tide_sink sink;
  enum tide_err err = TIDE_ERR_OK;
  if (arguments->n_rest < 1)
    err = tide_fail(&diag, TIDE_ERR_USAGE, "look at what? tidemark doctor COMMAND, or PID");
  char *end = NULL;
  unsigned long pid = err ? 0 : strtoul(arguments->rest[0], &end, 10);
  bool is_pid = !err && *arguments->rest[0] && !*end && pid && pid <= INT_MAX;
  if (!err)
    err = is_pid ? examine_process(arguments, (uint32_t)pid, &f, &diag)
                 : examine_command(arguments, &f, &diag);
  if (err) {
    tide_cmd_failed(err, &diag);
    return SEEN_NOTHING;
  }
  tide_sink_init(&sink, stdout);
  if (arguments->json)
    write_json(&sink, &f);
  else
    write_text(arguments, &sink, &f);
  err = tide_sink_finish(&sink, "what was found", &diag);
  tide_sink_done(&sink);
  int status = f.seen;
  finding_done(&f);
  return err ? tide_cmd_failed(err, &diag) : status;
}
