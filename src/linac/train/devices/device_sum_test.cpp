#include "linac/train/devices/device_sum.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/comm/test_buffers.h"
#include "linac/train/comm/test_in_process_group.h"
#include "linac/train/devices/host_device_group.h"

namespace linac::devices {
namespace {

using comm::bits;
using comm::Buffers;
using comm::Exchange;
using comm::random_buffers;

std::vector<uint32_t> expected_bits(const Buffers& buffers, Exchange exchange) {
  const std::vector<std::span<const float>> views(buffers.begin(), buffers.end());
  std::vector<float> sum(buffers[0].size());
  comm::tree_sum(views, sum, exchange);
  return bits(sum);
}

// The sum as worker `rank` computes it: within on devices, with the others as ever. In pieces, as buckets come.
std::vector<float> sum_of_worker(comm::Group& group, const Buffers& buffers, int devices, Exchange exchange) {
  const int replicas = static_cast<int>(buffers.size());
  const comm::ReplicaRange owned = comm::replicas_of(group.view(), group.rank(), replicas);
  HostDeviceGroup there(devices);
  DeviceSum within(there);
  within.take_place(owned, replicas);
  comm::ReplicaSum between(group, replicas);
  const size_t size = buffers[0].size();
  within.begin(size);
  for (int replica = owned.begin; replica < owned.end; ++replica)
    within.take(static_cast<size_t>(replica - owned.begin), 0, buffers[static_cast<size_t>(replica)]);
  std::vector<float> result(size);
  const size_t cut = size / 3;
  for (const auto& [begin, end] : {std::pair{cut, size}, std::pair{size_t{0}, cut}}) {
    Buffers memory(between.own_roots().size(), std::vector<float>(end - begin));
    const std::vector<std::span<float>> roots(memory.begin(), memory.end());
    within.sum(begin, roots, exchange);
    between.reduce_roots(roots, std::span(result).subspan(begin, end - begin), exchange);
  }
  return result;
}

TEST(DeviceSum, TheSameBitsOnAnyNumberOfDevicesAndWorkers) {
  for (const Exchange exchange : {Exchange::kFloat, Exchange::kBfloat16}) {
    for (const int replicas : {1, 2, 3, 5, 7, 8}) {
      const Buffers buffers = random_buffers(replicas, 1009);
      const auto expected = expected_bits(buffers, exchange);
      for (int devices = 1; devices <= replicas + 1; ++devices) {  // one more: an idle device
        for (const int workers : {1, 2, 3}) {
          auto groups = comm::make_in_process_groups(workers, std::chrono::seconds(10));
          std::vector<std::jthread> threads;
          for (auto& group : groups) {
            threads.emplace_back([&buffers, &group, &expected, devices, exchange] {
              EXPECT_EQ(bits(sum_of_worker(*group, buffers, devices, exchange)), expected)
                  << buffers.size() << " replicas on " << devices << " devices, rank " << group->rank();
            });
          }
        }
      }
    }
  }
}

// What a group is asked to do, beside doing it.
class CountingGroup : public HostDeviceGroup {
 public:
  using HostDeviceGroup::HostDeviceGroup;
  void move(int from, const float* values, int to, float* target, size_t count) override {
    ++moves;
    HostDeviceGroup::move(from, values, to, target, count);
  }
  void read(int device, std::span<float> to, const float* from) override {
    ++reads;
    HostDeviceGroup::read(device, to, from);
  }
  int moves = 0, reads = 0;
};

TEST(DeviceSum, RootsAloneComeToTheHost) {
  CountingGroup group(4);
  DeviceSum sum(group);
  sum.take_place({0, 8}, 16);
  sum.begin(64);
  for (size_t i = 0; i < 8; ++i) sum.take(i, 0, std::vector<float>(64, 1.0F));
  std::vector<float> root(64);
  const std::span<float> view(root);
  sum.sum(0, {&view, 1}, Exchange::kFloat);
  EXPECT_EQ(root, std::vector<float>(64, 8.0F));
  EXPECT_EQ(group.reads, 1) << "one subtree";
  EXPECT_EQ(group.moves, 3) << "whole subtrees lie on each device: as many as the others are";
}

TEST(DeviceSum, DevicesCarryContiguousRanges) {
  for (const size_t count : {1, 2, 5, 8, 9}) {
    for (const int devices : {1, 2, 3, 4, 12}) {
      std::vector<int> carried(static_cast<size_t>(devices));
      int before = 0;
      for (size_t i = 0; i < count; ++i) {
        const int device = device_of(i, count, devices);
        EXPECT_GE(device, before);
        ++carried.at(static_cast<size_t>(device));
        before = device;
      }
      const auto [least, most] = std::minmax_element(carried.begin(), carried.end());
      EXPECT_LE(*most - *least, 1) << count << " on " << devices;
    }
  }
}

TEST(DeviceSum, AnUpdateSeesNothingOfTheOneBefore) {
  HostDeviceGroup group(2);
  DeviceSum sum(group);
  sum.take_place({0, 2}, 2);
  std::vector<float> result(8);
  const std::span<float> view(result);
  for (const size_t floats : {8, 16, 8}) {  // networks of different sizes take turns
    sum.begin(floats);
    sum.take(0, 2, std::vector<float>{1, 2});
    sum.take(1, 3, std::vector<float>{10});
    sum.sum(0, {&view, 1}, Exchange::kFloat);
    EXPECT_EQ(result, (std::vector<float>{0, 0, 1, 12, 0, 0, 0, 0})) << "gaps are 0";
  }
}

TEST(DeviceSum, AWorkerWithoutReplicasAddsNothing) {
  HostDeviceGroup group(2);
  DeviceSum sum(group);
  sum.take_place({2, 2}, 2);
  sum.begin(8);
  sum.sum(0, {}, Exchange::kFloat);
  EXPECT_TRUE(sum.roots().empty());
}

// A device of which one operation fails.
class FailingGroup : public HostDeviceGroup {
 public:
  using HostDeviceGroup::HostDeviceGroup;
  void add(int device, float* sum, const float* other, size_t count, Exchange exchange) override {
    if (device == failing) throw environment_error("[devices] emulated device 1: it has fallen off the bus");
    HostDeviceGroup::add(device, sum, other, count, exchange);
  }
  int failing = -1;
};

TEST(DeviceSum, ADeviceThatFailsIsNamedAndNothingStays) {
  FailingGroup group(2);
  DeviceSum sum(group);
  sum.take_place({0, 4}, 4);
  std::vector<float> result(16);
  const std::span<float> view(result);
  const auto run = [&] {
    sum.begin(16);
    for (size_t i = 0; i < 4; ++i) sum.take(i, 0, std::vector<float>(16, 1.0F));
    sum.sum(0, {&view, 1}, Exchange::kFloat);
  };
  group.failing = 1;
  try {
    run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("device 1"), std::string::npos);
  }
  group.failing = -1;
  run();  // the next view tries again
  EXPECT_EQ(result, std::vector<float>(16, 4.0F));
}

}  // namespace
}  // namespace linac::devices
