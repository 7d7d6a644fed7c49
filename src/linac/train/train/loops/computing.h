#pragma once

#include <memory>
#include <vector>

#include "linac/train/devices/device_group.h"

namespace linac::train {

class Islands;

/// What a worker computes with.
struct Computing {
  int replicas_at_a_time = 1;                       // on threads of the host
  std::shared_ptr<devices::DeviceGroup> devices{};  // null: the device of the process (models::need_device) alone
  std::vector<int> gpus{};                          // that it takes, by CUDA's numbers
  std::shared_ptr<Islands> islands{};               // of replicas that train apart

  Computing(int replicas, std::shared_ptr<devices::DeviceGroup> group = {},  // NOLINT: a number is all that most need
            std::vector<int> gpu_numbers = {})
      : replicas_at_a_time(replicas), devices(std::move(group)), gpus(std::move(gpu_numbers)) {}
};

}  // namespace linac::train
