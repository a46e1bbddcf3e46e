// SPDX-License-Identifier: Apache-2.0
//
// Which file is meant and of what kind it is; where names, rules and the cache of names are looked
// for, as the command line and the environment say.
#include "cli/opening.h"

#include "base/alloc.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/hint_words.h"
#include "cli/terminal.h"
#include "import/importers.h"
#include "model/image_sums.h"
#include "observe/store_read.h"
#include "remote/endpoint.h"
#include "view/blame.h"
#include "view/groups.h"
#include "view/resolver.h"
#include "view/storing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FETCHED_MAX_BYTES (256ull << 20)

enum { TOKEN_LINE_MAX = 4096, TIMEOUT_DEFAULT_S = 60, TIMEOUT_MAX_S = 24 * 3600 };

// ---- captures ----

static bool is_capture_name(const char *name)
{
  size_t n = strlen(name);
  bool ends = (n > 5 && strcmp(name + n - 5, ".tide") == 0) ||
              (n > 6 && strcmp(name + n - 6, ".store") == 0);
  return ends && strncmp(name, "tidemark.", 9) == 0;
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
  if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
    return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
  return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

char *tide_capture_newest(void)
{
  DIR *dir = opendir(".");
  char *newest = NULL;
  struct stat newest_stat = {0};
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    struct stat st;
    if (!is_capture_name(entry->d_name) || stat(entry->d_name, &st) != 0 || !S_ISREG(st.st_mode))
      continue;
    if (newest && !is_newer(&st, &newest_stat))
      continue;
    free(newest);
    newest = tide_strdup(entry->d_name);
    newest_stat = st;
  }
  if (dir)
    closedir(dir);
  return newest;
}

enum tide_err tide_capture_none(struct tide_diag *diag)
{
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "no file given, and no tidemark.*.tide in the current directory; "
                   "'tidemark run COMMAND' makes one");
}

// A store is sparse: what it takes, not how far it reaches.
static uint64_t room_taken(const char *path, bool is_sparse)
{
  struct stat st;
  if (stat(path, &st) != 0)
    return 0;
  return is_sparse ? (uint64_t)st.st_blocks * 512 : (uint64_t)st.st_size;
}

size_t tide_capture_complete(struct tide_capture *capture, const char *name)
{
  bool is_ours = !capture->n_images || !capture->images[0].origin; // pids of here and now
  size_t n_new_names = is_ours ? tide_jit_names_add(capture, TIDE_JIT_MAPS_DIR) : 0;
  for (size_t i = 0; i < capture->n_images; i++) {
    capture->images[i].file = tide_strdup(name);
    tide_image_settle_peak(&capture->images[i]);
  }
  return n_new_names;
}

enum tide_err tide_token_read(const char *path, char **ret_token, struct tide_diag *diag)
{
  char line[TOKEN_LINE_MAX];
  FILE *file = fopen(path, "re");
  if (!file)
    return tide_fail_errno(diag, "cannot read the token in %s", path);
  bool has_line = fgets(line, sizeof line, file);
  fclose(file);
  line[has_line ? strcspn(line, "\r\n") : 0] = 0;
  if (!*line)
    return tide_fail(diag, TIDE_ERR_USAGE, "there is no token in %s", path);
  *ret_token = tide_strdup(line);
  return TIDE_ERR_OK;
}

// ---- from services ----

// NULL: there is none.
static enum tide_err find_token(const struct tide_arguments *arguments, char **ret_token,
                                struct tide_diag *diag)
{
  const char *given = getenv("TIDEMARK_TOKEN");
  if (arguments->token_file)
    return tide_token_read(arguments->token_file, ret_token, diag);
  *ret_token = given && *given ? tide_strdup(given) : NULL;
  return TIDE_ERR_OK;
}

static enum tide_err fetch_capture(const struct tide_arguments *arguments, const char *address,
                                   struct tide_opened *opened, struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *token = NULL;
  struct tide_exchange answer = {0};
  enum tide_err err = find_token(arguments, &token, diag);
  if (err)
    return err;
  const struct tide_endpoint_ask ask = {
      .address = address,
      .token = token,
      .timeout_s = arguments->timeout_s && arguments->timeout_s < TIMEOUT_MAX_S
                       ? (uint32_t)arguments->timeout_s
                   : arguments->timeout_s ? TIMEOUT_MAX_S
                                          : TIMEOUT_DEFAULT_S,
      .max_bytes = FETCHED_MAX_BYTES,
  };
  tide_progress_say("tidemark: waiting for %s", address);
  err = tide_endpoint_fetch(&ask, &answer, diag);
  tide_progress_stop();
  if (err)
    return err;
  opened->path = tide_strdup(answer.url);
  opened->file_bytes = answer.body.n;
  err = tide_import_bytes(answer.body.data, answer.body.n, answer.url, &opened->capture, diag);
  if (!err && opened->capture->cut) // a file may be all that is left; a service can be asked again
    err = tide_fail(diag, TIDE_ERR_CUT, "the profile of %s is not whole: ask again", answer.url);
  if (!err)
    opened->n_new_names = tide_capture_complete(opened->capture, answer.url);
  tide_exchange_done(&answer);
  return err;
}

