// SPDX-License-Identifier: Apache-2.0
//
// tidemark doctor: what would be seen of a program or of a process that runs, and why not. It reads
// files and /proc, and changes nothing.
#include "attach/needed.h"
#include "attach/sandbox.h"
#include "attach/signature.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/hint_words.h"
#include "cli/library.h"
#include "cli/terminal.h"
#include "model/capture.h"
#include "supervise/attach.h"
#include "supervise/prospect.h"
#include "supervise/usher.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Also the exit status.
enum seen { SEEN_ALL, SEEN_PART, SEEN_NOTHING };
static const char *const seen_tags[] = {"all", "part", "nothing"};

enum { ROWS_MAX = 32 };

struct finding {
  enum seen seen;
  char *subject, *verdict, *next; // owned; next NULL: there is nothing to type
  bool is_refusal;                // then the verdict names the subject itself
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

static const char *last_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
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

// Where the names of an object's functions come from.
static char *source_of(const struct tide_loaded *loaded)
{
  if (loaded->signed_by)
    return tide_sprintf("by its code, which is that of %s", loaded->signed_by);
  return tide_strdup(loaded->elf->has_symtab                      ? "by its symbols"
                     : loaded->debug && loaded->debug->has_symtab ? "by symbols of a debug file"
                                                                  : "by the names it exports");
}

static bool is_allocators(const struct tide_hookable *entry)
{
  return entry->family != TIDE_FAMILY_PAGES && entry->role < TIDE_ROLE_MAP;
}

static bool is_of(const struct tide_hookable *entry, const struct tide_hookable *other)
{
  return entry->family == other->family && entry->loaded == other->loaded;
}

// Patches come before refusals.
static const struct tide_hookable *entry_at(const struct tide_plan *plan, size_t i)
{
  return i < plan->n_patches ? &plan->patches[i].entry : &plan->refusals[i - plan->n_patches].entry;
}

static bool was_named(const struct tide_plan *plan, size_t k)
{
  for (size_t i = 0; i < k; i++)
    if (is_allocators(entry_at(plan, i)) && is_of(entry_at(plan, i), entry_at(plan, k)))
      return true;
  return false;
}

static void count_of(const struct tide_plan *plan, const struct tide_hookable *entry,
                     size_t *ret_hooked, size_t *ret_refused)
{
  *ret_hooked = *ret_refused = 0;
  for (size_t i = 0; i < plan->n_patches; i++)
    *ret_hooked += is_of(&plan->patches[i].entry, entry);
  for (size_t i = 0; i < plan->n_refusals; i++)
    *ret_refused += is_of(&plan->refusals[i].entry, entry);
}

// "jemalloc (redis-server): 22 of 22 functions can be hooked, known by its symbols; ..."
static void add_allocators(struct finding *f, const struct tide_prospect *prospect)
{
  const struct tide_plan *plan = &prospect->plan;
  struct tide_buf text = {0};
  for (size_t i = 0; i < plan->n_patches + plan->n_refusals; i++) {
    const struct tide_hookable *entry = entry_at(plan, i);
    size_t n_hooked, n_refused;
    if (!is_allocators(entry) || was_named(plan, i))
      continue;
    TIDE_CLEANUP_FREE char *source = source_of(entry->loaded);
    count_of(plan, entry, &n_hooked, &n_refused);
    bool is_untold = prospect->is_untold && entry->family == TIDE_FAMILY_RUST;
    tide_buf_printf(&text, "%s%s (%s): %zu of %zu functions can be hooked, known %s",
                    text.n ? "; " : "",
                    is_untold ? "Rust's functions" : tide_family_words(entry->family),
                    last_name(entry->loaded->path), n_hooked, n_hooked + n_refused, source);
  }
  add_row(
      f, "allocators",
      tide_strdup(text.n ? tide_buf_cstr(&text) : "none that is known by its symbols or its code"));
  tide_buf_done(&text);
  if (prospect->refused[0])
    add_row(f, "not hooked", tide_strdup(prospect->refused));
}

static bool has_function_names(const struct tide_prospect *prospect)
{
  const struct tide_loaded *program = prospect->objects.n ? &prospect->objects.all[0] : NULL;
  return program && (program->elf->has_symtab || (program->debug && program->debug->has_symtab));
}

// Where no allocator is known, or some of it is stripped.
static void add_advice(struct finding *f, const struct tide_prospect *prospect)
{
  if (prospect->sight != TIDE_SIGHT_PAGES && prospect->sight != TIDE_SIGHT_NOTHING)
    return;
  if (!prospect->objects.n || prospect->plan.n_refusals)
    return;
  TIDE_CLEANUP_FREE char *advice = tide_signature_advice(&prospect->objects.all[0]);
  add_row(
      f, "would help",
      tide_sprintf("%s%s", advice, has_function_names(prospect) ? "" : " (--debug-dir names one)"));
}

static void add_control_flow(struct finding *f, const struct tide_prospect *prospect)
{
  const char *pads = prospect->pads, *returns = prospect->returns;
  if (prospect->has_shadow_stack)
    add_row(f, "control flow",
            tide_strdup("a shadow stack (CET) is on: hooks change no return address, so that it "
                        "stays valid"));
  else if (pads || returns)
    add_row(f, "control flow",
            tide_sprintf("built for %s%s%s: hooks come behind landing pads and change no return "
                         "address",
                         pads ? pads : "", pads && returns ? " and " : "", returns ? returns : ""));
}

static void add_doubt(struct finding *f, const struct tide_prospect *prospect)
{
  if (prospect->is_untold)
    add_row(f, "in doubt",
            tide_strdup("a Rust program whose file does not tell whether it has an allocator of "
                        "its own, of which nothing would be seen; if it has memory that such a one "
                        "may be in, the recording will not be called complete. A build with its "
                        "symbols and debug info tells"));
}

static void add_program_rows(struct finding *f, const struct tide_prospect *prospect)
{
  const struct tide_loaded *program = &prospect->objects.all[0];
  const struct tide_elf *elf = program->elf, *debug = program->debug;
  bool has_lines = elf->debug != TIDE_ELF_DEBUG_NONE || (debug && debug->debug);
  add_row(f, "symbols",
          tide_strdup(has_function_names(prospect)
                          ? "names of all its functions"
                          : "stripped: names of exported functions alone"));
  add_row(f, "debug info",
          tide_strdup(has_lines ? "lines and inlined calls"
                                : "none: no lines; name its debug files with --debug-dir, or set "
                                  "DEBUGINFOD_URLS, or build with -g"));
  add_row(f, "unwinding",
          tide_strdup(program->n_extents ? "by its unwind tables"
                                         : "no unwind tables: stacks by frame pointers, which may "
                                           "end early"));
  add_control_flow(f, prospect);
  add_doubt(f, prospect);
}

static void add_cost(struct finding *f)
{
  add_row(
      f, "cost",
      tide_strdup("1.2 to 1.4 times the time in programs that allocate all the time (cc1, CPython, "
                  "perl, redis: docs/overhead.md), hardly any in others; 9 to 20 bytes for a "
                  "live block"));
}

// ---- the verdict ----

// No function is known that could be hooked. file_shows: whose allocator it has; "".
static void judge_nothing(struct finding *f, const struct tide_prospect *prospect,
                          const char *file_shows)
{
  char *way_out = *file_shows ? tide_why_way_out(TIDE_WHY_OWN_ALLOCATOR, file_shows) : NULL;
  set_verdict(f, SEEN_NOTHING,
              *file_shows ? tide_sprintf("nothing will be seen: it allocates by %s, which has no "
                                         "functions that could be hooked",
                                         file_shows)
              : has_function_names(prospect)
                  ? tide_strdup("nothing will be seen: none of its functions is an allocator's "
                                "that is known")
                  : tide_strdup("nothing will be seen: no allocator is known by its symbols or "
                                "its code"),
              NULL);
  if (way_out)
    add_row(f, "way out", way_out);
}

// Of what the agent would see, in the order in which a recording says it. file_shows: see
// judge_nothing().
static void judge_sight(struct finding *f, const struct tide_prospect *prospect,
                        const char *file_shows, const char *all, char *own_next)
{
  enum tide_why why = TIDE_WHY_UNHOOKED;
  const char *detail = prospect->unhooked;
  if (prospect->sight == TIDE_SIGHT_PAGES) {
    set_verdict(f, SEEN_PART,
                tide_strdup("its blocks will not be seen, only the pages that it maps (mmap, brk), "
                            "by stack: no allocator in it is known by its symbols or its code"),
                own_next);
    return;
  }
  if (prospect->sight == TIDE_SIGHT_NOTHING && !prospect->refused[0]) {
    judge_nothing(f, prospect, file_shows);
    free(own_next);
    return;
  }
  if (prospect->sight == TIDE_SIGHT_NOTHING) {
    set_verdict(f, SEEN_NOTHING,
                tide_sprintf("nothing will be seen: no function of its allocators can be hooked "
                             "(%s)",
                             prospect->refused),
                NULL);
    free(own_next);
  } else if (prospect->unhooked[0] || prospect->is_inlined) {
    why = prospect->unhooked[0] ? TIDE_WHY_UNHOOKED : TIDE_WHY_INLINED;
    detail = prospect->unhooked[0] ? prospect->unhooked : "some";
    TIDE_CLEANUP_FREE char *what = prospect->unhooked[0]
                                       ? tide_why_sentence(why, detail)
                                       : tide_strdup("has a Rust allocator of its own, whose "
                                                     "functions the compiler may have inlined, and "
                                                     "what happens there is not seen");
    set_verdict(f, SEEN_PART, tide_sprintf("only a part will be seen: it %s", what), own_next);
  } else if (prospect->sight == TIDE_SIGHT_PART) {
    set_verdict(f, SEEN_PART,
                tide_sprintf("only a part will be seen: what goes through functions that cannot be "
                             "hooked is missed (%s)",
                             prospect->refused),
                own_next);
  } else if (tide_why_is_go(file_shows)) {
    why = TIDE_WHY_OWN_ALLOCATOR;
    detail = file_shows;
    TIDE_CLEANUP_FREE char *what = tide_why_sentence(why, detail);
    set_verdict(f, SEEN_PART,
                tide_sprintf("only what goes through libc's allocator will be seen: it %s", what),
                own_next);
  } else {
    set_verdict(f, SEEN_ALL, tide_strdup(all), own_next);
    return;
  }
  char *way_out = tide_why_way_out(why, detail);
  if (way_out)
    add_row(f, "way out", way_out);
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

// A script's program is its interpreter.
static bool is_script(const char *command, const struct tide_target *target)
{
  return target->path && strcmp(last_name(command), last_name(target->path)) != 0;
}

// NULL: the agent can be put into it. Else why not; the caller's.
static char *why_not_agent(const struct tide_target *target, const struct tide_prospect *prospect)
{
  TIDE_CLEANUP_FREE char *agent = NULL;
  struct tide_diag diag;
  if (!tide_usher_could_help(target->why, target->detail))
    return tide_strdup("");
  enum tide_err err = tide_library_find(TIDE_LIBRARY_AGENT, &agent, &diag);
  if (!err)
    err = tide_prospect_may_trace(&diag);
  if (err)
    return tide_cli_failure_words(err, &diag);
  return prospect->unled ? tide_strdup(prospect->unled) : NULL;
}

// Without the agent: what the preloaded library sees, if anything.
static void judge_without_agent(struct finding *f, const char *command,
                                const struct tide_target *target, const char *why_not)
{
  TIDE_CLEANUP_FREE char *what = tide_why_sentence(target->why, target->detail);
  TIDE_CLEANUP_FREE char *because =
      *why_not ? tide_sprintf(", and the agent cannot be used: %s", why_not) : tide_strdup("");
  char *way_out = tide_why_way_out(target->why, target->detail);
  bool is_part = tide_why_is_partial(target->why);
  set_verdict(f, is_part ? SEEN_PART : SEEN_NOTHING,
              tide_sprintf("%s: it %s%s",
                           is_part ? "only what goes through libc's allocator will be seen"
                                   : "nothing will be seen",
                           what, because),
              is_part ? tide_sprintf("tidemark run %s", command) : NULL);
  if (way_out)
    add_row(f, "way out", way_out);
}

static void judge_command(struct finding *f, const char *command, const struct tide_target *target,
                          const struct tide_prospect *prospect)
{
  char *next = tide_sprintf("tidemark run %s", command);
  if (!target->unfit && is_script(command, target)) {
    set_verdict(
        f, SEEN_PART,
        tide_sprintf("runs the script %s: what this interpreter itself allocates will be seen; of "
                     "the programs that the script starts nothing can be told from here",
                     command),
        next);
    return;
  }
  if (!target->unfit) {
    set_verdict(
        f, SEEN_ALL,
        tide_strdup("every allocation by malloc and its kin will be seen, by a preloaded library"),
        next);
    return;
  }
  TIDE_CLEANUP_FREE char *why_not = why_not_agent(target, prospect);
  TIDE_CLEANUP_FREE char *what = tide_why_sentence(target->why, target->detail);
  TIDE_CLEANUP_FREE char *all = tide_sprintf(
      "every allocation by the functions of its allocators will be seen, by the agent: it %s",
      what);
  if (why_not) {
    judge_without_agent(f, command, target, why_not);
    free(next);
  } else {
    judge_sight(f, prospect, target->detail, all, next);
  }
}

static void add_missing(struct finding *f, const struct tide_loaded_list *list, const char *label,
                        const char *what)
{
  struct tide_buf names = {0};
  for (size_t i = 0; i < list->n_unread; i++)
    tide_buf_printf(&names, "%s%s", i ? ", " : "", list->unread[i].path);
  if (names.n)
    add_row(f, label, tide_sprintf("%s: %s", tide_buf_cstr(&names), what));
  tide_buf_done(&names);
}

static void add_command_rows(struct finding *f, const struct tide_target *target,
                             const struct tide_prospect *prospect)
{
  TIDE_CLEANUP_FREE char *libc = tide_needed_libc(&prospect->objects);
  bool is_static = target->unfit && target->why == TIDE_WHY_STATIC;
  add_row(f, "linkage", tide_strdup(linkage_words(target)));
  if (libc)
    add_row(f, "libc", tide_sprintf("%s%s", libc, is_static ? ", linked in" : ""));
  add_missing(f, &prospect->objects, "missing",
              "the program will not start, or finds it otherwise");
  add_allocators(f, prospect);
  add_advice(f, prospect);
  add_program_rows(f, prospect);
  add_row(f, "children",
          tide_strdup("programs that it starts are recorded, too, each as it can be"));
  add_cost(f);
}

static enum tide_err examine_command(const struct tide_arguments *arguments, struct finding *f,
                                     struct tide_diag *diag)
{
  const char *command = arguments->rest[0];
  struct tide_target target;
  struct tide_prospect prospect = {0};
  struct stat st;
  tide_target_check(command, &target);
  enum tide_err err = TIDE_ERR_OK;
  if (target.path && is_script(command, &target) && stat(target.path, &st))
    err = tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s: there is no %s, which it is a script of",
                    command, target.path);
  else if (!target.path)
    err = tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s: %s", command,
                    stat(command, &st)    ? "there is no such command"
                    : S_ISDIR(st.st_mode) ? "it is a directory, not a program"
                                          : "it is no program that can be executed");
  else
    f->subject = tide_strdup(target.path);
  if (!err && target.unfit && target.why == TIDE_WHY_BITS_32) { // its file is not read
    judge_without_agent(f, command, &target, "");
    add_row(f, "linkage", tide_strdup(linkage_words(&target)));
  } else if (!err) {
    err = tide_prospect_of_program(target.path, arguments->debug_dirs, &prospect, diag);
    if (!err) {
      judge_command(f, command, &target, &prospect);
      add_command_rows(f, &target, &prospect);
      tide_prospect_done(&prospect);
    }
  }
  tide_target_done(&target);
  return err;
}

