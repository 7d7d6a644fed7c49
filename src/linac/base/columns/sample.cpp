#include "linac/base/columns/sample.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::columns {
namespace {

constexpr size_t kDrawnAtOnce = 1024;

}  // namespace

// 48 bits: 24 would be too coarse for leaps over many values. Never 0.
double Sample::uniform() {
  constexpr double kFine = 1.0 / (1 << 24);
  if (next_ + 2 > drawn_.size()) {
    drawn_before_ += drawn_.size();
    drawn_.resize(kDrawnAtOnce);
    fill_uniform(key_, drawn_, drawn_before_);
    next_ = 0;
  }
  next_ += 2;
  return static_cast<double>(drawn_[next_ - 2]) + (static_cast<double>(drawn_[next_ - 1]) + 0.5 * kFine) * kFine;
}

// K.-H. Li, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))", ACM TOMS 20 (1994), algorithm L.
void Sample::leap() {
  weight_ *= std::exp(std::log(uniform()) / static_cast<double>(kValuesMax));
  constexpr double kFarthest = 1e18;
  const double over = std::floor(std::log(uniform()) / std::log1p(-weight_));
  taken_next_ += 1 + static_cast<int64_t>(std::min(over, kFarthest));
}

void Sample::add(std::span<const float> values) {
  LINAC_CHECK(!is_sorted_);
  const size_t fill = std::min(values.size(), kValuesMax - values_.size());
  values_.insert(values_.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(fill));
  const int64_t begin = seen_, end = begin + static_cast<int64_t>(values.size());
  seen_ = end;
  if (values_.size() < kValuesMax) return;
  if (taken_next_ == 0) {
    taken_next_ = static_cast<int64_t>(kValuesMax) - 1;
    leap();
  }
  while (taken_next_ < end) {
    const auto place = static_cast<size_t>(uniform() * static_cast<double>(kValuesMax));
    values_[std::min(place, kValuesMax - 1)] = values[static_cast<size_t>(taken_next_ - begin)];
    leap();
  }
}

const std::vector<float>& Sample::sorted() {
  if (!is_sorted_) std::ranges::sort(values_);
  is_sorted_ = true;
  return values_;
}

std::vector<Quantile> Sample::quantiles(std::span<const double> shares) {
  std::vector<Quantile> out;
  if (sorted().empty()) return out;
  for (const double share : shares) {
    const double place = share * static_cast<double>(values_.size() - 1);
    const auto below = static_cast<size_t>(place);
    const double low = values_[below], high = values_[std::min(below + 1, values_.size() - 1)];
    out.push_back({share, low + (high - low) * (place - static_cast<double>(below))});
  }
  return out;
}

}  // namespace linac::columns
