#include "linac/train/devices/device_weights.h"

namespace linac::devices {

void DeviceWeights::place(std::span<const graph::Parameters* const> networks) {
  for (auto& copies : copies_) copies.clear();
  size_t number = 0;
  for (const graph::Parameters* const network : networks) {
    place(number++, network->trainable);
    place(number++, network->statistics);
  }
  group_.wait();
}

void DeviceWeights::place(size_t number, std::span<const float> values) {
  if (buffers_.size() <= number) buffers_.resize(number + 1);
  auto& buffers = buffers_[number];
  if (values.empty()) return;
  if (buffers.empty() || buffers[0].size() != values.size()) {
    buffers.clear();
    for (int device = 0; device < group_.size(); ++device) buffers.emplace_back(group_, device, values.size());
  }
  std::vector<float*> all;
  for (const DeviceBuffer& buffer : buffers) all.push_back(buffer.data());
  group_.write(0, all[0], values);
  group_.broadcast(all, values.size());
  for (size_t device = 0; device < copies_.size(); ++device)
    copies_[device].push_back({.host = values.data(), .device = all[device]});
}

}  // namespace linac::devices
