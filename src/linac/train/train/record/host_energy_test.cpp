#include "linac/train/train/record/host_energy.h"

#include <gtest/gtest.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::train {
namespace {

const energy::GpuMeter kNoGpus("libnowhere.so.1");

void set_counter(const TemporaryFolder& sys, const char* energy_uj) {
  const auto zone = sys / "class/powercap/intel-rapl:0";
  make_folder(zone);
  write_file_atomically(zone / "name", std::string_view("package-0\n"));
  write_file_atomically(zone / "max_energy_range_uj", std::string_view("1000000000\n"));
  write_file_atomically(zone / "energy_uj", std::string(energy_uj) + "\n");
}

TEST(HostEnergy, TellsWhatTheMachineTookAndTakesIdle) {
  const TemporaryFolder sys;
  set_counter(sys, "1000000");
  HostEnergy energy({}, 300, sys.path(), kNoGpus);
  set_counter(sys, "3000000");
  energy.look_at_idle();
  const job::ToldEnergy told = energy.told();
  EXPECT_EQ(told.joules, (job::Measures{{"processors", 2}}));
  EXPECT_EQ(told.idle_w, (job::Measures{{"processors", 0}})) << "the counter stood still meanwhile";
  EXPECT_EQ(told.model_j, 0);
  EXPECT_GE(told.seconds, 0.5);
  EXPECT_GT(told.from, 1.7e9);
  EXPECT_FALSE(told.machine.empty());
  expect_in(told.method, {"RAPL: 1 package"});
}

TEST(HostEnergy, WithoutAMeterTheModelCountsAndNobodyWaits) {
  const TemporaryFolder sys;
  HostEnergy energy({0}, 300, sys.path(), kNoGpus);
  energy.look_at_idle();
  const job::ToldEnergy told = energy.told();
  EXPECT_NEAR(told.model_j, 300 * told.seconds, 1e-9);
  EXPECT_TRUE(told.joules.empty() && told.idle_w.empty());
  expect_in(told.method, {"a model, 300 W", "no NVML"});
}

}  // namespace
}  // namespace linac::train
