#pragma once
// What a stretch of work takes in energy: of this host's processors and memory (rapl.h), and of GPUs (gpu_meter.h);
// where neither tells, by the watts that somebody names. It says by which, as the figures are not alike: what is
// measured lacks fans, disks and the power supply's losses. What the host draws before the work begins can be told
// apart, as it would be drawn anyway. One thread.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/energy/gpu_meter.h"
#include "linac/base/energy/rapl.h"

namespace linac::energy {

struct Use {
  double seconds = 0, joules = 0;
  std::optional<double> idle_w;  // while nothing was done, if that was looked at; times `seconds` it is part of joules
  bool has_processors = false, has_gpus = false;  // measured; neither: joules are the model's
  std::string method;                             // in words; says what is not in the figure, and why
};

class EnergyMeter {
 public:
  /// A counter of the processors may wrap around twice between two readings that are further apart.
  static constexpr double kReadEvery_s = 60;

  /// `model_w`: of all that is to be counted, while it works; 0: not known.
  EnergyMeter(const GpuMeter& gpus, std::vector<int> gpu_numbers, double model_w, std::filesystem::path sys = "/sys");

  /// At this time of a clock that only goes forward. The first reading begins.
  void read(double now_s);
  /// What was read so far was of a host that did nothing: its power is the idle one, and counting begins anew.
  void end_idle();

  Use use() const;

 private:
  struct Gpu {
    GpuUse last;
    double at_s = 0, joules = 0;
  };
  double measured_j() const;

  const GpuMeter& gpu_meter_;
  const std::vector<int> numbers_;
  const double model_w_;
  Rapl rapl_;
  std::optional<double> host_j_;
  std::map<int, Gpu> gpus_;
  std::optional<double> begun_s_, idle_w_;
  double now_s_ = 0, before_j_ = 0;
};

}  // namespace linac::energy
