#include "linac/model/chain/halo.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/model/chain/elementary.h"
#include "linac/physics/physics/number_sequence.h"

namespace linac::chain {
namespace {

constexpr int kLeastExponent = -12;  // of the first bin; all that is expected less belongs to it
constexpr int kMantissaBits = 23, kBias = 127;

constexpr float kQuiet = 1.0F / 32;  // the chance up to which pieces are passed over together
constexpr float kLeastChance = 1e-6F;

HaloBounds::Bound bound_of(float chance) {
  return {chance, static_cast<float>(1 / std::log1p(-static_cast<double>(chance)))};
}

bool any_of(const int8_t* beside) {
  uint64_t any;
  static_assert(sizeof(any) == kPieceCells);
  std::memcpy(&any, beside, sizeof(any));
  return any != 0;
}

class Choice {
 public:
  Choice(int pass, const LayerWalk& walk, const HaloBounds& bounds, physics::NumberSequence& numbers,
         std::vector<ChosenCell>& cells)
      : pass_(pass), walk_(walk), outlook_(walk.outlook()), bounds_(bounds), numbers_(numbers), cells_(cells) {}

  void in_loud_pieces() {
    for (int64_t i = 0; i < outlook_.shape.x; ++i)
      for (int64_t begin = 0; begin < outlook_.shape.y; begin += kPieceCells)
        if (is_loud(i, begin)) in_piece(i, begin);
  }

  // All others are passed over with one stride.
  void in_quiet_pieces() {
    const int64_t in_row = (outlook_.shape.y + 1) / 2, all = outlook_.shape.x * in_row;
    const HaloBounds::Bound& most = bounds_.quiet(pass_);
    for (int64_t next = cells_to_next(most); next < all; next += 1 + cells_to_next(most)) {
      const int64_t i = next / in_row, j = 2 * (next % in_row) + ((i + pass_) & 1);
      if (j < outlook_.shape.y && !is_loud(i, j / kPieceCells * kPieceCells)) look_at(i, j, most.chance);
    }
  }

 private:
  bool is_loud(int64_t i, int64_t begin) const {
    return outlook_.most_expected(i, begin) >= bounds_.loud_from(pass_) ||
           (pass_ > 0 && any_of(outlook_.beside + outlook_.shape.at(i, begin)));
  }

  size_t index(int beside, float expected) const {
    return HaloBounds::at(HaloBounds::kind_of(pass_, beside), HaloBounds::bin_of(expected));
  }

  // By a geometric distribution.
  int64_t cells_to_next(const HaloBounds::Bound& most) {
    return static_cast<int64_t>(fast_log(static_cast<float>(numbers_.uniform())) * most.per_log);
  }

  void in_piece(int64_t i, int64_t begin) {
    const int64_t end = std::min(begin + kPieceCells, outlook_.shape.y);
    for (int64_t j = begin + ((i + pass_ + begin) & 1); j < end; j += 2) look_at(i, j, 1);
  }

  // That far it has come with a probability of `most`.
  void look_at(int64_t i, int64_t j, float most) {
    const auto at = static_cast<size_t>(outlook_.shape.at(i, j));
    const size_t own = index(outlook_.beside[at], outlook_.expected(at));
    const float part = bounds_[own].chance;
    if (numbers_.uniform() * static_cast<double>(most) < static_cast<double>(part) && walk_.pass_at(at) == pass_)
      cells_.push_back({{static_cast<int16_t>(i), static_cast<int16_t>(j)}, part, own});
  }

  const int pass_;
  const LayerWalk& walk_;
  const LayerWalk::Outlook outlook_;
  const HaloBounds& bounds_;
  physics::NumberSequence& numbers_;
  std::vector<ChosenCell>& cells_;
};

}  // namespace

HaloBounds::HaloBounds() : HaloBounds(std::vector<float>(kSize, 1)) {}

HaloBounds::HaloBounds(std::span<const float> chances) {
  LINAC_CHECK(chances.size() == kSize);
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int bin = 0; bin < kBins; ++bin) {
      const size_t here = at(kind, bin);
      const float chance = chances[here];
      if (!(chance >= kLeastChance && chance <= 1)) throw data_error("bounds of the halo that are no chances");
      if ((bin > 0 && chance < chances[here - 1]) || (kind > 1 && chance < chances[here - kBins]))
        throw data_error("bounds of the halo that fall where more is expected");
      bounds_[here] = bound_of(chance);
    }
  }
  for (int pass = 0; pass < kHaloPasses; ++pass) {
    const Bound* const of_kind = &bounds_[at(kind_of(pass, 0), 0)];
    int quiet = 0;  // bins
    while (quiet < kBins && of_kind[quiet].chance <= kQuiet) ++quiet;
    const auto of_pass = static_cast<size_t>(pass);
    quiet_[of_pass] = quiet > 0 ? of_kind[quiet - 1] : bound_of(kQuiet);
    loud_from_[of_pass] = quiet > 0 ? least_of_bin(quiet) : 0;
  }
}

int HaloBounds::kind_of(int pass, int beside) {
  return pass == 0 ? 0 : 1 + std::min(beside, kKinds - 2);
}

int HaloBounds::bin_of(float expected) {
  const int half_octaves = std::bit_cast<int32_t>(expected) >> (kMantissaBits - 1);
  return std::clamp(half_octaves - 2 * (kBias + kLeastExponent), 0, kBins - 1);
}

float HaloBounds::least_of_bin(int bin) {
  return std::bit_cast<float>((bin + 2 * (kBias + kLeastExponent)) << (kMantissaBits - 1));
}

std::vector<float> HaloBounds::chances() const {
  std::vector<float> chances;
  for (const Bound& bound : bounds_) chances.push_back(bound.chance);
  return chances;
}

void choose_in_halo(int pass, const LayerWalk& walk, const HaloBounds& bounds, physics::NumberSequence& numbers,
                    std::vector<ChosenCell>& cells) {
  Choice choice(pass, walk, bounds, numbers, cells);
  choice.in_loud_pieces();
  choice.in_quiet_pieces();
}

}  // namespace linac::chain
