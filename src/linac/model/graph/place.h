#pragma once
// Where a replica is computed, where a worker has several devices (train/devices/device_group.h): what computes a
// network asks for the place of its thread. Without one it is the device of the process, with weights and gradients in
// the host's memory. Thread-safe: each thread has a place of its own.

#include <cstddef>
#include <span>

namespace linac::graph {

/// A buffer of weights in the host's memory, and the same values in a device's.
struct WeightCopy {
  const float* host = nullptr;
  const float* device = nullptr;
};

struct Place {
  int gpu = -1;                          // CUDA's number of it; -1: the device of the process
  std::span<const WeightCopy> copies{};  // of the weights there
  bool gradients_stay = false;           // GradientReady takes values that lie in that device's memory

  /// The copy of a buffer that begins there; `host` itself if there is none.
  const float* copy_of(const float* host) const {
    for (const WeightCopy& copy : copies)
      if (copy.host == host) return copy.device;
    return host;
  }
};

/// Of the calling thread.
const Place& current_place();

/// While it lives, the calling thread computes there. What it names must outlive it.
class AtPlace {
 public:
  explicit AtPlace(const Place& place);
  ~AtPlace();
  AtPlace(const AtPlace&) = delete;
  AtPlace& operator=(const AtPlace&) = delete;

 private:
  Place before_;
};

}  // namespace linac::graph
