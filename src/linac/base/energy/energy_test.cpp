#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/base/energy/energy_meter.h"
#include "linac/base/energy/gpu_meter.h"
#include "linac/base/energy/rapl.h"

namespace linac::energy {
namespace {

const GpuMeter kNoGpus("libnowhere.so.1");

class MadeSys : public testing::Test {
 protected:
  std::filesystem::path zone(const std::string& domain) { return folder_ / ("class/powercap/" + domain); }
  void set(const std::string& domain, const std::string& name, const std::string& energy_uj) {
    make_folder(zone(domain));
    write_file_atomically(zone(domain) / "name", name + "\n");
    write_file_atomically(zone(domain) / "max_energy_range_uj", "1000000\n");
    write_file_atomically(zone(domain) / "energy_uj", energy_uj + "\n");
  }
  TemporaryFolder folder_;
};

TEST_F(MadeSys, PackagesAndTheirMemoryCountOnce) {
  const auto all_at = [&](const std::string& uj) {
    set("intel-rapl:0", "package-0", uj);
    set("intel-rapl:0:0", "core", uj);
    set("intel-rapl:0:1", "dram", uj);
    set("intel-rapl:1", "package-1", uj);
    set("intel-rapl:1:0", "dram", uj);
    set("intel-rapl:2", "psys", uj);
    set("intel-rapl-mmio:0", "package-0", uj);
    set("intel-rapl-mmio:0:0", "dram", uj);
  };
  all_at("100");
  Rapl rapl(folder_.path());
  EXPECT_EQ(rapl.read(), 0);
  all_at("250100");
  EXPECT_NEAR(rapl.read().value(), 4 * 0.25, 1e-9);
  EXPECT_EQ(rapl.words(), "2 packages and memory");
}

TEST_F(MadeSys, ACounterWrapsAround) {
  set("intel-rapl:0", "package-0", "900000");
  Rapl rapl(folder_.path());
  EXPECT_EQ(rapl.read(), 0);
  set("intel-rapl:0", "package-0", "100000");
  EXPECT_NEAR(rapl.read().value(), 0.2, 1e-9);
  set("intel-rapl:0", "package-0", "9223372036854775807");
  EXPECT_GT(rapl.read().value(), 1e12) << "as it says";
  set("intel-rapl:0", "package-0", "5");
  EXPECT_GT(rapl.read().value(), 1e12) << "beyond its range: nothing is taken back";
}

TEST_F(MadeSys, TheBoardCountsWhereNoPackageDoes) {
  set("intel-rapl:0", "psys", "100");
  Rapl rapl(folder_.path());
  EXPECT_EQ(rapl.read(), 0);
  set("intel-rapl:0", "psys", "500100");
  EXPECT_NEAR(rapl.read().value(), 0.5, 1e-9);
  EXPECT_EQ(rapl.words(), "psys, the whole board");
}

TEST_F(MadeSys, WhatCannotBeReadIsSaid) {
  Rapl rapl(folder_.path());
  EXPECT_EQ(rapl.read(), std::nullopt);
  expect_in(rapl.words(), {"class/powercap", "No such file"});

  make_folder(zone("intel-rapl"));
  EXPECT_EQ(rapl.read(), std::nullopt);
  expect_in(rapl.words(), {"has no package"});

  for (const char* nothing : {"", "-5", "many", "1.5", "99999999999999999999", "12 13"}) {
    set("intel-rapl:0", "package-0", nothing);
    EXPECT_EQ(rapl.read(), std::nullopt) << nothing;
    expect_in(rapl.words(), {"intel-rapl:0/energy_uj", "holds no number"});
  }
  std::filesystem::remove(zone("intel-rapl:0") / "energy_uj");
  EXPECT_EQ(rapl.read(), std::nullopt);
  expect_in(rapl.words(), {"energy_uj", "No such file"});
  ASSERT_EQ(::mkfifo((zone("intel-rapl:0") / "energy_uj").c_str(), 0600), 0);
  EXPECT_EQ(rapl.read(), std::nullopt);

  set("intel-rapl:1", "package-1", "7");
  EXPECT_EQ(rapl.read(), 0);
  expect_in(rapl.words(), {"1 package (1 more cannot be read"});
}

TEST_F(MadeSys, TheMeterTellsIdlePowerApart) {
  set("intel-rapl:0", "package-0", "0");
  EnergyMeter meter(kNoGpus, {}, 500, folder_.path());
  meter.read(10);
  set("intel-rapl:0", "package-0", "300000");
  meter.read(12);
  meter.begin_idle();
  set("intel-rapl:0", "package-0", "600000");
  meter.read(22);
  meter.end_idle();
  set("intel-rapl:0", "package-0", "900000");
  meter.read(25);
  const Use use = meter.use();
  EXPECT_EQ(use.seconds, 15);
  EXPECT_NEAR(use.joules, 0.9, 1e-9) << "what is idle counts as well";
  ASSERT_EQ(use.idle_w.size(), 1u);
  EXPECT_NEAR(use.idle_w.at("processors"), 0.03, 1e-9);
  EXPECT_TRUE(use.has_processors);
  EXPECT_FALSE(use.has_gpus);
  expect_in(use.method, {"RAPL: 1 package", "without fans"});
}

TEST_F(MadeSys, WithoutAMeterTheModelCounts) {
  EnergyMeter meter(kNoGpus, {0}, 250, folder_.path());
  EXPECT_EQ(meter.use().joules, 0);
  meter.read(100);
  meter.read(160);
  meter.read(150);  // a clock that went back takes nothing
  const Use use = meter.use();
  EXPECT_EQ(use.joules, 250 * 60);
  EXPECT_FALSE(use.has_processors || use.has_gpus);
  EXPECT_TRUE(use.idle_w.empty() && use.measured_j.empty());
  expect_in(use.method, {"a model, 250 W", "powercap", "no NVML"});

  EnergyMeter nothing(kNoGpus, {}, 0, folder_.path());
  nothing.read(1);
  nothing.begin_idle();
  nothing.read(2);
  nothing.end_idle();
  EXPECT_EQ(nothing.use().joules, 0);
  expect_in(nothing.use().method, {"not known"});
}

TEST_F(MadeSys, GpusTellEnergyOrPower) {
  const GpuMeter gpus(LINAC_TEST_NVML);
  EnergyMeter meter(gpus, {0, 1, 7}, 0, folder_.path());
  meter.read(0);
  meter.read(4);
  const Use use = meter.use();
  EXPECT_NEAR(use.joules, 1000, 1e-6) << "what the first one's counter rose by";
  EXPECT_EQ(use.measured_j, (ByMeter{{"gpu 0", 1000}}));
  EXPECT_TRUE(use.has_gpus);
  expect_in(use.method, {"processors not counted", "1 GPU measured (NVML, energy)", "2 GPUs not counted"});
}

TEST(EnergyMeter, OfThisHost) {
  EnergyMeter meter(gpu_meter(), {0}, 100);
  meter.read(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  meter.read(0.2);
  const Use use = meter.use();
  std::printf("%g J in %g s: %s\n", use.joules, use.seconds, use.method.c_str());
  EXPECT_GE(use.joules, 0);
  EXPECT_EQ(use.has_processors || use.has_gpus, use.method.find("model") == std::string::npos) << use.method;
}

TEST(GpuMeter, ReadsTheGpusThatAnswer) {
  const GpuMeter meter(LINAC_TEST_NVML);
  const auto use = meter.read({0, 1, 7});
  ASSERT_EQ(use.size(), 2u);
  EXPECT_EQ(use[0].number, 0);
  EXPECT_EQ(use[0].utilization, 0.75);
  EXPECT_EQ(use[0].memory_bytes, int64_t{3} << 30);
  EXPECT_EQ(use[0].power_w, 251.5);
  EXPECT_TRUE(use[0].energy_j);
  EXPECT_EQ(use[1].number, 1);
  EXPECT_EQ(use[1].power_w, std::nullopt);
  EXPECT_EQ(use[1].energy_j, std::nullopt);
}

TEST(GpuMeter, CudaCountsTheGpusThatItSees) {
  using Numbers = std::vector<int>;
  EXPECT_EQ(gpu_numbers({0, 2}, nullptr), (Numbers{0, 2}));
  EXPECT_EQ(gpu_numbers({0, 1}, "3, 1"), (Numbers{3, 1}));
  EXPECT_EQ(gpu_numbers({0, 1, 2}, "3,GPU-8932f937,-1"), (Numbers{3, -1, -1})) << "a name is no number";
  EXPECT_EQ(gpu_numbers({0, 1, -1}, ""), (Numbers{-1, -1, -1}));
  EXPECT_EQ(gpu_numbers({0}, "99999999999999999999"), (Numbers{-1}));
}

TEST(GpuMeter, WithoutTheLibraryThereAreNone) {
  EXPECT_TRUE(kNoGpus.read({0}).empty());
  EXPECT_FALSE(kNoGpus.is_there());
}

TEST(Machine, HasANameThatLasts) {
  EXPECT_FALSE(machine_name().empty());
  EXPECT_EQ(machine_name(), machine_name());
}

}  // namespace
}  // namespace linac::energy
