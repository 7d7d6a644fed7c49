#include "linac/train/train/exchange/replica_devices.h"

#include <algorithm>
#include <numeric>

namespace linac::train {

void ReplicaDevices::begin(const TrainState& state, size_t network) {
  std::vector<const graph::Parameters*> networks;
  for (const Network& one : state.networks) networks.push_back(&one.parameters);
  weights_.place(networks);
  sum_.begin(networks.at(network)->trainable.size());
}

graph::Place ReplicaDevices::place(size_t i, size_t count) const {
  const int gpu = group_->gpu(devices::device_of(i, count, group_->size()));
  return {.gpu = gpu, .copies = {}, .gradients_stay = gpu >= 0};
}

graph::Place ReplicaDevices::place_in_update(size_t i, size_t count) const {
  graph::Place there = place(i, count);
  there.copies = weights_.copies(devices::device_of(i, count, group_->size()));
  return there;
}

std::vector<size_t> ReplicaDevices::order(size_t count) const {
  std::vector<size_t> turn(count), order(count);  // turn: how many of its device come before
  for (size_t i = 1; i < count; ++i) {
    const bool same = devices::device_of(i, count, group_->size()) == devices::device_of(i - 1, count, group_->size());
    turn[i] = same ? turn[i - 1] + 1 : 0;
  }
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return turn[a] < turn[b]; });
  return order;
}

}  // namespace linac::train
