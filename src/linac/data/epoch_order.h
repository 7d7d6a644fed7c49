#pragma once
// In which order an epoch goes through a set of events: a pure function of (seed, epoch) and of how many events the
// files have, never of workers, threads or restarts.

#include <cstdint>
#include <span>
#include <vector>

namespace linac::data {

/// The order of a data set of `size` events in an epoch: a permutation of 0..size-1 by (seed, epoch).
std::vector<int64_t> epoch_order(uint64_t seed, uint32_t epoch, int64_t size);

/// An order in which a few files at a time take part: the files come in a drawn order, so many of them make a window,
/// and the events of a window are mixed.
struct WindowedOrder {
  std::vector<int64_t> events;               // the set's numbers: those of the first file, of the second, ...
  std::vector<std::vector<uint32_t>> files;  // of each window
  std::vector<int64_t> ends;                 // of each window, in `events`

  size_t window_of(int64_t place) const;
};
/// `sizes`: events of each file; `window`: files, at least 1.
WindowedOrder windowed_order(uint64_t seed, uint32_t epoch, std::span<const int64_t> sizes, int window);

}  // namespace linac::data
