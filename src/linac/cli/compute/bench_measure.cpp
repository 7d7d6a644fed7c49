#include "linac/cli/compute/bench_measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "linac/train/train/record/phase_clock.h"

namespace linac::cli {

using train::PhaseClock;

nlohmann::ordered_json spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {{"median", values[values.size() / 2]}, {"min", values.front()}, {"max", values.back()}};
}

nlohmann::ordered_json measure(int repeat, double showers, double gflop_per_shower, const std::function<void()>& work) {
  work();  // the first run pays for allocations
  std::vector<double> wall, cpu;
  for (int i = 0; i < repeat; ++i) {
    const auto begin = PhaseClock::now();
    work();
    const auto end = PhaseClock::now();
    wall.push_back(end.wall - begin.wall);
    cpu.push_back(end.cpu - begin.cpu);
  }
  nlohmann::ordered_json result{{"wall_s", spread(wall)}, {"cpu_s", spread(cpu)}};
  const double wall_s = result["wall_s"]["median"], cpu_s = result["cpu_s"]["median"];
  result["showers_per_s"] = showers / wall_s;
  result["showers_per_cpu_s"] = showers / cpu_s;
  if (gflop_per_shower > 0) result["gflop_per_s"] = showers * gflop_per_shower / wall_s;
  result["peak_rss_mib"] = peak_rss_mib();
  return result;
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace linac::cli
