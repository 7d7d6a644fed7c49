#pragma once
// The sum over the replicas of one worker, on its devices: the part of the tree (train/comm/replica_sum.h) that lies
// within the worker. A replica's buffer is on the device that computes it. A node whose two children are on one device
// is added there; of any other the right child moves to the left one's device first. So each node has the two children
// that the tree gives it and the bits of one device, and the roots alone come to the host.
//
// Devices carry contiguous ranges of replicas, so most subtrees are whole on one of them.

#include <span>
#include <vector>

#include "linac/train/comm/sum_levels.h"
#include "linac/train/devices/device_group.h"

namespace linac::devices {

/// Which of `devices` carries item i of `count`: contiguous ranges, as even as can be. None of a device beyond `count`.
inline int device_of(size_t i, size_t count, int devices) {
  return count == 0 ? 0 : static_cast<int>(i * static_cast<size_t>(devices) / count);
}

class DeviceSum {
 public:
  /// Borrows the group.
  explicit DeviceSum(DeviceGroup& group) : group_(group) {}

  /// The worker carries these of all `replicas`. Before begin(), and when that changes; no buffer is in use then.
  void take_place(comm::ReplicaRange owned, int replicas);
  /// The device of the worker's replica `index`, counted from the first that it owns.
  int device_of_replica(size_t index) const;
  /// The largest subtrees of the tree that the worker carries, in their order.
  const std::vector<comm::ReplicaRange>& roots() const { return roots_; }

  /// Each replica has a buffer of so many zeros.
  void begin(size_t floats);
  /// Values of a replica, at `offset` of its buffer, from the memory of its device or the host's. Thread-safe.
  void take(size_t index, size_t offset, std::span<const float> values);
  /// [offset, offset + size of each of `sums`) of the roots, by root; the buffers hold partial sums afterwards.
  void sum(size_t offset, std::span<const std::span<float>> sums, comm::Exchange exchange);

 private:
  struct Node {
    int device;
    float* values;
  };
  Node add_up(int begin, int end, size_t offset, size_t count, comm::Exchange exchange);
  float* scratch_of(int device, size_t count);

  DeviceGroup& group_;
  comm::ReplicaRange owned_;
  std::vector<comm::ReplicaRange> roots_;
  std::vector<DeviceBuffer> buffers_;               // of the replicas
  std::vector<std::vector<DeviceBuffer>> scratch_;  // of the devices: one or none, for what comes from another
};

}  // namespace linac::devices
