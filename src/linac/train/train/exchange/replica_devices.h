#pragma once
// The devices of a worker that has several: which one computes which replica, with weights that lie there, and where
// the worker's part of the sum is added. What of it computing (compute.h) and exchange (exchange.h) use is
// thread-safe; the rest is for one thread.

#include <memory>
#include <vector>

#include "linac/model/graph/place.h"
#include "linac/train/comm/membership/view.h"
#include "linac/train/devices/device_sum.h"
#include "linac/train/devices/device_weights.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class ReplicaDevices {
 public:
  explicit ReplicaDevices(std::shared_ptr<devices::DeviceGroup> group)
      : group_(std::move(group)), weights_(*group_), sum_(*group_) {}

  /// The worker carries these of all `replicas`.
  void take_place(comm::ReplicaRange owned, int replicas) { sum_.take_place(owned, replicas); }
  /// An update of a network of state.networks begins: the weights of all are brought to the devices.
  void begin(const TrainState& state, size_t network);

  /// Of item i of `count`, replicas or other tasks: contiguous ranges on each device. With the weights as they were
  /// when the update began.
  graph::Place place_in_update(size_t i, size_t count) const;
  /// The same outside of updates, for networks that may have changed since.
  graph::Place place(size_t i, size_t count) const;
  /// In which order `count` replicas are begun, so that each device has work from the beginning.
  std::vector<size_t> order(size_t count) const;

  devices::DeviceSum& sum() { return sum_; }

 private:
  const std::shared_ptr<devices::DeviceGroup> group_;
  devices::DeviceWeights weights_;
  devices::DeviceSum sum_;
};

}  // namespace linac::train
