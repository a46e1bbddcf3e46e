// SPDX-License-Identifier: Apache-2.0
//
// Taking out of a capture what its reader need not know. Command lines hold what people type:
// passwords, tokens, names of customers.
#pragma once
#include "model/model.h"

// Of a command line, the program and how many arguments it had: "[3 arguments left out]" stands in
// their place. Paths of programs, libraries and sources stay, as does the host's name. Gives
// whether there were any; doing it again changes nothing.
bool tide_image_redact_args(struct tide_image *image);
bool tide_capture_redact_args(struct tide_capture *capture);
