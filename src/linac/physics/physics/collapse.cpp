#include "linac/physics/physics/collapse.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/physics/physics/comparison.h"

namespace linac::physics {
namespace {

constexpr double kEmptyShare = 0.1;        // of empty showers
constexpr double kAlike = 0.5;             // of the way from the reference's similarity to 1
constexpr int64_t kPairsNeeded = 10;       // to speak of similarity
constexpr double kOneResponseShare = 0.9;  // of showers with one response
constexpr double kOneResponseWidth = 0.2;  // narrower than this part of the reference's

double mean_similarity(const Sample& sample) {
  double sum = 0;
  for (const Sample::Pair& pair : sample.pairs()) sum += pair.similarity;
  return sample.pairs().empty() ? 0 : sum / static_cast<double>(sample.pairs().size());
}

double central_width(std::vector<float> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto inside = static_cast<size_t>(share * static_cast<double>(values.size()));
  double width = values.back() - values.front();
  for (size_t i = 0; i + inside < values.size(); ++i)
    width = std::min(width, static_cast<double>(values[i + inside]) - static_cast<double>(values[i]));
  return width;
}

std::vector<float> responses_in(const Sample& sample, const Bin& bin) {
  std::vector<float> values;
  for (const uint32_t event : sample.events_in(bin)) values.push_back(sample.values(kResponse)[event]);
  return values;
}

}  // namespace

std::vector<std::string> signs_of_collapse(const Sample& reference, const Sample& sample) {
  std::vector<std::string> signs;
  const auto totals = sample.values(kTotal);
  const auto empty = std::count_if(totals.begin(), totals.end(), [](float total) { return !(total > 0); });
  if (static_cast<double>(empty) > kEmptyShare * static_cast<double>(totals.size()))
    signs.push_back(fmt::format("{} of {} showers are empty", empty, totals.size()));

  const double natural = mean_similarity(reference), found = mean_similarity(sample);
  if (static_cast<int64_t>(sample.pairs().size()) >= kPairsNeeded && found > natural + kAlike * (1 - natural)) {
    signs.push_back(fmt::format(
        "showers of one energy and angle are alike: structural similarity {:.3f} where the reference has {:.3f}", found,
        natural));
  }
  for (int energy = 0; energy < reference.energy_bins(); ++energy) {
    const auto values = responses_in(sample, {energy, -1}), expected = responses_in(reference, {energy, -1});
    if (static_cast<int64_t>(values.size()) < kPairsNeeded || static_cast<int64_t>(expected.size()) < kPairsNeeded)
      continue;
    if (central_width(values, kOneResponseShare) >= kOneResponseWidth * central_width(expected, kOneResponseShare))
      continue;
    signs.push_back(fmt::format("{:.0f} % of the showers have one response, at {}", 100 * kOneResponseShare,
                                bin_title(sample, {energy, -1})));
  }
  return signs;
}

}  // namespace linac::physics
