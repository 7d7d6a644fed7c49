#include "linac/data/epoch_order.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "linac/base/error.h"
#include "linac/base/rng.h"

namespace linac::data {
namespace {

// Lanes of Stream::kShuffle.
constexpr uint32_t kEvents = 0, kFiles = 1, kFirstWindow = 2;
constexpr size_t kWindowsDrawn = 3;  // the one that is read, and those beside it

std::vector<int64_t> drawn(uint64_t seed, uint32_t epoch, uint32_t lane, size_t size) {
  std::vector<int64_t> order(size);
  fill_permutation({.seed = seed, .stream = Stream::kShuffle, .lane = lane, .epoch = epoch}, order);
  return order;
}

}  // namespace

std::vector<int64_t> epoch_order(uint64_t seed, uint32_t epoch, int64_t size) {
  return drawn(seed, epoch, kEvents, static_cast<size_t>(size));
}

WindowedOrder::WindowedOrder(uint64_t seed, uint32_t epoch, std::span<const int64_t> sizes, int window)
    : seed_(seed), epoch_(epoch), begins_(sizes.size() + 1) {
  std::partial_sum(sizes.begin(), sizes.end(), begins_.begin() + 1);
  const std::vector<int64_t> files = drawn(seed, epoch, kFiles, sizes.size());
  for (size_t first = 0; first < files.size(); first += static_cast<size_t>(window)) {
    std::vector<uint32_t>& of_window = files_.emplace_back();
    int64_t end = events();
    for (size_t i = first; i < std::min(files.size(), first + static_cast<size_t>(window)); ++i) {
      of_window.push_back(static_cast<uint32_t>(files[i]));
      end += sizes[static_cast<size_t>(files[i])];
    }
    ends_.push_back(end);
  }
}

size_t WindowedOrder::window_of(int64_t place) const {
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
}

WindowedOrder::Drawn WindowedOrder::window(size_t number) const {
  const std::scoped_lock lock(mutex_);
  Drawn& known = drawn_[number];
  if (known) return known;
  std::vector<int64_t> events;
  for (const uint32_t file : files_[number])
    for (int64_t event = begins_[file]; event < begins_[file + 1]; ++event) events.push_back(event);
  std::vector<int64_t> mixed;
  for (const int64_t place : drawn(seed_, epoch_, kFirstWindow + static_cast<uint32_t>(number), events.size()))
    mixed.push_back(events[static_cast<size_t>(place)]);
  const Drawn made = known = std::make_shared<std::vector<int64_t>>(std::move(mixed));
  while (drawn_.size() > kWindowsDrawn)
    drawn_.erase(drawn_.begin()->first == number ? std::prev(drawn_.end()) : drawn_.begin());
  return made;
}

std::vector<int64_t> WindowedOrder::slice(int64_t first, int64_t count) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
  std::vector<int64_t> found;
  for (size_t number = window_of(first); std::cmp_less(found.size(), count); ++number) {
    const Drawn events = window(number);
    const int64_t begin = number == 0 ? 0 : ends_[number - 1];
    const int64_t from = first + static_cast<int64_t>(found.size()) - begin;
    const int64_t here = std::min(count - static_cast<int64_t>(found.size()), ends_[number] - begin - from);
    found.insert(found.end(), events->begin() + from, events->begin() + from + here);
  }
  return found;
}

}  // namespace linac::data
