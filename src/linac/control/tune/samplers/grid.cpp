#include <cmath>

#include "linac/control/tune/samplers/samplers.h"

namespace linac::tune {
namespace {

constexpr int64_t kValuesOfContinuous = 10;
constexpr uint32_t kUse = 2;

// A permutation of 0 ... count-1 by walking a cycle of a Feistel network over the next power of four until a number
// below count comes (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002): no table of all points.
class Mixed {
 public:
  Mixed(uint64_t seed, uint64_t count) : count_(count) {
    while ((uint64_t{1} << (2 * half_)) < count) ++half_;
    Draws draws({.seed = seed}, kUse);
    for (uint32_t& key : keys_) key = draws.bits();
  }
  uint64_t operator()(uint64_t index) const {
    do index = once(index);
    while (index >= count_);
    return index;
  }

 private:
  uint64_t once(uint64_t index) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = index >> half_, right = index & mask;
    for (const uint32_t key : keys_) {
      const auto hash = philox({static_cast<uint32_t>(right), static_cast<uint32_t>(right >> 32), 0, 0}, {key, 0});
      const uint64_t next = left ^ ((static_cast<uint64_t>(hash[0]) << 32 | hash[1]) & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }
  uint64_t count_;
  uint64_t half_ = 1;
  std::array<uint32_t, 6> keys_{};
};

class Grid : public Sampler {
 public:
  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    double count = 1;
    for (const Parameter& parameter : space.parameters()) count *= static_cast<double>(values_of(parameter));
    // More points than a study can try: their first 2^62 in mixed order.
    const auto points = static_cast<uint64_t>(std::min(count, 0x1p62));
    const Mixed mixed(ask.seed, points);
    // From the trial's own place on, the first point that was not tried: those of constraints, and of inactive
    // parameters, leave gaps.
    Point point;
    for (uint64_t i = 0; i < std::min(points, kLookedAtMax); ++i) {
      point = point_at(space, mixed((static_cast<uint64_t>(ask.number) + i) % points));
      if (!history.seen(point) && space.allows(point)) break;
    }
    return point;
  }

 private:
  static constexpr uint64_t kLookedAtMax = 10000;

  static Point point_at(const Space& space, uint64_t index) {
    std::vector<double> unit;
    for (const Parameter& parameter : space.parameters()) {
      const auto values = static_cast<uint64_t>(values_of(parameter));
      const auto place = static_cast<double>(index % values);
      index /= values;
      unit.push_back(parameter.discrete() ? (place + 0.5) / static_cast<double>(values)
                                          : place / static_cast<double>(values - 1));
    }
    return space.point_of(unit);
  }

  static int64_t values_of(const Parameter& parameter) {
    return parameter.discrete() ? parameter.cells : kValuesOfContinuous;
  }
};

}  // namespace

std::unique_ptr<Sampler> make_grid(const SamplerSettings&) {
  return std::make_unique<Grid>();
}

}  // namespace linac::tune