// ---- a process ----

static void add_filters(struct finding *f, uint32_t pid)
{
  bool is_filtered = tide_sandbox_is_foreign(pid);
  add_row(f, "seccomp",
          tide_strdup(is_filtered ? "it has a filter that we have not: what recording needs must "
                                    "be permitted by it"
                                  : "no filter of its own"));
  if (!is_filtered || f->seen != SEEN_ALL)
    return;
  free(f->verdict);
  f->seen = SEEN_PART;
  f->verdict = tide_strdup("it has a seccomp filter: attaching asks what that permits, and may be "
                           "refused");
}

static void examine_objects(struct finding *f, struct tide_outside *outside, const char *file,
                            const char *debug_dirs, uint32_t pid)
{
  struct tide_prospect prospect;
  tide_prospect_of_process(outside, file, debug_dirs, &prospect);
  enum tide_why ignored;
  TIDE_CLEANUP_FREE char *file_shows = NULL;
  bool is_unfit = tide_target_judge(file, &ignored, &file_shows);
  judge_sight(f, &prospect, is_unfit ? file_shows : "",
              "every allocation from the moment of attaching will be seen",
              tide_sprintf("tidemark attach %u", pid));
  TIDE_CLEANUP_FREE char *libc = tide_needed_libc(&prospect.objects);
  if (libc)
    add_row(f, "libc", tide_strdup(libc));
  add_missing(f, &prospect.objects, "not read", "if there are allocators, they will not be seen");
  add_allocators(f, &prospect);
  add_advice(f, &prospect);
  if (prospect.objects.n)
    add_program_rows(f, &prospect);
  add_row(f, "permission", tide_strdup("you may trace it"));
  add_filters(f, pid);
  tide_prospect_done(&prospect);
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
      tide_outside_open(pid, true, &outside, &refusal)) {
    set_verdict(f, SEEN_NOTHING, tide_strdup(refusal.text), NULL);
    f->is_refusal = true;
    return TIDE_ERR_OK;
  }
  examine_objects(f, outside, process.file, arguments->debug_dirs, pid);
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
  TIDE_CLEANUP_FREE char *head =
      f->is_refusal ? tide_strdup(f->verdict) : tide_sprintf("%s: %s", f->subject, f->verdict);
  tide_screen_paragraph(&screen, TIDE_INK_PLAIN, "", "", head);
  for (size_t i = 0; i < f->n_rows; i++) {
    TIDE_CLEANUP_FREE char *label = tide_sprintf("%-13s", f->rows[i].label);
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
