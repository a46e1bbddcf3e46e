// SPDX-License-Identifier: Apache-2.0
//
// Budgets of single tests, in GoogleTest: a region of tidemark.hpp around each. Without a recorder
// they are skipped.
#include "parse.h"

#include <gtest/gtest.h>
#include <tidemark/tidemark.hpp>

class Heap : public testing::Test
{
protected:
  void SetUp() override
  {
    if (!tidemark::region())
      GTEST_SKIP() << "no recorder: run it with 'tidemark run'";
  }
};

TEST_F(Heap, ParsingHoldsWhatItFound)
{
  tidemark::region region;
  struct fields fields = parse_line("one,two");
  tidemark::stats stats;
  ASSERT_EQ(region.read(stats), 0);
  EXPECT_EQ(stats.allocations, 3u); // two texts, and the list, which grows once
  EXPECT_EQ(stats.reallocations, 1u);
  EXPECT_LE(stats.max_bytes, 64);
  fields_done(&fields);
}

TEST_F(Heap, ParsingLeavesNothing)
{
  tidemark::region region;
  struct fields fields = parse_line("one,two,three");
  fields_done(&fields);
  tidemark::stats stats;
  ASSERT_EQ(region.read(stats), 0);
  EXPECT_EQ(stats.current_blocks, 0) << stats.current_bytes << " bytes left";
}
