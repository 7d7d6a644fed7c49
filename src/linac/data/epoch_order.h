#pragma once
// In which order an epoch goes through a set of events: a pure function of (seed, epoch) and of how many events the
// files have, never of workers, threads or restarts.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace linac::data {

/// The order of a data set of `size` events in an epoch: a permutation of 0..size-1 by (seed, epoch).
std::vector<int64_t> epoch_order(uint64_t seed, uint32_t epoch, int64_t size);

/// An order in which a few files at a time take part: the files come in a drawn order, so many of them make a window,
/// and the events of a window are mixed. Memory is that of the files and of a few windows: the events of one are drawn
/// when they are asked for. Thread-safe.
class WindowedOrder {
 public:
  /// `sizes`: events of each file; `window`: files, at least 1.
  WindowedOrder(uint64_t seed, uint32_t epoch, std::span<const int64_t> sizes, int window);

  int64_t events() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Of each window.
  const std::vector<std::vector<uint32_t>>& files() const { return files_; }
  size_t window_of(int64_t place) const;
  /// What stands at `count` places from `first` on, which lie within events(), in the set's numbers: those of the first
  /// file, of the second, ...
  std::vector<int64_t> slice(int64_t first, int64_t count) const;

 private:
  using Drawn = std::shared_ptr<const std::vector<int64_t>>;
  Drawn window(size_t number) const;

  const uint64_t seed_;
  const uint32_t epoch_;
  std::vector<int64_t> begins_;  // the first event of each file, and their end
  std::vector<std::vector<uint32_t>> files_;
  std::vector<int64_t> ends_;  // of each window, in places
  mutable std::mutex mutex_;
  mutable std::map<size_t, Drawn> drawn_;
};

}  // namespace linac::data
