#include "linac/train/devices/device_group.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/test_errors.h"
#include "linac/train/devices/device_weights.h"
#include "linac/train/devices/gpus_of_worker.h"
#include "linac/train/devices/host_device_group.h"
#include "linac/train/devices/nccl.h"

namespace linac::devices {
namespace {

TEST(HostDeviceGroup, IsAsStrictAsAGpu) {
  HostDeviceGroup group(3);
  const DeviceBuffer a(group, 0, 10), b(group, 1, 10);
  EXPECT_TRUE(std::isnan(a.data()[0])) << "nobody has written it";
  std::vector<float> values(10, 1.0F);
  group.write(0, a.data(), values);
  group.move(0, a.data(), 1, b.data(), 10);
  group.add(1, b.data(), b.data(), 10, comm::Exchange::kFloat);
  group.read(1, values, b.data());
  EXPECT_EQ(values, std::vector<float>(10, 2.0F));
  for (const auto& wrong : std::vector<std::function<void()>>{
           [&] { group.write(1, a.data(), values); }, [&] { group.read(1, values, a.data()); },
           [&] { group.add(1, b.data(), a.data(), 10, comm::Exchange::kFloat); },
           [&] { group.add(1, b.data() + 1, b.data(), 10, comm::Exchange::kFloat); },
           [&] { group.clear(1, values.data(), 10); }, [&] { group.move(1, a.data(), 0, a.data(), 1); }}) {
    EXPECT_NE(message_of(ErrorCode::kInternal, wrong).find("device 1"), std::string::npos);
  }
}

TEST(HostDeviceGroup, MemoryIsBoundedAndComesBack) {
  HostDeviceGroup group(2, 100);
  for (int round = 0; round < 3; ++round) {
    const DeviceBuffer first(group, 1, 60);
    EXPECT_NE(message_of(ErrorCode::kEnvironment, [&] { DeviceBuffer(group, 1, 41); }).find("device 1: no memory"),
              std::string::npos);
    const DeviceBuffer other(group, 0, 100), rest(group, 1, 40), nothing(group, 0, 0);
  }
}

TEST(DeviceWeights, EachDeviceHasItsOwnAsTheyAreNow) {
  HostDeviceGroup group(3);
  DeviceWeights weights(group);
  std::vector<graph::Parameters> networks(2);
  networks[0].trainable = {1, 2, 3};
  networks[0].statistics = {4};
  networks[1].trainable = {5};  // without statistics
  const std::vector<const graph::Parameters*> both{&networks[0], &networks[1]};
  for (int update = 0; update < 2; ++update) {
    weights.place(both);
    for (int device = 0; device < 3; ++device) {
      const graph::Place place{.copies = weights.copies(device)};
      EXPECT_EQ(place.copies.size(), 3u);
      for (const AlignedFloats* values : {&networks[0].trainable, &networks[0].statistics, &networks[1].trainable}) {
        std::vector<float> there(values->size());
        group.read(device, there, place.copy_of(values->data()));  // refused if it is another device's
        EXPECT_EQ(there, std::vector<float>(values->begin(), values->end()));
      }
      const float elsewhere = 0;
      EXPECT_EQ(place.copy_of(&elsewhere), &elsewhere);
    }
    networks[0].trainable = {7, 8, 9, 10};  // another network in its place
    networks[1].trainable[0] = 6;
  }
}

TEST(GpusOfWorker, ALoneWorkerTakesAllAndSeveralTheirShares) {
  using Gpus = std::vector<int>;
  EXPECT_EQ(gpus_of_worker(4, 0, 1, 0), (Gpus{0, 1, 2, 3}));
  EXPECT_EQ(gpus_of_worker(4, 1, 2, 0), (Gpus{2, 3}));
  EXPECT_EQ(gpus_of_worker(4, 0, 3, 0), (Gpus{0}));
  EXPECT_EQ(gpus_of_worker(4, 2, 3, 0), (Gpus{2, 3}));
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(gpus_of_worker(4, rank, 4, 0), Gpus{rank}) << "torchrun";
  EXPECT_EQ(gpus_of_worker(2, 5, 8, 0), Gpus{1}) << "counted round";
  EXPECT_EQ(gpus_of_worker(1, 0, 1, 0), Gpus{0});
  EXPECT_EQ(gpus_of_worker(4, 2, 1, 0), Gpus{2}) << "LOCAL_RANK=2 linac train --join";
  EXPECT_EQ(gpus_of_worker(4, 0, 1, 1), Gpus{0});
  EXPECT_EQ(gpus_of_worker(4, 1, 2, 1), Gpus{1});
  EXPECT_EQ(gpus_of_worker(4, 1, 2, 3), (Gpus{3, 0, 1})) << "counted round";
  EXPECT_NE(message_of(ErrorCode::kUser, [] { gpus_of_worker(2, 0, 1, 3); }).find("devices_per_worker = 3"),
            std::string::npos);
}

TEST(Nccl, ItsAbsenceIsAnEnvironmentErrorThatSaysWhatToDo) {
  for (const char* library : {"libnccl-that-nobody-has.so.2", "libm.so.6"}) {
    const std::string message = message_of(ErrorCode::kEnvironment, [&] { const Nccl nccl(library); });
    EXPECT_NE(message.find("devices_per_worker = 1"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace linac::devices
