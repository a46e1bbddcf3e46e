// SPDX-License-Identifier: Apache-2.0
//
// Numbers to words, with one rule for rounding: first choose the unit such that the rounded
// figure stays below the next unit, then print.
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *tide_units_digits(char out[TIDE_UNITS_MAX], uint64_t n)
{
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
  char *p = out;
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0)
      *p++ = ',';
    *p++ = digits[i];
  }
  *p = 0;
  return out;
}

// "12.3 <name>" in the first unit whose rounded figure stays below base; the last takes the rest.
static void scaled(char *out, double value, double base, const char *const *names, int n_names)
{
  int unit = 0;
  while (unit < n_names - 1 && value >= base - 0.05) {
    value /= base;
    unit++;
  }
  snprintf(out, TIDE_UNITS_MAX, "%.1f %s", value, names[unit]);
}

const char *tide_units_bytes(char out[TIDE_UNITS_MAX], int64_t bytes, enum tide_units units)
{
  static const char *const iec[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  static const char *const si[] = {"kB", "MB", "GB", "TB", "PB"};
  uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
  double base = units == TIDE_UNITS_SI ? 1000 : 1024;
  char *p = out;
  if (bytes < 0)
    *p++ = '-';
  if (units == TIDE_UNITS_BYTES || (double)size < base) {
    tide_units_digits(p, size);
    strcat(p, " B");
    return out;
  }
  char text[TIDE_UNITS_MAX];
  scaled(text, (double)size / base, base, units == TIDE_UNITS_SI ? si : iec, 5);
  memcpy(p, text, strlen(text) + 1);
  return out;
}

const char *tide_units_count(char out[TIDE_UNITS_MAX], uint64_t n)
{
  static const char *const names[] = {"M", "G", "T", "P"};
  if (n < 1000000)
    return tide_units_digits(out, n);
  scaled(out, (double)n / 1e6, 1000, names, 4);
  return out;
}

// Three significant digits below 1000 of a unit: "8.42", "12.4", "830".
static void three_digits(char *out, double value, const char *name)
{
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  snprintf(out, TIDE_UNITS_MAX, "%.*f %s", decimals, value, name);
}

const char *tide_units_time(char out[TIDE_UNITS_MAX], uint64_t time_ns, int utf8)
{
  double value = (double)time_ns;
  uint64_t seconds = time_ns / 1000000000 + (time_ns % 1000000000 >= 500000000);
  if (time_ns < 1000)
    snprintf(out, TIDE_UNITS_MAX, "%" PRIu64 " ns", time_ns);
  else if (value < 999.5e3)
    three_digits(out, value / 1e3, utf8 ? "\xc2\xb5s" : "us");
  else if (value < 999.5e6)
    three_digits(out, value / 1e6, "ms");
  else if (value < 99.95e9)
    three_digits(out, value / 1e9, "s");
  else if (seconds < 3600)
    snprintf(out, TIDE_UNITS_MAX, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
  else
    snprintf(out, TIDE_UNITS_MAX, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
             seconds / 60 % 60);
  return out;
}

const char *tide_units_share(char out[TIDE_UNITS_MAX], int64_t part, int64_t whole)
{
  if (part == 0 || whole <= 0) {
    snprintf(out, TIDE_UNITS_MAX, "0 %%");
    return out;
  }
  double share = 100.0 * (double)part / (double)whole;
  if (share > 0 && share < 0.1)
    snprintf(out, TIDE_UNITS_MAX, "<0.1 %%");
  else if (part < whole && share >= 99.95)
    snprintf(out, TIDE_UNITS_MAX, "99.9 %%");
  else
    snprintf(out, TIDE_UNITS_MAX, "%.1f %%", share);
  return out;
}

const char *tide_units_percent(char out[TIDE_UNITS_MAX], uint64_t part, uint64_t whole)
{
  double percent = whole ? 100.0 * (double)part / (double)whole : 0;
  if (part > 0 && percent < 1)
    snprintf(out, TIDE_UNITS_MAX, "<1 %%");
  else if (part < whole && percent > 99)
    snprintf(out, TIDE_UNITS_MAX, percent > 99.5 ? ">99 %%" : "99 %%");
  else
    snprintf(out, TIDE_UNITS_MAX, "%.0f %%", percent);
  return out;
}
