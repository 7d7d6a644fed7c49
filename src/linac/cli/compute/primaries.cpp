#include "linac/cli/compute/primaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "linac/base/base/error.h"
#include "linac/base/base/range.h"
#include "linac/base/base/rng.h"
#include "linac/io/data/dataset.h"

namespace linac::cli {
namespace {

constexpr int64_t kReadAtOnce = 16;  // events

Range parse_range(const std::string& text, const std::string& flag, const std::string& verb) {
  const size_t colon = text.find(':');
  try {
    size_t used_low = 0, used_high = 0;
    const std::string low = text.substr(0, colon), high = colon == std::string::npos ? low : text.substr(colon + 1);
    const Range range{std::stod(low, &used_low), std::stod(high, &used_high)};
    if (used_low == low.size() && used_high == high.size() && range.low <= range.high) return range;
  } catch (const std::logic_error&) {  // not a number
  }
  throw user_error(fmt::format("[{}] {} {}: expected LOW:HIGH, e.g. {}", verb, flag, text,
                               flag == "--energy" ? "10:100" : "1.05:2.09"));
}

std::vector<float> draw(size_t n, const Range& range, uint64_t seed, uint32_t lane) {
  std::vector<float> values(n);
  fill_uniform({.seed = seed, .stream = Stream::kSample, .lane = lane}, values);
  for (float& value : values) value = static_cast<float>(range.low + value * (range.high - range.low));
  return values;
}

Primaries read_primaries(const PrimaryOptions& options) {
  data::Preprocessing everything;
  everything.min_sum = -1;  // as many showers as the file has
  const auto dataset = data::Dataset::open({options.like}, {}, everything);
  const int64_t n = options.events > 0 ? std::min(options.events, dataset->size()) : dataset->size();
  Primaries primaries;
  for (const data::FileReport& file : dataset->files()) primaries.files.push_back(file.url);
  for (int64_t first = 0; first < n; first += kReadAtOnce) {
    std::vector<int64_t> events;
    for (int64_t i = first; i < std::min(n, first + kReadAtOnce); ++i) events.push_back(i);
    data::SampleBatch batch;
    dataset->read(events, batch);
    for (const float energy : batch.energy)
      primaries.energy_gev.push_back(static_cast<float>(energy * everything.energy_unit_gev));
    primaries.theta.insert(primaries.theta.end(), batch.angle.begin(), batch.angle.end());
  }
  return primaries;
}

}  // namespace

void add_primary_options(CLI::App& verb, PrimaryOptions& options) {
  verb.add_option("--like", options.like, "take energies and angles from this file");
  verb.add_option("--energy", options.energy, "GeV, LOW:HIGH, uniform");
  verb.add_option("--theta", options.theta, "polar angle in rad, LOW:HIGH, uniform");
  verb.add_option("-n,--events", options.events, "number of showers");
  verb.add_option("--seed", options.seed, "the same seed gives the same showers")->required();
}

Primaries primaries_of(const PrimaryOptions& options, const std::string& verb) {
  if (!options.like.empty()) return read_primaries(options);
  if (options.energy.empty() || options.theta.empty() || options.events <= 0) {
    throw user_error(fmt::format("[{}] give --like FILE, or --energy LOW:HIGH, --theta LOW:HIGH and -n N", verb));
  }
  const auto n = static_cast<size_t>(options.events);
  const Range energy = parse_range(options.energy, "--energy", verb),
              theta = parse_range(options.theta, "--theta", verb);
  if (energy.low <= 0) throw user_error(fmt::format("[{}] --energy: energies must be positive (GeV)", verb));
  if (theta.low <= 0 || theta.high >= M_PI)
    throw user_error(fmt::format("[{}] --theta: angles must lie between 0 and pi (rad)", verb));
  return {draw(n, energy, options.seed, 0), draw(n, theta, options.seed, 1)};
}

}  // namespace linac::cli
