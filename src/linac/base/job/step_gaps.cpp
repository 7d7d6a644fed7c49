#include "linac/base/job/step_gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/plural.h"

namespace linac::job {

std::vector<GapLine> gaps_between(int64_t begin, int64_t end, std::vector<int64_t> there) {
  std::sort(there.begin(), there.end());
  there.push_back(end + 1);
  std::vector<GapLine> gaps;
  int64_t next = begin + 1;
  for (const int64_t step : there) {
    if (step > end + 1) break;
    if (step > next) {
      if (gaps.size() < kGapsMax) gaps.push_back({.first = next, .last = next, .steps = 0, .global_step = end});
      gaps.back().last = step - 1;
      gaps.back().steps += step - next;
    }
    next = std::max(next, step + 1);
  }
  return gaps;
}

std::string in_words(const std::vector<GapLine>& gaps) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> named;
  int64_t more = 0;
  for (const GapLine& gap : gaps) {
    if (named.size() == kNamed || gap.steps <= gap.last - gap.first) {
      more += gap.steps;
    } else {
      named.push_back(gap.steps == 1 ? fmt::format("step {}", gap.first)
                                     : fmt::format("steps {} to {}", gap.first, gap.last));
    }
  }
  return fmt::format("{}{}", fmt::join(named, ", "), more > 0 ? " and " + plural(more, "more step") : "");
}

}  // namespace linac::job