static enum tide_err open_service(const struct tide_arguments *arguments, const char *address,
                                  struct tide_opened *ret_opened, struct tide_diag *diag)
{
  struct tide_opened opened = {0};
  enum tide_err err = fetch_capture(arguments, address, &opened, diag);
  if (err)
    tide_opened_done(&opened);
  else
    *ret_opened = opened;
  return err;
}

// ---- from files ----

enum tide_err tide_capture_open(const struct tide_arguments *arguments, const char *path,
                                struct tide_opened *ret_opened, struct tide_diag *diag)
{
  if (path && tide_address_is(path))
    return open_service(arguments, path, ret_opened, diag);
  struct tide_opened opened = {.by_default = !path};
  if (path && strcmp(path, "-") == 0)
    path = "/dev/stdin";
  bool is_pipe = path && strcmp(path, "/dev/stdin") == 0;
  opened.path = path ? tide_strdup(path) : tide_capture_newest();
  if (!opened.path)
    return tide_capture_none(diag);
  bool is_store = tide_store_file_is(opened.path);
  enum tide_err err = is_store ? tide_store_file_read(opened.path, &opened.capture, diag)
                               : tide_import_file(opened.path, &opened.capture, diag);
  if (err) {
    tide_opened_done(&opened);
    return err;
  }
  opened.n_new_names =
      tide_capture_complete(opened.capture, is_pipe ? "standard input" : opened.path);
  opened.file_bytes = room_taken(opened.path, is_store);
  *ret_opened = opened;
  return TIDE_ERR_OK;
}

void tide_opened_done(struct tide_opened *opened)
{
  tide_capture_free(opened->capture);
  free(opened->path);
  *opened = (struct tide_opened){0};
}

// ---- the cache ----
//
// Where the cache is, and how large. A setting that makes no sense costs a line, not the report.

#define CACHE_BYTES_DEFAULT (256ull << 20)

static const char *environment(const char *name)
{
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

// Owned; NULL: none.
static char *cache_directory(void)
{
  const char *own = environment("TIDEMARK_CACHE"), *cache = environment("XDG_CACHE_HOME");
  const char *home = environment("HOME");
  if (own && strcmp(own, "off") == 0)
    return NULL;
  if (own && *own == '/')
    return tide_strdup(own);
  if (own)
    tide_say("TIDEMARK_CACHE is \"off\" or a path from the root, not \"%s\"; ignored", own);
  if (cache && *cache == '/')
    return tide_sprintf("%s/tidemark", cache);
  bool is_there = home && *home == '/' && access(home, F_OK) == 0; // homes are not ours to make
  return is_there ? tide_sprintf("%s/.cache/tidemark", home) : NULL;
}

static uint64_t cache_max_bytes(void)
{
  const char *text = environment("TIDEMARK_CACHE_MAX");
  uint64_t bytes = CACHE_BYTES_DEFAULT;
  struct tide_diag diag = {0};
  enum tide_err err = text ? tide_size_parse(text, &bytes, &diag) : TIDE_ERR_OK;
  if (err) {
    TIDE_CLEANUP_FREE char *why = tide_cli_failure_words(err, &diag);
    tide_say("TIDEMARK_CACHE_MAX: %s; ignored", why);
  }
  return bytes;
}

// In TIDEMARK_CACHE, else in $XDG_CACHE_HOME/tidemark or ~/.cache/tidemark; of 256 MiB, or
// TIDEMARK_CACHE_MAX. NULL with --no-cache, with TIDEMARK_CACHE=off, and where there is no home.
static struct tide_name_cache *open_cache(const struct tide_arguments *arguments)
{
  TIDE_CLEANUP_FREE char *dir = arguments->no_cache ? NULL : cache_directory();
  return dir ? tide_name_cache_new(dir, cache_max_bytes()) : NULL;
}

// ---- rules ----
//
// One file at most, so that a report made with --rules is the same on every machine. A file that
// was named must be there; the one in the usual place need not.

// Owned; NULL when the environment does not tell or there is no such file.
static char *usual_path(void)
{
  const char *config = environment("XDG_CONFIG_HOME"), *home = environment("HOME");
  char *path = config ? tide_sprintf("%s/tidemark/rules", config)
               : home ? tide_sprintf("%s/.config/tidemark/rules", home)
                      : NULL;
  if (path && access(path, F_OK) != 0) {
    free(path);
    path = NULL;
  }
  return path;
}

enum tide_err tide_rules_open(const struct tide_arguments *arguments, struct tide_rules **ret_rules,
                              struct tide_diag *diag)
{
  const char *named = arguments->rules ? arguments->rules : environment("TIDEMARK_RULES");
  TIDE_CLEANUP_FREE char *path = named ? tide_strdup(named) : usual_path();
  struct tide_rules *rules = tide_rules_new();
  enum tide_err err = path ? tide_rules_read(rules, path, diag) : TIDE_ERR_OK;
  if (err)
    tide_rules_free(rules);
  else
    *ret_rules = rules;
  return err;
}

// ---- names ----

enum tide_err tide_sources_check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  for (const char *dirs = arguments->debug_dirs; dirs && *dirs;) {
    size_t n = strcspn(dirs, ":");
    TIDE_CLEANUP_FREE char *dir = tide_strndup(dirs, n);
    DIR *opened = n ? opendir(dir) : NULL;
    if (n && !opened)
      return tide_fail_errno(diag, "--debug-dir: cannot read %s", dir);
    if (opened)
      closedir(opened);
    dirs += n + (dirs[n] == ':');
  }
  return TIDE_ERR_OK;
}

