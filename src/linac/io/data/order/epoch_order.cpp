#include "linac/io/data/order/epoch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/rng.h"

namespace linac::data {
namespace {

// Lanes of Stream::kShuffle. The step of the key counts the passes of an epoch.
constexpr uint32_t kEvents = 0, kFiles = 1, kFirstWindow = 2;
constexpr size_t kWindowsDrawn = 3;  // the one that is read, and those beside it
constexpr size_t kPassesDrawn = 2;

std::vector<int64_t> drawn(uint64_t seed, uint32_t epoch, int64_t pass, uint32_t lane, size_t size) {
  std::vector<int64_t> order(size);
  fill_permutation(
      {.seed = seed, .stream = Stream::kShuffle, .lane = lane, .epoch = epoch, .step = static_cast<uint32_t>(pass)},
      order);
  return order;
}

}  // namespace

std::vector<int64_t> epoch_order(uint64_t seed, uint32_t epoch, int64_t size) {
  return drawn(seed, epoch, 0, kEvents, static_cast<size_t>(size));
}

WindowedOrder::WindowedOrder(uint64_t seed, uint32_t epoch, size_t files, int window, EventsOf events_of,
                             WindowPlace known)
    : seed_(seed),
      epoch_(epoch),
      files_(static_cast<int64_t>(files)),
      window_(window),
      windows_of_pass_((files_ + window_ - 1) / window_),
      events_of_(std::move(events_of)),
      first_window_(known.window),
      begins_{known.first} {
  LINAC_CHECK(files_ >= 1 && window_ >= 1 && known.window >= 0 && known.first >= 0);
}

WindowedOrder::Drawn WindowedOrder::pass(int64_t number) const {
  const std::scoped_lock lock(order_mutex_);
  Drawn& known = passes_[number];
  if (known) return known;
  std::vector<uint32_t> order;
  for (const int64_t file : drawn(seed_, epoch_, number, kFiles, static_cast<size_t>(files_)))
    order.push_back(static_cast<uint32_t>(file));
  const Drawn made = known = std::make_shared<std::vector<uint32_t>>(std::move(order));
  if (passes_.size() > kPassesDrawn)
    passes_.erase(passes_.begin()->first == number ? std::prev(passes_.end()) : passes_.begin());
  return made;
}

std::vector<uint32_t> WindowedOrder::files(int64_t window) const {
  const Drawn order = pass(window / windows_of_pass_);
  const int64_t first = window % windows_of_pass_ * window_, end = std::min(files_, first + window_);
  return {order->begin() + first, order->begin() + end};
}

size_t WindowedOrder::index_of(int64_t place) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), place);
  LINAC_CHECK(after != begins_.begin());
  return static_cast<size_t>(after - begins_.begin()) - 1;
}

WindowPlace WindowedOrder::known_before(int64_t place) const {
  const std::scoped_lock lock(mutex_);
  const size_t index = index_of(place);
  return {first_window_ + static_cast<int64_t>(index), begins_[index]};
}

// The last known window gets its end. The events are asked for without the lock of what is known: that may take long.
void WindowedOrder::know_next() const {
  size_t known = 0;
  {
    const std::scoped_lock lock(mutex_);
    known = begins_.size();
  }
  const std::scoped_lock turn(asking_);
  {
    const std::scoped_lock lock(mutex_);
    if (begins_.size() > known) return;
  }
  int64_t events = 0;
  for (const uint32_t file : files(first_window_ + static_cast<int64_t>(known) - 1)) events += events_of_(file);
  const std::scoped_lock lock(mutex_);
  const int64_t end = begins_.back() + events;
  const auto pass = static_cast<size_t>(windows_of_pass_);
  if (begins_.size() >= pass && begins_[begins_.size() - pass] == end)
    throw user_error(
        fmt::format("[data] no event for the training in any of {}; mend data.filter or data.split, or "
                    "name other files",
                    plural(files_, "file")));
  begins_.push_back(end);
}

WindowPlace WindowedOrder::window_of(int64_t place) const {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      const size_t index = index_of(place);
      if (index + 1 < begins_.size()) return {first_window_ + static_cast<int64_t>(index), begins_[index]};
    }
    know_next();
  }
}

int64_t WindowedOrder::end(int64_t window) const {
  const std::scoped_lock lock(mutex_);
  return begins_.at(static_cast<size_t>(window - first_window_) + 1);
}

std::shared_ptr<const WindowedOrder::Mixed> WindowedOrder::mixed(int64_t window) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = mixed_.find(window); found != mixed_.end()) return found->second;
  }
  const auto made = std::make_shared<Mixed>();
  made->files = files(window);
  for (const uint32_t file : made->files)
    made->ends.push_back((made->ends.empty() ? 0 : made->ends.back()) + events_of_(file));
  made->events =
      drawn(seed_, epoch_, window / windows_of_pass_, kFirstWindow + static_cast<uint32_t>(window % windows_of_pass_),
            static_cast<size_t>(made->ends.back()));
  const std::scoped_lock lock(mutex_);
  mixed_[window] = made;
  while (mixed_.size() > kWindowsDrawn)
    mixed_.erase(mixed_.begin()->first == window ? std::prev(mixed_.end()) : mixed_.begin());
  return made;
}

std::vector<EventOfFile> WindowedOrder::slice(int64_t first, int64_t count) const {
  LINAC_CHECK(first >= 0 && count >= 0);
  std::vector<EventOfFile> found;
  while (std::cmp_less(found.size(), count)) {
    const int64_t place = first + static_cast<int64_t>(found.size());
    const WindowPlace at = window_of(place);
    const std::shared_ptr<const Mixed> window = mixed(at.window);
    const int64_t from = place - at.first;
    const int64_t here = std::min(count - static_cast<int64_t>(found.size()), window->ends.back() - from);
    for (int64_t i = from; i < from + here; ++i) {
      const int64_t event = window->events[static_cast<size_t>(i)];
      const auto end = std::upper_bound(window->ends.begin(), window->ends.end(), event);
      const auto file = static_cast<size_t>(end - window->ends.begin());
      found.push_back({window->files[file], event - (file == 0 ? 0 : window->ends[file - 1])});
    }
  }
  return found;
}

}  // namespace linac::data
