// SPDX-License-Identifier: Apache-2.0
//
// From what the user said to a capture in memory, to names, and to the rules by which they are
// judged.
#pragma once
#include "base/err.h"
#include "cli/arguments.h"
#include "model/model.h"
#include "view/naming.h"
#include "view/rules.h"

// ---- captures ----

struct tide_opened {
  struct tide_capture *capture; // owned
  char *path;                   // owned
  uint64_t file_bytes;          // that it takes on disk
  size_t n_new_names;           // of made code, found now: the file does not have them
  bool by_default;              // the user named no file
  bool is_redacted;             // arguments were taken out that the file has
};

// Opens the file, "-" being standard input, or with NULL the newest capture of the current
// directory. Recognises .tide and bare store files, and those of other tools
// (import/importers.def), by their content. A URL is fetched, with the token and the patience that
// the arguments ask for.
enum tide_err tide_capture_open(const struct tide_arguments *arguments, const char *path,
                                struct tide_opened *ret_opened, struct tide_diag *diag);
void tide_opened_done(struct tide_opened *opened);

// What a capture that was just read lacks: the names of code made while the program ran, as far as
// they are on this machine, of which it gives how many are new; and what it is called.
size_t tide_capture_complete(struct tide_capture *capture, const char *name);

// The token in the first line of a file, owned.
enum tide_err tide_token_read(const char *path, char **ret_token, struct tide_diag *diag);

// The newest capture of the current directory, owned; NULL when there is none, about which
// tide_capture_none() has a sentence.
char *tide_capture_newest(void);
enum tide_err tide_capture_none(struct tide_diag *diag);

// ---- names ----

// Fails when a directory of --debug-dir cannot be used.
enum tide_err tide_sources_check(const struct tide_arguments *arguments, struct tide_diag *diag);
// Points into the arguments.
struct tide_symbol_sources tide_sources_of(const struct tide_arguments *arguments);

// Names from the sources asked for. The arguments must outlive it.
struct tide_resolver *tide_resolver_open(const struct tide_arguments *arguments);

// The names of an image, by the rules (NULL: the built-in ones) and from the sources asked for.
// Arguments, image and rules must outlive them.
struct tide_naming *tide_naming_open(const struct tide_arguments *arguments,
                                     const struct tide_image *image,
                                     const struct tide_rules *rules);
// The same from a resolver that outlives them, for images that come one after another.
struct tide_naming *tide_naming_open_with(const struct tide_arguments *arguments,
                                          const struct tide_image *image,
                                          const struct tide_rules *rules,
                                          struct tide_resolver *resolver);

// ---- rules ----
//
// Where the user's rules come from: --rules FILE, or else $TIDEMARK_RULES, or else
// $XDG_CONFIG_HOME/tidemark/rules (~/.config without it) if there is such a file.

// *ret_rules is owned, to be freed with tide_rules_free(), and may be without rules.
enum tide_err tide_rules_open(const struct tide_arguments *arguments, struct tide_rules **ret_rules,
                              struct tide_diag *diag);
