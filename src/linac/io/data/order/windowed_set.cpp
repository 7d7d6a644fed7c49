#include "linac/io/data/order/windowed_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/data/dataset.h"
#include "linac/io/data/event_table.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/read_width.h"

namespace linac::data {
namespace {

constexpr int kCountsAtOnce = 16;  // requests for the heads of files
// An event is read once in a window, and the system maps some pages around it (64 KiB): of so many events 16 MiB.
constexpr int64_t kEventsMapped = 256;
constexpr size_t kWindowsKept = 3;  // the one before, whose batches may be read still, this one and the next

bool holds(const std::vector<uint32_t>& files, uint32_t file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

}  // namespace

template <class Set>
WindowedSet<Set>::WindowedSet(std::vector<FileVersion> files, int window, Opening opening,
                              std::shared_ptr<const Set> first)
    : window_(window),
      files_(std::move(files)),
      opening_(std::move(opening)),
      first_(std::move(first)),
      events_(files_.size(), -1) {
  const int threads = std::min({storage::kWidthMax.files, 2 * window_, static_cast<int>(files_.size())});
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { open_ahead(); });
}

template <class Set>
WindowedSet<Set>::~WindowedSet() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

template <class Set>
std::optional<std::string> WindowedSet<Set>::count_all() {
  const int files = static_cast<int>(files_.size());
  std::vector<std::optional<int64_t>> counts(files_.size());
  // Where the format of the first file does not tell, the others are not asked.
  if (!(counts[0] = opening_.count(files_[0].url))) return files_[0].url;
  ThreadPool pool(std::min(kCountsAtOnce, files));
  pool.run(files - 1, [&](int i) {
    const auto file = static_cast<size_t>(i) + 1;
    counts[file] = opening_.count(files_[file].url);
  });
  const std::scoped_lock lock(mutex_);
  size_ = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i]) return files_[i].url;
    size_ += events_[i] = *counts[i];
  }
  return std::nullopt;
}

template <class Set>
int64_t WindowedSet<Set>::events_known(size_t file) const {
  const std::scoped_lock lock(mutex_);
  return events_.at(file);
}

template <class Set>
std::shared_ptr<const WindowedOrder> WindowedSet<Set>::order(uint64_t seed, uint32_t epoch, WindowPlace known) const {
  return std::make_shared<WindowedOrder>(
      seed, epoch, files_.size(), window_, [this](uint32_t file) { return events_of(file); }, known);
}

template <class Set>
std::shared_ptr<const Set> WindowedSet<Set>::open_file(uint32_t file) const {
  const FileVersion& known = files_[file];
  const auto changed = [&] {
    return data_error(
        fmt::format("[data] {}: the file has changed since the training began; leave the files alone "
                    "while they are used, then start again",
                    net::without_secrets(known.url)));
  };
  if (version_now(known.url) != known.version) throw changed();
  auto set = opening_.open(known.url);
  if (const int64_t events = events_known(file); events >= 0 && events != set->size()) throw changed();
  if (check_ && set->size() > 0) check_(*set);
  const std::scoped_lock lock(mutex_);
  events_[file] = set->size();  // last: who knows the events of a file may rely on the check
  return set;
}

template <class Set>
typename WindowedSet<Set>::Opened WindowedSet<Set>::opened(uint32_t file) const {
  std::promise<std::shared_ptr<const Set>> promise;
  Opened future;
  {
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = open_.try_emplace(file);
    if (!is_new) return at->second;
    future = at->second = promise.get_future().share();
  }
  try {
    promise.set_value(open_file(file));
  } catch (...) {
    promise.set_exception(std::current_exception());
  }
  return future;
}

// Whoever needs a file now waits for its input; the threads that open files ahead do not.
template <class Set>
std::shared_ptr<const Set> WindowedSet<Set>::awaited(uint32_t file) const {
  const storage::ReadWidth::Wait wait(storage::read_width());
  return opened(file).get();
}

