// SPDX-License-Identifier: Apache-2.0
//
// Everything between the words on the command line and something to show: the capture, the process
// meant, the question, the names, the rules and filters. For every verb that looks into a capture.
#pragma once
#include "cli/arguments.h"
#include "cli/opening.h"
#include "view/rules.h"
#include "view/suppressions.h"
#include "view/view.h"

struct tide_looking {
  struct tide_opened opened;
  struct tide_rules *rules;
  struct tide_profile *profile; // asked
  struct tide_naming *naming;
  struct tide_filter *filter;
  struct tide_suppressions *suppressions; // applied to the view; NULL: none
  struct tide_view view;
};

// Opens path, or the newest capture of the current directory when it is NULL (and says so). The
// question is the one of the options; wish overrides it when it is not NULL.
enum tide_err tide_looking_open(const struct tide_arguments *arguments, const char *path,
                                const struct tide_wish *wish, struct tide_looking *ret_looking,
                                struct tide_diag *diag);
// Asks another question of what is open already.
enum tide_err tide_looking_ask(struct tide_looking *looking, const struct tide_arguments *arguments,
                               const struct tide_wish *wish, struct tide_diag *diag);

// Says what the suppressions took out, if there are any; for verbs whose text does not.
void tide_looking_tell_suppressed(const struct tide_looking *looking,
                                  const struct tide_arguments *arguments);

void tide_looking_done(struct tide_looking *looking); // all zero is fine

// Opens the one file named, or the newest capture (and says so): for verbs that need no names.
enum tide_err tide_looking_capture(const struct tide_arguments *arguments,
                                   struct tide_opened *ret_opened, struct tide_diag *diag);

// The number of the process that a word means; *ret_pid is 0 where it is no number, or the name of
// a file.
enum tide_err tide_looking_pid(const char *word, uint32_t *ret_pid, struct tide_diag *diag);

// A process that runs, with where its memory is now, which is the last table of its image: as its
// recorder knows it, or where nobody records it, without any numbers (tide_image_is_unrecorded()).
enum tide_err tide_looking_process(const struct tide_arguments *arguments, uint32_t pid,
                                   struct tide_looking *ret_looking, struct tide_diag *diag);

// The one file named, or NULL; more than one is refused.
enum tide_err tide_looking_path(const struct tide_arguments *arguments, const char **ret_path,
                                struct tide_diag *diag);
