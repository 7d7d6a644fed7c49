#include "linac/base/columns/duplicates.h"

#include <algorithm>
#include <cmath>

namespace linac::columns {
namespace {

constexpr uint64_t kTestBit = uint64_t{1} << 63;
constexpr size_t kPairsShown = 10;

bool is_kept(uint64_t hash, int bits) {
  return (hash & ((uint64_t{1} << bits) - 1)) == 0;
}

}  // namespace

void Duplicates::thin_out() {
  while (entries_.size() >= events_max_ && bits_ < 63) {
    ++bits_;
    std::erase_if(entries_, [this](const Entry& entry) { return !is_kept(entry.hash, bits_); });
  }
}

void Duplicates::add(uint64_t hash, Side side, int64_t event) {
  if (!is_kept(hash, bits_)) return;
  if (entries_.size() >= events_max_) thin_out();
  if (is_kept(hash, bits_))
    entries_.push_back({hash, static_cast<uint64_t>(event) | (side == Side::kTest ? kTestBit : 0)});
}

Duplicates::Found Duplicates::find() {
  std::ranges::sort(entries_, std::less<>());
  Found found;
  found.looked_at = std::ldexp(1.0, -bits_);
  std::vector<Pair> within;
  const auto side = [](const Entry& entry) { return (entry.event & kTestBit) != 0 ? Side::kTest : Side::kTrain; };
  const auto keep = [&](std::vector<Pair>& pairs, const Entry& a, const Entry& b) {
    if (pairs.size() >= kPairsShown) return;
    pairs.push_back(
        {side(a), side(b), static_cast<int64_t>(a.event & ~kTestBit), static_cast<int64_t>(b.event & ~kTestBit)});
  };
  for (auto first = entries_.begin(); first != entries_.end();) {
    const auto last =
        std::find_if(first, entries_.end(), [&](const Entry& entry) { return entry.hash != first->hash; });
    const auto test = std::find_if(first, last, [&](const Entry& entry) { return side(entry) == Side::kTest; });
    const auto of_train = test - first, of_test = last - test;
    if (of_train > 1) found.train += of_train - 1;
    if (of_test > 1) found.test += of_test - 1;
    if (of_train > 0 && of_test > 0) {
      found.leaked += of_test;
      keep(found.pairs, *first, *test);
    } else if (last - first > 1) {
      keep(within, *first, *std::next(first));
    }
    first = last;
  }
  for (int64_t* const count : {&found.train, &found.test, &found.leaked}) *count <<= bits_;
  for (const Pair& pair : within)
    if (found.pairs.size() < kPairsShown) found.pairs.push_back(pair);
  return found;
}

}  // namespace linac::columns
