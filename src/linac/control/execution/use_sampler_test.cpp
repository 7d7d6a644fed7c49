#include "linac/control/execution/use_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace linac::execution {
namespace {

std::map<std::string, double> values(const std::vector<catalog::KeyedPoint>& points) {
  std::map<std::string, double> values;
  for (const auto& point : points) values[point.key] = point.point.value;
  return values;
}

TEST(UseSampler, TellsRatesFromTheSecondSampleOn) {
  UseSampler sampler;
  const UseSampler::Time begin(std::chrono::hours(1));
  EXPECT_TRUE(sampler.due(begin));
  launch::AttemptUse use;
  use.cpu_s = 10;
  use.memory_bytes = 3 << 20;
  use.read_bytes = 0;
  use.written_bytes = 1 << 20;
  use.host = launch::HostUse{.busy_s = 100, .memory_bytes = 8 << 20, .energy_j = 50};
  use.gpus = {{.number = 3, .utilization = 0.5, .memory_bytes = 2 << 20, .power_w = 70, .energy_j = {}}};
  EXPECT_EQ(values(sampler.sample(use, begin, 0, 0)), (std::map<std::string, double>{{"system/memory_mb", 3},
                                                                                     {"system/read_mb", 0},
                                                                                     {"system/written_mb", 1},
                                                                                     {"system/host_memory_mb", 8},
                                                                                     {"system/gpu3_utilization", 0.5},
                                                                                     {"system/gpu3_memory_mb", 2},
                                                                                     {"system/gpu3_power_w", 70}}));
  use.cpu_s = 30;
  use.host = launch::HostUse{.busy_s = 140, .memory_bytes = 8 << 20, .energy_j = 2050};
  const auto second = values(sampler.sample(use, begin + std::chrono::seconds(10), 10, 0));
  EXPECT_EQ(second.at("system/cores_used"), 2);
  EXPECT_EQ(second.at("system/host_cores_busy"), 4);
  EXPECT_EQ(second.at("system/host_power_w"), 200);
  EXPECT_EQ(second.at("system/host_energy_kj"), 2);
}

TEST(UseSampler, ShortRunsHaveTheirAccount) {
  UseSampler sampler;
  const UseSampler::Time begin(std::chrono::hours(1));
  std::vector<int> sampled;
  for (int second = 0; second <= 50; ++second) {
    const auto now = begin + std::chrono::seconds(second);
    if (!sampler.due(now)) continue;
    sampler.sample({}, now, second, 0);
    sampled.push_back(second);
  }
  EXPECT_EQ(sampled, (std::vector<int>{0, 1, 3, 7, 15, 25, 35, 45}));
}

TEST(UseSampler, LeavesOutWhatIsNotKnown) {
  UseSampler sampler;
  const UseSampler::Time begin(std::chrono::hours(1));
  EXPECT_TRUE(sampler.sample({}, begin, 0, 0).empty());
  launch::AttemptUse use;
  use.cpu_s = 1;
  use.memory_bytes = 1 << 20;
  EXPECT_EQ(values(sampler.sample(use, begin + std::chrono::seconds(10), 0, 0)),
            (std::map<std::string, double>{{"system/memory_mb", 1}}));
}

}  // namespace
}  // namespace linac::execution