template <class Set>
bool WindowedSet<Set>::is_wanted(uint32_t file) const {
  const std::scoped_lock lock(mutex_);
  return std::any_of(recent_.begin(), recent_.end(), [&](const auto& window) { return holds(window, file); });
}

// Of a file that is not read now, an order that begins in its midst wants no more than that.
template <class Set>
int64_t WindowedSet<Set>::events_of(uint32_t file) const {
  if (const int64_t known = events_known(file); known >= 0) return known;
  if (is_wanted(file)) return awaited(file)->size();
  if (const auto told = opening_.count(files_[file].url)) {
    const std::scoped_lock lock(mutex_);
    return events_[file] = *told;
  }
  return open_file(file)->size();
}

template <class Set>
void WindowedSet<Set>::open_ahead() const {
  for (;;) {
    uint32_t file = 0;
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock,
                   [this] { return stop_ || (!ahead_.empty() && opening_now_ < storage::read_width().now().files); });
      if (stop_) return;
      file = ahead_.front();
      ahead_.pop_front();
      ++opening_now_;
    }
    if (is_wanted(file)) opened(file);
    {
      const std::scoped_lock lock(mutex_);
      --opening_now_;
    }
    wanted_.notify_all();
  }
}

template <class Set>
void WindowedSet<Set>::want(const std::vector<uint32_t>& files) const {
  std::vector<Opened> let_go;  // outside of the lock
  {
    const std::scoped_lock lock(mutex_);
    if (std::find(recent_.begin(), recent_.end(), files) != recent_.end()) return;
    recent_.push_back(files);
    if (recent_.size() > kWindowsKept) recent_.pop_front();
    for (const uint32_t file : files)
      if (!open_.contains(file)) ahead_.push_back(file);
    std::erase_if(open_, [&](auto& one) {
      const bool stays =
          std::any_of(recent_.begin(), recent_.end(), [&](const auto& window) { return holds(window, one.first); });
      if (!stays) let_go.push_back(std::move(one.second));
      return !stays;
    });
  }
  wanted_.notify_all();
}

template <class Set>
bool WindowedSet<Set>::coming(const WindowedOrder& order, int64_t place, int64_t end) const {
  // Whatever is known to be read is opened before anything is asked of it.
  want(order.files(order.known_before(place).window));
  const WindowPlace at = order.window_of(place);
  want(order.files(at.window));
  if (order.end(at.window) >= end) return true;
  want(order.files(at.window + 1));
  return false;
}

template <class Set>
void WindowedSet<Set>::coming_next(const WindowedOrder& next) const {
  want(next.files(0));
}

// Without this the memory of the process follows the files' size.
template <class Set>
void WindowedSet<Set>::let_pages_go(int64_t events_read) const {
  std::vector<Opened> open;
  {
    const std::scoped_lock lock(mutex_);
    if ((events_mapped_ += events_read) < kEventsMapped) return;
    events_mapped_ = 0;
    for (const auto& [file, one] : open_) open.push_back(one);
  }
  for (const Opened& one : open) {
    if (one.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
    try {
      one.get()->let_pages_go();
    } catch (const std::exception&) {
      // who reads this file is told
    }
  }
}

template <class Set>
void WindowedSet<Set>::read(std::span<const EventOfFile> events, Batch& out) const {
  std::map<uint32_t, std::pair<std::vector<int64_t>, std::vector<size_t>>> of_files;  // its events, and their slots
  for (size_t slot = 0; slot < events.size(); ++slot) {
    auto& [numbers, slots] = of_files[events[slot].file];
    numbers.push_back(events[slot].event);
    slots.push_back(slot);
  }
  first_->prepare(static_cast<int64_t>(events.size()), out);
  for (auto& [file, of_file] : of_files) awaited(file)->read_into(of_file.first, of_file.second, out);
  let_pages_go(static_cast<int64_t>(events.size()));
}

template class WindowedSet<EventTable>;
template class WindowedSet<Dataset>;

}  // namespace linac::data
