// SPDX-License-Identifier: Apache-2.0
//
// Source paths without what depends on where a program was built. This is what text shows, and by
// what the places of two builds are matched.
#pragma once

// A source path as people say it: crate and path for Rust dependencies, else the last two parts. A
// tail of path.
const char *tide_shorten_path(const char *path);
