#include "linac/data/epoch_order.h"

#include <algorithm>
#include <numeric>

#include "linac/base/rng.h"

namespace linac::data {
namespace {

// Lanes of Stream::kShuffle.
constexpr uint32_t kEvents = 0, kFiles = 1, kFirstWindow = 2;

std::vector<int64_t> drawn(uint64_t seed, uint32_t epoch, uint32_t lane, size_t size) {
  std::vector<int64_t> order(size);
  fill_permutation({.seed = seed, .stream = Stream::kShuffle, .lane = lane, .epoch = epoch}, order);
  return order;
}

}  // namespace

std::vector<int64_t> epoch_order(uint64_t seed, uint32_t epoch, int64_t size) {
  return drawn(seed, epoch, kEvents, static_cast<size_t>(size));
}

size_t WindowedOrder::window_of(int64_t place) const {
  return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin());
}

WindowedOrder windowed_order(uint64_t seed, uint32_t epoch, std::span<const int64_t> sizes, int window) {
  std::vector<int64_t> begins(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), int64_t{0});
  const std::vector<int64_t> files = drawn(seed, epoch, kFiles, sizes.size());
  WindowedOrder order;
  for (size_t first = 0; first < files.size(); first += static_cast<size_t>(window)) {
    std::vector<int64_t> events;
    std::vector<uint32_t>& of_window = order.files.emplace_back();
    for (size_t i = first; i < std::min(files.size(), first + static_cast<size_t>(window)); ++i) {
      const auto file = static_cast<size_t>(files[i]);
      of_window.push_back(static_cast<uint32_t>(file));
      for (int64_t event = 0; event < sizes[file]; ++event) events.push_back(begins[file] + event);
    }
    const auto lane = kFirstWindow + static_cast<uint32_t>(order.files.size() - 1);
    for (const int64_t place : drawn(seed, epoch, lane, events.size()))
      order.events.push_back(events[static_cast<size_t>(place)]);
    order.ends.push_back(static_cast<int64_t>(order.events.size()));
  }
  return order;
}

}  // namespace linac::data
