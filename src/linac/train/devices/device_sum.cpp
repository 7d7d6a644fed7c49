#include "linac/train/devices/device_sum.h"

#include "linac/base/base/error.h"

namespace linac::devices {

void DeviceSum::take_place(comm::ReplicaRange owned, int replicas) {
  owned_ = owned;
  roots_ = comm::subtrees_in(owned, replicas);
  buffers_.clear();
  scratch_.clear();
}

int DeviceSum::device_of_replica(size_t index) const {
  return device_of(index, static_cast<size_t>(owned_.end - owned_.begin), group_.size());
}

void DeviceSum::begin(size_t floats) {
  const auto count = static_cast<size_t>(owned_.end - owned_.begin);
  if (buffers_.size() != count || (count > 0 && buffers_[0].size() != floats)) {
    buffers_.clear();
    for (size_t i = 0; i < count; ++i) buffers_.emplace_back(group_, device_of_replica(i), floats);
  }
  if (floats == 0) return;
  for (size_t i = 0; i < count; ++i) group_.clear(device_of_replica(i), buffers_[i].data(), floats);
  group_.wait();  // replicas write from threads of their own
}

void DeviceSum::take(size_t index, size_t offset, std::span<const float> values) {
  LINAC_CHECK(offset + values.size() <= buffers_.at(index).size());
  if (!values.empty()) group_.write(device_of_replica(index), buffers_[index].data() + offset, values);
}

float* DeviceSum::scratch_of(int device, size_t count) {
  scratch_.resize(static_cast<size_t>(group_.size()));
  auto& scratch = scratch_[static_cast<size_t>(device)];
  if (scratch.empty() || scratch[0].size() < count) {
    group_.wait();  // nobody reads the former one any more
    scratch.clear();
    scratch.emplace_back(group_, device, count);
  }
  return scratch[0].data();
}

DeviceSum::Node DeviceSum::add_up(int begin, int end, size_t offset, size_t count, comm::Exchange exchange) {
  const auto index = static_cast<size_t>(begin - owned_.begin);
  const Node first{device_of_replica(index), buffers_[index].data() + offset};
  if (end - begin == 1) {
    group_.round(first.device, first.values, count, exchange);
    return first;
  }
  const int middle = comm::middle_of(begin, end);
  const Node left = add_up(begin, middle, offset, count, exchange);
  Node right = add_up(middle, end, offset, count, exchange);
  if (right.device != left.device) {
    float* const here = scratch_of(left.device, count);
    group_.move(right.device, right.values, left.device, here, count);
    right = {left.device, here};
  }
  group_.add(left.device, left.values, right.values, count, exchange);
  return left;
}

void DeviceSum::sum(size_t offset, std::span<const std::span<float>> sums, comm::Exchange exchange) {
  LINAC_CHECK(sums.size() == roots_.size());
  std::vector<Node> nodes;
  for (size_t i = 0; i < roots_.size(); ++i) {
    if (sums[i].empty()) return;
    LINAC_CHECK(offset + sums[i].size() <= buffers_.front().size());
    nodes.push_back(add_up(roots_[i].begin, roots_[i].end, offset, sums[i].size(), exchange));
  }
  for (size_t i = 0; i < nodes.size(); ++i) group_.read(nodes[i].device, sums[i], nodes[i].values);
}

}  // namespace linac::devices
