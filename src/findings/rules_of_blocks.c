// SPDX-License-Identifier: Apache-2.0
//
// What the allocator adds: its own part of small blocks.
#include "findings/subject.h"

#include "model/capture.h"

// ---- small blocks ----

// What glibc's malloc takes for a block beside what was asked for, in the mean of such sizes.
static int64_t overhead_of(int64_t bytes)
{
  int64_t chunk = (bytes + 8 + 15) / 16 * 16;
  return (chunk < 32 ? 32 : chunk) - bytes;
}

static void look_for_small(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t each = tide_mean(place->peak_bytes, place->peak_blocks);
  int64_t overhead = overhead_of(each);
  if (place->peak_blocks < SMALL_BLOCKS || each > SMALL_BYTES ||
      overhead * place->peak_blocks < subject->peak_bytes / SMALL_OF_PEAK ||
      tide_suspect_n_sizes(suspect) != 1)
    return;
  struct tide_finding *finding = tide_subject_find(
      subject, TIDE_RULE_SMALL, suspect, TIDE_CONFIDENCE_MEDIUM, overhead * place->peak_blocks);
  tide_finding_saves(finding, TIDE_ESTIMATED);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, place->peak_blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, place->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCK_BYTES, each);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_OVERHEAD_BYTES, overhead);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
}

void tide_rules_of_blocks(const struct tide_subject *subject)
{
  bool is_known = tide_image_is_glibc(subject->image); // of others nobody knows what a block costs
  for (size_t i = 0; is_known && i < subject->n_suspects; i++)
    look_for_small(subject, &subject->suspects[i]);
}
