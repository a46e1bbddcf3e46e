// SPDX-License-Identifier: Apache-2.0
//
// Numbers to words and back.
#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// ---- for people ----
//
// Numbers to words, with one rule for rounding: first choose the unit such that the rounded
// figure stays below the next unit, then print.

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

// ---- from people ----
//
// A number is digits with an optional decimal part, then a unit from a table. All arithmetic is in
// integers: 0.1GB is 100,000,000 bytes, not what a double makes of it.

#define N(array) (sizeof(array) / sizeof *(array))

struct number {
  uint64_t whole;
  uint64_t fraction, fraction_unit; // fraction / fraction_unit, e.g. 5 / 10
  const char *unit;                 // what follows, blanks skipped
};

struct unit {
  const char *name;
  uint64_t size;
};

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

// Digits past the ninth of a fraction are too small to matter and are skipped.
static bool read_number(const char *text, struct number *ret_number)
{
  struct number number = {.fraction_unit = 1};
  if (!is_digit(*text))
    return false;
  for (; is_digit(*text); text++)
    if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
        __builtin_add_overflow(number.whole, (uint64_t)(*text - '0'), &number.whole))
      return false;
  if (*text == '.') {
    if (!is_digit(*++text))
      return false;
    for (; is_digit(*text); text++) {
      if (number.fraction_unit >= 1000000000)
        continue;
      number.fraction = number.fraction * 10 + (uint64_t)(*text - '0');
      number.fraction_unit *= 10;
    }
  }
  while (*text == ' ')
    text++;
  number.unit = text;
  *ret_number = number;
  return true;
}

// The number in units of size, rounded down; false when it is too large.
static bool multiply(const struct number *number, uint64_t size, uint64_t *ret_value)
{
  uint64_t value;
  unsigned __int128 part = (unsigned __int128)number->fraction * size / number->fraction_unit;
  return !__builtin_mul_overflow(number->whole, size, &value) &&
         !__builtin_add_overflow(value, (uint64_t)part, ret_value);
}

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(units[i].name, name) == 0)
      return &units[i];
  return NULL;
}

enum tide_err tide_size_parse(const char *text, uint64_t *ret_bytes, struct tide_diag *diag)
{
  static const struct unit units[] = {
      {"", 1},
      {"B", 1},
      {"K", 1ull << 10},
      {"KiB", 1ull << 10},
      {"kB", 1000},
      {"M", 1ull << 20},
      {"MiB", 1ull << 20},
      {"MB", 1000000},
      {"G", 1ull << 30},
      {"GiB", 1ull << 30},
      {"GB", 1000000000},
      {"T", 1ull << 40},
      {"TiB", 1ull << 40},
      {"TB", 1000000000000},
      {"P", 1ull << 50},
      {"PiB", 1ull << 50},
      {"PB", 1000000000000000},
  };
  struct number number;
  const struct unit *unit =
      read_number(text, &number) ? find_unit(units, N(units), number.unit) : NULL;
  if (!unit || (unit->size == 1 && number.fraction))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is no size; write it as 4096, 64KiB, 64M or 1.5GB", text);
  if (!multiply(&number, unit->size, ret_bytes))
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is more than 64 bits can say", text);
  return TIDE_ERR_OK;
}

enum tide_err tide_percent_parse(const char *text, uint64_t *ret_ppm, struct tide_diag *diag)
{
  struct number number;
  if (!read_number(text, &number) || strcmp(number.unit, "%") != 0)
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is no share; write it as 5%% or 0.5%%", text);
  if (!multiply(&number, 10000, ret_ppm))
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is more than 64 bits can say", text);
  return TIDE_ERR_OK;
}

// The words name what is wanted, for the refusal.
static enum tide_err parse_time(const char *text, const char *words, uint64_t *ret_time_ns,
                                struct tide_diag *diag)
{
  static const struct unit units[] = {
      {"ns", 1},
      {"us", 1000},
      {"µs", 1000}, // U+00B5, the micro sign
      {"μs", 1000}, // U+03BC, the Greek letter
      {"ms", 1000000},
      {"s", 1000000000},
      {"m", 60000000000},
      {"min", 60000000000},
      {"h", 3600000000000},
  };
  struct number number;
  bool is_number = read_number(text, &number);
  if (is_number && !*number.unit && !number.whole && !number.fraction) {
    *ret_time_ns = 0;
    return TIDE_ERR_OK;
  }
  const struct unit *unit = is_number ? find_unit(units, N(units), number.unit) : NULL;
  if (!unit && is_number && !*number.unit)
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" lacks a unit; write %ss or %sms", text, text,
                     text);
  if (!unit)
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is no time; write it as %s", text, words);
  if (!multiply(&number, unit->size, ret_time_ns))
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is more than 64 bits of nanoseconds can say",
                     text);
  return TIDE_ERR_OK;
}

enum tide_err tide_time_parse(const char *text, uint64_t *ret_time_ns, struct tide_diag *diag)
{
  return parse_time(text, "1.5s, 250ms, 40us or 2m", ret_time_ns, diag);
}

static enum tide_err parse_share(const char *text, const struct number *number,
                                 struct tide_moment *ret_moment, struct tide_diag *diag)
{
  uint64_t ppm;
  if (!multiply(number, 10000, &ppm) || ppm > 1000000)
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" lies after the end; a run has 100%%", text);
  *ret_moment = (struct tide_moment){.kind = TIDE_MOMENT_SHARE, .share_ppm = (uint32_t)ppm};
  return TIDE_ERR_OK;
}

enum tide_err tide_moment_parse(const char *text, struct tide_moment *ret_moment,
                                struct tide_diag *diag)
{
  static const struct {
    const char *word;
    enum tide_moment_kind kind;
  } words[] = {{"start", TIDE_MOMENT_START}, {"peak", TIDE_MOMENT_PEAK}, {"end", TIDE_MOMENT_END}};
  for (size_t i = 0; i < N(words); i++) {
    if (strcmp(text, words[i].word) == 0) {
      *ret_moment = (struct tide_moment){.kind = words[i].kind};
      return TIDE_ERR_OK;
    }
  }
  struct number number;
  if (read_number(text, &number) && strcmp(number.unit, "%") == 0)
    return parse_share(text, &number, ret_moment, diag);
  struct tide_moment moment = {.kind = TIDE_MOMENT_TIME};
  enum tide_err err =
      parse_time(text, "1.5s, 250ms, 40%, start, peak or end", &moment.time_ns, diag);
  if (!err)
    *ret_moment = moment;
  return err;
}
