// SPDX-License-Identifier: Apache-2.0
//
// What measures and units are called, apart from the rest for the option table's sake.
#include "profile/question.h"

const char *const tide_measure_words[TIDE_MEASURES_N] = {
    [TIDE_MEASURE_PEAK] = "peak",   [TIDE_MEASURE_LIVE] = "live", [TIDE_MEASURE_TOTAL] = "total",
    [TIDE_MEASURE_GROWN] = "grown", [TIDE_MEASURE_LEAK] = "leak", [TIDE_MEASURE_TEMP] = "temp",
};

const char *const tide_sort_words[TIDE_SORTS_N] = {
    [TIDE_MEASURE_PEAK] = "peak",   [TIDE_MEASURE_LIVE] = "live", [TIDE_MEASURE_TOTAL] = "total",
    [TIDE_MEASURE_GROWN] = "grown", [TIDE_MEASURE_LEAK] = "leak", [TIDE_MEASURE_TEMP] = "temp",
    [TIDE_SORT_COUNT] = "count",
};

const char *const tide_by_words[TIDE_BYS_N] = {"auto", "bytes", "blocks"};
