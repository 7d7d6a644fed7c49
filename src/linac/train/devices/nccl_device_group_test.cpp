// Several GPUs as a group against the processor. Where there is but one, or none, tests that want more say so and are
// skipped; on emulated ones, with an NCCL of their own, they are part of kernels_cuda_emulated.
#include <gtest/gtest.h>

#include <bit>

#include "linac/base/base/bfloat16.h"
#include "linac/base/base/error.h"
#include "linac/model/kernels/cuda/device.h"
#include "linac/train/comm/test_buffers.h"
#include "linac/train/devices/device_sum.h"
#include "linac/train/devices/host_device_group.h"
#include "linac/train/devices/nccl_device_group.h"

namespace linac::devices {
namespace {

using comm::Buffers;
using comm::Exchange;

class CudaDevices : public testing::Test {
 protected:
  void SetUp() override {
    const int count = kernels::cuda::device_count();
    if (count < least_) GTEST_SKIP() << count << " CUDA devices, or a build without CUDA: no group of " << least_;
    for (int gpu = 0; gpu < std::min(count, 4); ++gpu) gpus_.push_back(gpu);
  }
  int least_ = 1;
  std::vector<int> gpus_;
};

class CudaSeveralDevices : public CudaDevices {
 protected:
  CudaSeveralDevices() { least_ = 2; }
};

// With what rounding has to get right.
Buffers odd_buffers(int replicas, size_t size) {
  Buffers buffers = comm::random_buffers(replicas, size);
  const float odd[] = {std::bit_cast<float>(0x3F808000U), std::bit_cast<float>(0x3F818000U), 1e-42F, -0.0F,
                       std::numeric_limits<float>::max()};
  for (size_t replica = 0; replica < buffers.size(); ++replica)
    for (size_t i = 0; i < std::size(odd) && i < size; ++i) buffers[replica][i] = replica == 0 ? odd[i] : 0;
  return buffers;
}

std::vector<uint32_t> sum_on(DeviceGroup& group, const Buffers& buffers, int first, int all, Exchange exchange) {
  DeviceSum sum(group);
  sum.take_place({first, first + static_cast<int>(buffers.size())}, all);
  const size_t size = buffers[0].size();
  sum.begin(size);
  for (size_t i = 0; i < buffers.size(); ++i) sum.take(i, 0, buffers[i]);
  Buffers roots(sum.roots().size(), std::vector<float>(size));
  const std::vector<std::span<float>> views(roots.begin(), roots.end());
  sum.sum(0, views, exchange);
  std::vector<uint32_t> bits;
  for (const auto& root : roots)
    for (const float value : root) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST_F(CudaDevices, SumsHaveTheBitsOfTheProcessor) {
  HostDeviceGroup processor(1);
  for (size_t count = 1; count <= gpus_.size(); ++count) {
    NcclDeviceGroup group({gpus_.begin(), gpus_.begin() + static_cast<int64_t>(count)});
    for (const int replicas : {1, 3, 5, 8}) {
      const Buffers buffers = odd_buffers(replicas, 401);
      for (const Exchange exchange : {Exchange::kFloat, Exchange::kBfloat16}) {
        const int first = 3, all = 20;  // several roots
        EXPECT_EQ(sum_on(group, buffers, first, all, exchange), sum_on(processor, buffers, first, all, exchange))
            << replicas << " replicas on " << count;
      }
    }
  }
}

TEST_F(CudaSeveralDevices, ABroadcastReachesAll) {
  NcclDeviceGroup group(gpus_);
  EXPECT_NE(group.describe().find("NCCL 2."), std::string::npos) << group.describe();
  const std::vector<float> values = odd_buffers(1, 777)[0];
  std::vector<DeviceBuffer> buffers;
  std::vector<float*> all;
  for (int device = 0; device < group.size(); ++device)
    all.push_back(buffers.emplace_back(group, device, values.size()).data());
  group.write(0, all[0], values);
  group.broadcast(all, values.size());
  for (int device = 0; device < group.size(); ++device) {
    std::vector<float> there(values.size());
    group.read(device, there, all[static_cast<size_t>(device)]);
    EXPECT_EQ(there, values) << device;
  }
}

template <class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment) << error.what();
    return error.what();
  }
  return "no error";
}

TEST_F(CudaSeveralDevices, WhatFailsIsNamed) {
  NcclDeviceGroup group(gpus_);
  const std::string memory = message_of([&] { group.allocate(1, size_t{1} << 44); });
  EXPECT_NE(memory.find("GPU 1 ("), std::string::npos) << memory;
  EXPECT_NE(message_of([&] { const NcclDeviceGroup twice({0, 0}); }).find("GPUs 0 ("), std::string::npos);
  EXPECT_NE(message_of([&] { const NcclDeviceGroup absent({0, 99}); }).find("GPU 99"), std::string::npos);
  EXPECT_NE(message_of([&] { const NcclDeviceGroup no(gpus_, "libnccl-of-nobody.so"); }).find("NCCL"),
            std::string::npos);
}

TEST_F(CudaSeveralDevices, TheThreadFindsItsOwnGpuAgain) {
  NcclDeviceGroup group(gpus_);
  const DeviceBuffer buffer(group, 1, 16);
  kernels::cuda::use_device(0);
  group.write(1, buffer.data(), std::vector<float>(16, 1.0F));
  group.add(1, buffer.data(), buffer.data(), 16, Exchange::kFloat);
  group.wait();
  EXPECT_EQ(kernels::cuda::device_in_use(), 0);
}

}  // namespace
}  // namespace linac::devices
