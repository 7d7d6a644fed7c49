#include "linac/physics/scores/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "linac/base/base/error.h"

namespace linac::scores {

Ranking::Ranking(std::span<const float> scores, std::span<const uint8_t> is_positive)
    : event_(scores.size()), kind_(scores.size()), score_(scores.size()) {
  LINAC_CHECK(scores.size() == is_positive.size() && scores.size() <= std::numeric_limits<uint32_t>::max());
  for (size_t event = 0; event < scores.size(); ++event) {
    if (!std::isfinite(scores[event]))
      throw user_error(fmt::format("[scores] event {} has the score {}, which has no rank", event, scores[event]));
  }
  std::iota(event_.begin(), event_.end(), 0U);
  std::stable_sort(event_.begin(), event_.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  for (size_t i = 0; i < event_.size(); ++i) {
    score_[i] = scores[event_[i]];
    const bool last = i + 1 == event_.size() || scores[event_[i + 1]] != score_[i];
    kind_[i] = static_cast<uint8_t>((is_positive[event_[i]] != 0 ? kPositive : 0) | (last ? kLastOfGroup : 0));
  }
}

}  // namespace linac::scores
