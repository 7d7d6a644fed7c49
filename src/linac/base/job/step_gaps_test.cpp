#include "linac/base/job/step_gaps.h"

#include <gtest/gtest.h>

#include <limits>

namespace linac::job {
namespace {

std::string line_of(int64_t step) {
  StepLine line;
  line.epoch = 3;
  line.step = 7;
  line.global_step = step;
  line.lr = 1e-3;
  line.loss = {{"loss", 0.5}, {"a", std::numeric_limits<double>::infinity()}};
  return to_text(line);
}

TEST(StepGaps, APlainLineNeedsNoReading) {
  EXPECT_EQ(step_of_plain_line(line_of(41)), 41);
  const LineReader reader("metrics.jsonl");
  EXPECT_EQ(global_step_of(reader.read(line_of(41)).line), 41);
}

TEST(StepGaps, WhatIsNotWholeIsLeftToTheReader) {
  const std::string whole = line_of(41);
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(step_of_plain_line(whole.substr(0, size))) << size;
  for (const char garbage : {'\0', '"', '{', '\x7f', '0', '.', '-', 'e', '\\', '}', ','}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = garbage;
      // What the quick look takes, the reader takes too, and finds the same.
      const auto quick = step_of_plain_line(damaged);
      const ReadLine read = LineReader("metrics.jsonl").read(damaged);
      if (!quick) continue;
      EXPECT_EQ(read.state, LineState::kWhole) << damaged;
      EXPECT_EQ(global_step_of(read.line), *quick) << damaged;
    }
  }
  EXPECT_FALSE(step_of_plain_line(to_text(GapLine{.first = 1, .last = 2, .steps = 2, .global_step = 4})));
  EXPECT_FALSE(step_of_plain_line(R"({"epoch":1,"global_step":99999999999999999999,"kind":"step","loss":{}})"));
}

TEST(StepGaps, StretchesAreTold) {
  const std::vector<GapLine> gaps = gaps_between(2, 10, {3, 5, 6, 6, 9, 12});
  ASSERT_EQ(gaps.size(), 3u);
  EXPECT_EQ(in_words(gaps), "step 4, steps 7 to 8, step 10") << in_words(gaps);
  EXPECT_TRUE(gaps_between(0, 3, {3, 1, 2}).empty());
}

}  // namespace
}  // namespace linac::job
