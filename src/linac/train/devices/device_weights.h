#pragma once
// The weights of networks in the memory of each device of a worker. They travel from the host once, to the first
// device, and from there to the others. For one thread; what it hands out may be read by any.

#include <span>
#include <vector>

#include "linac/model/graph/parameters.h"
#include "linac/model/graph/place.h"
#include "linac/train/devices/device_group.h"

namespace linac::devices {

class DeviceWeights {
 public:
  /// Borrows the group.
  explicit DeviceWeights(DeviceGroup& group) : group_(group), copies_(static_cast<size_t>(group.size())) {}

  /// As the networks are now, on every device.
  void place(std::span<const graph::Parameters* const> networks);
  /// Of what was placed last; as long as nothing else is, and those buffers live.
  std::span<const graph::WeightCopy> copies(int device) const { return copies_[static_cast<size_t>(device)]; }

 private:
  void place(size_t number, std::span<const float> values);

  DeviceGroup& group_;
  std::vector<std::vector<DeviceBuffer>> buffers_;      // by buffer of a network, then by device
  std::vector<std::vector<graph::WeightCopy>> copies_;  // by device
};

}  // namespace linac::devices
