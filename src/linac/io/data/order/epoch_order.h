#pragma once
// In which order an epoch goes through a set of events: a pure function of (seed, epoch) and of how many events the
// files have, never of workers, threads or restarts.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace linac::data {

/// The order of a data set of `size` events in an epoch: a permutation of 0..size-1 by (seed, epoch).
std::vector<int64_t> epoch_order(uint64_t seed, uint32_t epoch, int64_t size);

/// By the place of its file in a set, and its number there.
struct EventOfFile {
  uint32_t file = 0;
  int64_t event = 0;
  auto operator<=>(const EventOfFile&) const = default;
};

/// Where a window of an epoch begins: all that must be known of the files before it.
struct WindowPlace {
  int64_t window = 0;  // of the epoch, counted on from one pass through the files to the next
  int64_t first = 0;   // the place of its first event
  bool operator==(const WindowPlace&) const = default;
};

/// An order in which a few files at a time take part: the files come in a drawn order, so many of them make a window,
/// and the events of a window are mixed. Behind the last window the files come in another drawn order, and so on, so
/// the order has no end. How many events a file has is asked when its window comes. Memory is that of the files and of
/// a few windows: the events of one are drawn when they are asked for. Thread-safe.
class WindowedOrder {
 public:
  /// Events of a file for the training; it may take until the file is read. What it throws, all functions throw.
  using EventsOf = std::function<int64_t(uint32_t file)>;

  /// `files`, `window`: at least 1. `known`: a window that was reached before; what comes before it is not asked for.
  WindowedOrder(uint64_t seed, uint32_t epoch, size_t files, int window, EventsOf events_of, WindowPlace known = {});

  /// The files of a window, in their drawn order.
  std::vector<uint32_t> files(int64_t window) const;
  /// The last window that is known to begin at a place or before it. Asks nothing.
  WindowPlace known_before(int64_t place) const;
  /// The window of a place: asks for the files up to it. User error where a whole pass has no event.
  WindowPlace window_of(int64_t place) const;
  /// The place behind the last event of a window that window_of() has named.
  int64_t end(int64_t window) const;
  /// What stands at `count` places from `first` on.
  std::vector<EventOfFile> slice(int64_t first, int64_t count) const;

 private:
  struct Mixed {
    std::vector<uint32_t> files;
    std::vector<int64_t> ends;    // of each file, in the window's own numbers
    std::vector<int64_t> events;  // these numbers, mixed
  };
  using Drawn = std::shared_ptr<const std::vector<uint32_t>>;

  Drawn pass(int64_t number) const;
  void know_next() const;
  size_t index_of(int64_t place) const;
  std::shared_ptr<const Mixed> mixed(int64_t window) const;

  const uint64_t seed_;
  const uint32_t epoch_;
  const int64_t files_, window_, windows_of_pass_;
  const EventsOf events_of_;
  const int64_t first_window_;

  mutable std::mutex order_mutex_;  // of passes_
  mutable std::map<int64_t, Drawn> passes_;
  mutable std::mutex asking_;            // one thread asks for the events of the next window
  mutable std::mutex mutex_;             // of what follows
  mutable std::vector<int64_t> begins_;  // of windows from first_window_ on, as far as they are known
  mutable std::map<int64_t, std::shared_ptr<const Mixed>> mixed_;
};

}  // namespace linac::data
