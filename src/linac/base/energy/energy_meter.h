#pragma once
// What a stretch of work takes in energy: of this host's processors and memory (rapl.h), and of GPUs (gpu_meter.h);
// where neither tells, by the watts that somebody names. It says by which, as the figures are not alike: what is
// measured lacks fans, disks and the power supply's losses. What the host draws while nothing is done can be told
// apart, as it would be drawn anyway. One thread.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/energy/gpu_meter.h"
#include "linac/base/energy/rapl.h"

namespace linac::energy {

/// By meter: "processors", "gpu 0".
using ByMeter = std::map<std::string, double>;

struct Use {
  double seconds = 0, joules = 0;
  ByMeter measured_j;
  ByMeter idle_w;  // while nothing was done, if that was looked at; times `seconds` it is part of joules
  bool has_processors = false, has_gpus = false;  // measured; neither: joules are the model's
  std::string method;                             // in words; says what is not in the figure, and why
};

/// Of the machine whose meters these are, whatever the host is called for those in its containers: by when it started.
const std::string& machine_name();

class EnergyMeter {
 public:
  /// A counter of the processors may wrap around twice between two readings that are further apart.
  static constexpr double kReadEvery_s = 60;

  /// `model_w`: of all that is to be counted, while it works; 0: not known.
  EnergyMeter(const GpuMeter& gpus, std::vector<int> gpu_numbers, double model_w, std::filesystem::path sys = "/sys");

  /// At this time of a clock that only goes forward. The first reading begins.
  void read(double now_s);
  /// Between the reading before the first of these and that before the second the host does nothing.
  void begin_idle();
  void end_idle();

  Use use() const;

 private:
  struct Gpu {
    GpuUse last;
    double at_s = 0, joules = 0;
  };
  ByMeter measured_j() const;

  const GpuMeter& gpu_meter_;
  const std::vector<int> numbers_;
  const double model_w_;
  Rapl rapl_;
  std::optional<double> host_j_;
  std::map<int, Gpu> gpus_;
  std::optional<double> begun_s_;
  double now_s_ = 0, idle_from_s_ = 0;
  ByMeter idle_from_j_, idle_w_;
};

}  // namespace linac::energy
