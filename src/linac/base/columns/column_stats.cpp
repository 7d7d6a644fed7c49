#include "linac/base/columns/column_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace linac::columns {
namespace {

constexpr std::array kShares{0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0};
constexpr std::array kLengthShares{0.05, 0.5, 0.95};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool ColumnStats::is_constant() const {
  if (is_text) return classes.size() == 1;
  if (places > 0) return constant_places == places;
  return finite() == values && values > 0 && min == max && (!is_list || length_min == length_max);
}

ColumnGatherer::ColumnGatherer(std::string name, std::string stored, bool is_text, uint32_t number)
    : sample_(2 * number), lengths_(2 * number + 1) {
  stats_.name = std::move(name);
  stats_.stored = std::move(stored);
  stats_.is_text = is_text;
  stats_.min = std::numeric_limits<double>::infinity();
  stats_.max = -stats_.min;
}

void ColumnGatherer::add(const ColumnBlock& block) {
  stats_.events += static_cast<int64_t>(block.rows.size());
  if (stats_.is_text) return;
  stats_.nulls += block.nulls;
  add_lengths(block);
  add_values(block.values);
  add_numbers(block);
  if (is_fixed_) add_places(block);
}

void ColumnGatherer::add_text(const std::string& text, int64_t events) {
  const auto known = std::ranges::find(texts_, text, &std::pair<std::string, int64_t>::first);
  if (known != texts_.end())
    known->second += events;
  else
    texts_.emplace_back(text, events);
}

void ColumnGatherer::add_lengths(const ColumnBlock& block) {
  block_lengths_.clear();
  for (const uint32_t rows : block.rows) {
    const bool first = lengths_.seen() == 0 && block_lengths_.empty();
    stats_.length_min = first ? rows : std::min<int64_t>(stats_.length_min, rows);
    stats_.length_max = std::max<int64_t>(stats_.length_max, rows);
    length_sum_ += rows;
    block_lengths_.push_back(static_cast<float>(rows));
  }
  lengths_.add(block_lengths_);
}

std::span<const float> ColumnGatherer::finite_of(std::span<const float> values) {
  // Without a branch, so that the compiler can vectorise: nearly all columns hold nothing else.
  bool all = true;
  for (const float value : values) all &= std::abs(value) <= std::numeric_limits<float>::max();
  if (all) return values;
  finite_.clear();
  for (const float value : values) {
    if (std::isfinite(value))
      finite_.push_back(value);
    else if (std::isnan(value))
      ++stats_.nans;
    else
      ++stats_.infinities;
  }
  return finite_;
}

void ColumnGatherer::add_values(std::span<const float> values) {
  stats_.values += static_cast<int64_t>(values.size());
  const std::span<const float> finite = finite_of(values);
  if (finite.empty()) return;
  // Sums of differences from one of the values: squares of what is far from 0 would cancel.
  if (sample_.seen() == 0) shift_ = finite.front();
  double sum = 0, squares = 0;
  float least = finite.front(), most = least;
  int64_t zeros = 0;
  for (const float value : finite) {
    const double moved = value - shift_;
    sum += moved;
    squares += moved * moved;
    least = std::min(least, value);
    most = std::max(most, value);
    zeros += value == 0 ? 1 : 0;
  }
  sum_ += sum;
  squares_ += squares;
  stats_.min = std::min<double>(stats_.min, least);
  stats_.max = std::max<double>(stats_.max, most);
  stats_.zeros += zeros;
  sample_.add(finite);
}

/// Different values of numbers, while there are few.
void ColumnGatherer::add_numbers(const ColumnBlock& block) {
  if (!few_distinct_) return;
  few_distinct_ = std::ranges::all_of(block.sizes, [](uint32_t size) { return size == 1; });
  for (size_t i = 0; few_distinct_ && i < block.values.size(); ++i) {
    const float value = block.values[i];
    if (std::isnan(value)) continue;
    const auto place = std::ranges::lower_bound(distinct_, value, {}, &std::pair<float, int64_t>::first);
    if (place != distinct_.end() && place->first == value)
      ++place->second;
    else if (distinct_.size() < kClassesMax)
      distinct_.insert(place, {value, 1});
    else
      few_distinct_ = false;
  }
}

void ColumnGatherer::add_places(const ColumnBlock& block) {
  size_t begin = 0;
  for (const uint32_t size : block.sizes) {
    const bool is_first = place_first_.empty();
    is_fixed_ = size > 1 && size <= kPlacesMax && (is_first || size == place_first_.size());
    if (!is_fixed_) return;
    const auto event = block.values.subspan(begin, size);
    begin += size;
    if (is_first) {
      place_first_.assign(event.begin(), event.end());
      place_varies_.assign(size, false);
      hot_.assign(size, 0);
    }
    // NaN is equal to NaN here.
    for (size_t i = 0; i < size; ++i)
      if (std::bit_cast<uint32_t>(event[i]) != std::bit_cast<uint32_t>(place_first_[i])) place_varies_[i] = true;
    if (is_one_hot_) add_hot(event);
  }
}

void ColumnGatherer::add_hot(std::span<const float> event) {
  const auto one = std::ranges::find(event, 1.0F);
  const auto zeros = std::ranges::count(event, 0.0F);
  is_one_hot_ = one != event.end() && static_cast<size_t>(zeros) + 1 == event.size() && event.size() <= kClassesMax;
  if (is_one_hot_) ++hot_[static_cast<size_t>(one - event.begin())];
}

void ColumnGatherer::finish_places(ColumnStats& out) const {
  if (!is_fixed_ || place_first_.empty()) return;
  out.places = static_cast<int64_t>(place_first_.size());
  for (size_t i = 0; i < place_varies_.size(); ++i) {
    if (place_varies_[i]) continue;
    ++out.constant_places;
    if (out.first_constant_places.size() < kShownPlaces) out.first_constant_places.push_back(static_cast<int64_t>(i));
  }
}

void ColumnGatherer::finish_classes(ColumnStats& out) {
  if (out.is_text) {
    out.classes = std::move(texts_);
    std::ranges::sort(out.classes);
  } else if (few_distinct_ && out.events > 0) {
    for (const auto& [value, events] : distinct_) out.classes.emplace_back(fmt::format("{}", value), events);
  } else if (is_fixed_ && is_one_hot_) {
    for (size_t i = 0; i < hot_.size(); ++i) out.classes.emplace_back(fmt::format("{}", i), hot_[i]);
  }
}

ColumnStats ColumnGatherer::finish() {
  ColumnStats out = std::move(stats_);
  finish_classes(out);
  if (out.is_text) {
    out.values = out.events;
    out.min = out.max = out.mean = out.std = kNone;
    return out;
  }
  out.nans -= out.nulls;
  const auto finite = static_cast<double>(out.finite());
  out.mean = finite > 0 ? shift_ + sum_ / finite : kNone;
  out.std = finite > 0 ? std::sqrt(std::max(0.0, squares_ / finite - (sum_ / finite) * (sum_ / finite))) : kNone;
  if (finite == 0) out.min = out.max = kNone;
  out.exact_quantiles = sample_.is_whole();
  out.quantiles = sample_.quantiles(kShares);
  out.sample = sample_.sorted();
  // Of what was left out of the sample the ends are known.
  if (!out.quantiles.empty()) {
    out.quantiles.front().value = out.min;
    out.quantiles.back().value = out.max;
  }
  out.length_mean = out.events > 0 ? length_sum_ / static_cast<double>(out.events) : 0;
  out.length_quantiles = lengths_.quantiles(kLengthShares);
  out.is_list = out.events > 0 && (out.length_min != 1 || out.length_max != 1);
  finish_places(out);
  return out;
}

}  // namespace linac::columns
