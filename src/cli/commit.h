// SPDX-License-Identifier: Apache-2.0
//
// Which commit the command was built from: what tools/commit.py says when it is built. Of all files
// the one that holds it alone is compiled for another commit.
#pragma once

// "caf95d9ed865", "caf95d9ed865, with changes" or "unknown".
extern const char tide_commit[];
