#pragma once

#include <memory>

#include "linac/train/devices/device_group.h"

namespace linac::train {

/// What a worker computes with.
struct Computing {
  int replicas_at_a_time = 1;                       // on threads of the host
  std::shared_ptr<devices::DeviceGroup> devices{};  // null: the device of the process (models::need_device) alone

  Computing(int replicas, std::shared_ptr<devices::DeviceGroup> group = {})  // NOLINT: a number is all that most need
      : replicas_at_a_time(replicas), devices(std::move(group)) {}
};

}  // namespace linac::train
