#pragma once
// When machines of a spot market are there: recorded, or made up by a seed. Pure; a SpotMarket belongs to one thread.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace linac::plan {

/// There or gone from second 0 on, and the other at each of these moments, which ascend. After the last one it stays.
struct SpotTrace {
  bool there = true;
  std::vector<double> changes_s{};
};

/// Lines of "SECONDS available" or "SECONDS gone", from 0 on and ascending; '#' begins a comment. Data error with the
/// line otherwise; `name`: of the text, for messages.
SpotTrace parse_spot_trace(const std::string& text, const std::string& name);

enum class SpotKind {
  kExponential,  // lives and gaps without memory
  kWeibull,      // of shape 0.7: many that are short, few that are long
  kDiurnal,  // exponential; at midnight, when it begins, with long lives and short gaps, at noon the other way round
  kNever,
  kAlways
};

/// Means of how long machines stay there, and of how long none can be had. 0 and infinity are numbers, too.
struct SpotRates {
  SpotKind kind = SpotKind::kExponential;
  double life_s = 0, gap_s = 0;
};

/// A market as time goes by, from second 0.
class SpotMarket {
 public:
  explicit SpotMarket(const SpotTrace& trace);
  /// `number` tells traces of one seed apart.
  SpotMarket(const SpotRates& rates, uint64_t seed, uint32_t number);

  bool there() const { return there_; }
  /// When that changes; may be infinite.
  double until_s() const { return until_s_; }
  /// Goes on to that moment.
  void pass();

 private:
  double uniform();
  double drawn_s();

  const SpotTrace* trace_ = nullptr;
  size_t passed_ = 0;
  SpotRates rates_{};
  uint64_t seed_ = 0;
  uint32_t number_ = 0, drawn_ = 0;
  std::array<uint32_t, 4> four_{};  // random words
  bool there_ = true;
  double until_s_ = std::numeric_limits<double>::infinity();
};

/// What somebody records who looks every `look_s` seconds, up to `end_s`.
SpotTrace made_up_trace(const SpotRates& rates, uint64_t seed, uint32_t number, double end_s, double look_s);

}  // namespace linac::plan
