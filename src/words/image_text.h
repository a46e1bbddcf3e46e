// SPDX-License-Identifier: Apache-2.0
//
// A process image in words.
#pragma once
#include "model/model.h"

// "indexer": the name it was called by, argv[0]'s, where that is one; else its file's; "?" when
// neither is known. Lives as long as the image.
const char *tide_image_program(const struct tide_image *image);

// By that name, or by the name of the file: python3 is python3.11.
bool tide_image_same_program(const struct tide_image *a, const struct tide_image *b);

// Which process it is, "indexer (process 4711)", or "indexer (several processes)"; owned.
char *tide_image_process_words(const struct tide_image *image);

// "exited 0", "killed by SIGSEGV", "replaced itself by exec", "last seen"; owned.
char *tide_image_end_words(const struct tide_image *image);

// "exited", "signaled", "execed", "unknown": the same for machines.
const char *tide_image_end_tag(const struct tide_image *image);

// Argument i of the command line, or NULL past the last. Lives as long as the image.
const char *tide_image_argument(const struct tide_image *image, size_t i);

// The command line as one could type it again, with quotes where needed; owned.
char *tide_image_command(const struct tide_image *image);

// What the numbers of an image count that does not count allocations (DHAT's other modes), as a
// sentence to be added; NULL when it does.
const char *tide_image_meaning(const struct tide_image *image);

// What another tool's file does not tell: "numbers of blocks; resizes; when a place allocated";
// owned, NULL when it tells everything.
char *tide_image_untold_words(const struct tide_image *image);

// Why a recorder stepped aside; NULL when it did not.
const char *tide_image_off_words(const struct tide_image *image);

// "x86_64", "aarch64", "unknown".
const char *tide_capture_arch(const struct tide_capture *capture);
// What became of the processes that are not kept one by one: "are added up, by program".
const char *tide_capture_left_out_words(const struct tide_capture *capture);
