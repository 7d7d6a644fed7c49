#include <gtest/gtest.h>
#include <unistd.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/launch/host_meter.h"

namespace linac::launch {
namespace {

class HostMeterTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    make_folder((folder_ / name).parent_path());
    write_file_atomically(folder_ / name, text);
  }
  void energy(const std::string& domain, const std::string& name, int64_t uj) {
    write("sys/class/powercap/" + domain + "/name", name + "\n");
    write("sys/class/powercap/" + domain + "/max_energy_range_uj", "1000000\n");
    write("sys/class/powercap/" + domain + "/energy_uj", std::to_string(uj) + "\n");
  }
  TemporaryFolder folder_;
};

TEST_F(HostMeterTest, ReadsTimeAndMemory) {
  write("proc/stat", "cpu  100 20 30 5000 600 7 8 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:   10 kB\nMemAvailable:    400 kB\n");
  HostMeter meter(folder_ / "proc", folder_ / "sys");
  const HostUse use = meter.read();
  EXPECT_NEAR(use.busy_s * static_cast<double>(sysconf(_SC_CLK_TCK)), 174, 1e-9);
  EXPECT_EQ(use.memory_bytes, 600 * 1024);
  EXPECT_FALSE(use.energy_j);
}

TEST_F(HostMeterTest, AddsUpEnergyThroughTheEndOfItsCounters) {
  energy("intel-rapl:0", "package-0", 900000);
  energy("intel-rapl:0:0", "core", 5);
  energy("intel-rapl:0:1", "dram", 100);
  energy("intel-rapl:1", "psys", 1);
  HostMeter meter(folder_ / "proc", folder_ / "sys");
  EXPECT_EQ(meter.read().energy_j, 0);
  energy("intel-rapl:0", "package-0", 100000);  // wrapped around: 200,000
  energy("intel-rapl:0:0", "core", 500000);
  energy("intel-rapl:0:1", "dram", 50100);
  EXPECT_NEAR(meter.read().energy_j.value(), 0.25, 1e-9);
}

TEST(HostMeter, OfThisHost) {
  HostMeter meter;
  const HostUse use = meter.read();
  EXPECT_GT(use.busy_s, 0);
  EXPECT_GT(use.memory_bytes, 1 << 20);
}

}  // namespace
}  // namespace linac::launch