struct tide_symbol_sources tide_sources_of(const struct tide_arguments *arguments)
{
  // `run` ends when its command does, `top` shows what is now, `info` states facts, and whoever
  // asks `serve` waits for the answer: none of them waits for a network.
  bool may_wait = arguments->verb != TIDE_VERB_RUN && arguments->verb != TIDE_VERB_TOP &&
                  arguments->verb != TIDE_VERB_INFO && arguments->verb != TIDE_VERB_SERVE;
  return (struct tide_symbol_sources){
      .debug_dirs = arguments->debug_dirs,
      .download = may_wait && !arguments->no_debuginfod,
      .watch = tide_download_watch(),
      .hints = tide_cli_hint_words,
  };
}

static void show_progress(void *context, const char *path, size_t n_asked)
{
  static _Thread_local const char *shown;
  const char *slash = strrchr(path, '/');
  if (path == shown && n_asked % 64)
    return; // it is asked thousands of times a second
  shown = path;
  tide_progress_say("tidemark: looking up names in %s (%zu)", slash ? slash + 1 : path, n_asked);
}

struct tide_resolver *tide_resolver_open(const struct tide_arguments *arguments)
{
  struct tide_symbol_sources sources = tide_sources_of(arguments);
  struct tide_resolver *resolver = tide_resolver_new();
  tide_resolver_set_sources(resolver, &sources);
  tide_resolver_set_cache(resolver, open_cache(arguments));
  // Data that is written to the terminal as it is made leaves no room for a line of ours.
  bool is_text = !arguments->json && !arguments->csv && !arguments->md && !arguments->to;
  if (is_text || !isatty(STDOUT_FILENO))
    tide_resolver_watch(resolver, show_progress, NULL);
  return resolver;
}

static size_t know_nothing(void *context, uint32_t module, uint64_t addr,
                           struct tide_symbol_frame *out, size_t max)
{
  return 0;
}

// Looking up names takes time; whoever neither shows them nor chooses by them is spared that.
static bool needs_names(const struct tide_arguments *arguments)
{
  return !arguments->no_symbols || arguments->fold || arguments->function || arguments->file ||
         arguments->ignore || arguments->focus || arguments->hide;
}

// By crate and module the question is whose code allocates: under own blame nearly all of it would
// be the program's.
static enum tide_blamed blamed_of(const struct tide_arguments *arguments)
{
  bool by_part = arguments->group == TIDE_GROUP_CRATE || arguments->group == TIDE_GROUP_MODULE;
  if (arguments->blame >= 0)
    return (enum tide_blamed)arguments->blame;
  return by_part ? TIDE_BLAMED_LIBRARY : TIDE_BLAMED_OWN;
}

static struct tide_naming *prepare_naming(const struct tide_arguments *arguments,
                                          const struct tide_rules *rules,
                                          struct tide_naming *naming)
{
  tide_naming_set_rules(naming, rules);
  tide_naming_set_blame(naming, blamed_of(arguments));
  bool folds = arguments->verb != TIDE_VERB_EXPORT || arguments->fold;
  if (needs_names(arguments) && folds)
    tide_wrappers_fold(naming);
  return naming;
}

struct tide_naming *tide_naming_open(const struct tide_arguments *arguments,
                                     const struct tide_image *image, const struct tide_rules *rules)
{
  static const struct tide_name_source nobody = {.lookup = know_nothing};
  return prepare_naming(arguments, rules,
                        needs_names(arguments)
                            ? tide_naming_new(image, tide_resolver_open(arguments))
                            : tide_naming_new_from(image, &nobody));
}

struct tide_naming *tide_naming_open_with(const struct tide_arguments *arguments,
                                          const struct tide_image *image,
                                          const struct tide_rules *rules,
                                          struct tide_resolver *resolver)
{
  return prepare_naming(arguments, rules, tide_naming_new_with(image, resolver));
}
