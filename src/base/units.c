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

enum { NUMBER_MAX = 32 }; // "18,446,744,073,709,551,615 B"

// "12.3 <name>" in the first unit whose rounded figure stays below base; the last takes the rest.
static void write_scaled(char *out, double value, double base, const char *const *names,
                         int n_names)
{
  int unit = 0;
  while (unit < n_names - 1 && value >= base - 0.05) {
    value /= base;
    unit++;
  }
  snprintf(out, NUMBER_MAX, "%.1f %s", value, names[unit]);
}

static uint64_t size_of(int64_t value)
{
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static void write_count(char *out, uint64_t n)
{
  static const char *const names[] = {"M", "G", "T", "P"};
  if (n < 1000000)
    tide_units_digits(out, n);
  else
    write_scaled(out, (double)n / 1e6, 1000, names, 4);
}

static void write_bytes(char *out, uint64_t size, enum tide_units units)
{
  static const char *const iec[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  static const char *const si[] = {"kB", "MB", "GB", "TB", "PB"};
  if (units == TIDE_UNITS_WEIGHT) {
    write_count(out, size);
    return;
  }
  double base = units == TIDE_UNITS_SI ? 1000 : 1024;
  if (units == TIDE_UNITS_BYTES || (double)size < base) {
    tide_units_digits(out, size);
    strcat(out, " B");
    return;
  }
  write_scaled(out, (double)size / base, base, units == TIDE_UNITS_SI ? si : iec, 5);
}

// What stands before a number that is not exact, and has no bound that is said.
static const char *mark_of(struct tide_amount amount, struct tide_style style)
{
  switch (amount.exactness) {
  case TIDE_EXACT:
  case TIDE_UNKNOWN: return "";
  case TIDE_WITHIN: return amount.bound ? "" : style.utf8 ? "≈ " : "~ ";
  case TIDE_AT_MOST: return amount.bound ? "" : style.utf8 ? "≤ " : "<= ";
  case TIDE_AT_LEAST: return style.utf8 ? "≥ " : ">= ";
  case TIDE_ESTIMATED: return style.utf8 ? "≈ " : "~ ";
  }
  return "";
}

static bool has_bound(struct tide_amount amount)
{
  return amount.bound && (amount.exactness == TIDE_WITHIN || amount.exactness == TIDE_AT_MOST ||
                          amount.exactness == TIDE_ESTIMATED);
}

typedef void write_size(char *out, uint64_t size, struct tide_style style);

static void bytes_size(char *out, uint64_t size, struct tide_style style)
{
  write_bytes(out, size, style.units);
}

static void count_size(char *out, uint64_t size, struct tide_style style)
{
  (void)style;
  write_count(out, size);
}

// Whether the number, as rounded as it is told, could be another one. One that could not needs no
// word on its bound.
static bool bound_shows(struct tide_amount amount, struct tide_style style, write_size *write)
{
  char told[NUMBER_MAX], least[NUMBER_MAX], most[NUMBER_MAX];
  uint64_t size = size_of(amount.value), room = UINT64_MAX - size;
  write(told, size, style);
  write(least, size > amount.bound ? size - amount.bound : 0, style);
  write(most, size + (amount.bound < room ? amount.bound : room), style);
  return strcmp(told, least) != 0 || (amount.exactness != TIDE_AT_MOST && strcmp(told, most) != 0);
}

static void word_bound(char *out, size_t n, struct tide_amount amount, struct tide_style style,
                       write_size *write)
{
  char text[NUMBER_MAX];
  write(text, amount.bound, style);
  if (amount.exactness == TIDE_AT_MOST)
    snprintf(out, n, "too high by %s at most", text);
  else
    snprintf(out, n, "%s %s", style.utf8 ? "±" : "+/-", text);
}

static const char *word_amount(char out[TIDE_UNITS_MAX], struct tide_amount amount,
                               struct tide_style style, write_size *write)
{
  char number[NUMBER_MAX], bound[TIDE_UNITS_MAX];
  if (amount.exactness == TIDE_UNKNOWN) {
    snprintf(out, TIDE_UNITS_MAX, "unknown");
    return out;
  }
  write(number, size_of(amount.value), style);
  int n = snprintf(out, TIDE_UNITS_MAX, "%s%s%s", mark_of(amount, style),
                   amount.value < 0 ? "-" : "", number);
  bool is_told_here = !style.bounds_beside || amount.exactness == TIDE_ESTIMATED;
  if (has_bound(amount) && is_told_here && bound_shows(amount, style, write)) {
    word_bound(bound, sizeof bound, amount, style, write);
    snprintf(out + n, TIDE_UNITS_MAX - (size_t)n,
             amount.exactness == TIDE_AT_MOST ? " (%s)" : " %s", bound);
  }
  return out;
}

const char *tide_units_bytes(char out[TIDE_UNITS_MAX], struct tide_amount bytes,
                             struct tide_style style)
{
  return word_amount(out, bytes, style, bytes_size);
}

const char *tide_units_count(char out[TIDE_UNITS_MAX], struct tide_amount n,
                             struct tide_style style)
{
  return word_amount(out, n, style, count_size);
}

const char *tide_units_bound(char out[TIDE_UNITS_MAX], struct tide_amount bytes,
                             struct tide_style style)
{
  out[0] = 0;
  if (has_bound(bytes) && bytes.exactness != TIDE_ESTIMATED && // that has it with the number
      (!style.bounds_beside || bound_shows(bytes, style, bytes_size)))
    word_bound(out, TIDE_UNITS_MAX, bytes, style, bytes_size);
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

static void write_share(char *out, size_t n, int64_t part, int64_t whole)
{
  double share = 100.0 * (double)part / (double)whole;
  if (share > 0 && share < 0.1)
    snprintf(out, n, "<0.1 %%");
  else if (part < whole && share >= 99.95)
    snprintf(out, n, "99.9 %%");
  else
    snprintf(out, n, "%.1f %%", share);
}

// Of a part without a bound that is said. The whole is as exact as its parts.
static const char *share_mark(struct tide_amount part, struct tide_style style)
{
  return *mark_of(part, style) ? style.utf8 ? "≈ " : "~ " : "";
}

const char *tide_units_share(char out[TIDE_UNITS_MAX], struct tide_amount part, int64_t whole,
                             struct tide_style style)
{
  if (part.value == 0 || whole <= 0) {
    snprintf(out, TIDE_UNITS_MAX, "0 %%");
    return out;
  }
  int n = snprintf(out, TIDE_UNITS_MAX, "%s", share_mark(part, style));
  write_share(out + n, TIDE_UNITS_MAX - (size_t)n, part.value, whole);
  return out;
}

const char *tide_units_percent(char out[TIDE_UNITS_MAX], struct tide_amount part, uint64_t whole,
                               struct tide_style style)
{
  uint64_t some = (uint64_t)part.value;
  double percent = whole ? 100.0 * (double)some / (double)whole : 0;
  int n = snprintf(out, TIDE_UNITS_MAX, "%s", some ? share_mark(part, style) : "");
  char *at = out + n;
  size_t room = TIDE_UNITS_MAX - (size_t)n;
  if (some > 0 && percent < 1)
    snprintf(at, room, "<1 %%");
  else if (some < whole && percent > 99)
    snprintf(at, room, percent > 99.5 ? ">99 %%" : "99 %%");
  else
    snprintf(at, room, "%.0f %%", percent);
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

// ---- amounts ----

// Differences of bounds to one side are bounded to both.
struct tide_amount tide_amount_of_two(int64_t value, struct tide_amount a, struct tide_amount b)
{
  enum tide_exactness most = a.exactness > b.exactness ? a.exactness : b.exactness;
  bool has_bounds =
      (a.exactness == TIDE_EXACT || a.bound) && (b.exactness == TIDE_EXACT || b.bound);
  if (most == TIDE_AT_MOST || most == TIDE_AT_LEAST)
    most = TIDE_WITHIN;
  return (struct tide_amount){value, most, has_bounds ? a.bound + b.bound : 0};
}
