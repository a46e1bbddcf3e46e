// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a program's use of memory, and where: findings, ranked. Each stands on
// recorded numbers, which it carries; words/finding_words.h makes sentences of it.
//
// A fault says that something should be changed; how sure that is depends on what is known of the
// run. A note is a fact that a healthy program may show as well, as what an item costs: its rule
// has nothing that tells the two apart. It is never said to be wrong, and stands behind all faults.
//
// Findings refer to the naming they were made with and must not outlive it.
#pragma once
#include "base/hint.h"
#include "base/units.h"
#include "view/naming.h"

enum tide_saving { TIDE_SAVING_BYTES, TIDE_SAVING_COPIED, TIDE_SAVING_CALLS, TIDE_SAVINGS_N };
enum tide_confidence { TIDE_CONFIDENCE_LOW, TIDE_CONFIDENCE_MEDIUM, TIDE_CONFIDENCE_HIGH };
enum tide_evidence_unit { TIDE_EVIDENCE_COUNT, TIDE_EVIDENCE_BYTES, TIDE_EVIDENCE_NS };

enum tide_finding_rule {
#define TIDE_RULE(name, ...) TIDE_RULE_##name,
#include "findings/rules.def"
  TIDE_RULES_N,
};
// What of a run is not in its capture.
enum tide_missing {
  TIDE_MISSING_EVENTS = 1, // of this program, or stacks of them
  TIDE_MISSING_PARTS = 2,  // of the file
  TIDE_MISSING_PROCESSES = 4,
  TIDE_MISSING_END = 8, // it is a checkpoint, and the run went on
};
enum tide_evidence {
#define TIDE_EVIDENCE(name, ...) TIDE_EVIDENCE_OF_##name,
#include "findings/rules.def"
  TIDE_EVIDENCES_N,
};
_Static_assert(TIDE_EVIDENCES_N <= 64, "a bit for each");

struct tide_rule_row {
  const char *word;
  enum tide_saving saving;
  uint32_t needs; // enum tide_lacks
  enum tide_hint hint;
  const char *says;
};
extern const struct tide_rule_row tide_rule_rows[TIDE_RULES_N];

struct tide_evidence_row {
  const char *key;
  enum tide_evidence_unit unit;
};
extern const struct tide_evidence_row tide_evidence_rows[TIDE_EVIDENCES_N];

extern const char *const tide_saving_words[TIDE_SAVINGS_N]; // "bytes", "copied_bytes", "calls"
extern const char *const tide_confidence_words[];           // "low", "medium", "high"
extern const char *const tide_finding_kind_words[];         // "fault", "note": by is_note

struct tide_finding {
  enum tide_finding_rule rule;
  enum tide_confidence confidence;
  bool is_note;                         // else a fault; its confidence is low
  const struct tide_named_frame *frame; // the naming's; NULL: no one place
  struct tide_amount saving;            // in the rule's unit
  bool is_sampled;                      // the evidence is estimated from samples, else counted
  unsigned missing;                     // enum tide_missing, a bit each: of what it stands on
  const char *noun;                     // EACH: "connection", "thread"; else NULL
  const struct tide_named_frame *queue; // BACKLOG: the library's way into it, as frame; or NULL
  size_t n_alike;                       // further places, of less, that are not told one by one
  uint64_t has;                         // a bit for each number of
  int64_t evidence[TIDE_EVIDENCES_N];
};

static inline bool tide_finding_has(const struct tide_finding *finding, enum tide_evidence which)
{
  return finding->has >> which & 1;
}

// What a rule makes of the saving; an estimate from samples is one whatever else holds of it.
static inline void tide_finding_saves(struct tide_finding *finding, enum tide_exactness how)
{
  if (finding->saving.exactness != TIDE_ESTIMATED)
    finding->saving.exactness = how;
}

struct tide_findings {
  // Faults, then notes; by falling confidence, then by falling share of what it would save.
  struct tide_finding *items;
  size_t n, cap;
  uint32_t unjudged; // rules, a bit each, that the capture has not got the numbers for
  bool is_short;     // nobody looked often enough to tell what came and went
};
