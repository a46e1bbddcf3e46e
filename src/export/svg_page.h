// SPDX-License-Identifier: Apache-2.0
//
// What is the same in every SVG we write: how boxes look, and what they do when scripts may run.
#pragma once

enum { // pixels
  TIDE_SVG_WIDTH = 1200,
  TIDE_SVG_MARGIN = 10,
  TIDE_SVG_ROW = 18,
  TIDE_SVG_HEAD = 64,
  TIDE_SVG_FOOT = 28,
};

extern const char tide_svg_style[];  // CSS
extern const char tide_svg_script[]; // for a CDATA section
