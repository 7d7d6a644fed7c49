#include "linac/physics/report/run/actual.h"

#include <fmt/format.h>

namespace linac::report {

std::string planned_text(const PlannedBeside& figure) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g}) {}", figure.planned.middle, figure.planned.low, figure.planned.high,
                     figure.unit);
}

std::vector<PlannedBeside> beside_plan(const job::Planned& planned, const RunActual& actual,
                                       const std::optional<double>& money) {
  std::vector<PlannedBeside> rows;
  const auto add = [&](const char* what, const char* unit, const std::vector<double>& interval,
                       const std::optional<double>& value, double times = 1) {
    if (interval.size() == 3 && value)
      rows.push_back({what, unit, {times * interval[0], times * interval[1], times * interval[2]}, times * *value});
  };
  add("start", "s", planned.start_s, actual.start_s);
  add("a step", "s", planned.step_s, actual.step_s);
  add("jitter", "%", planned.jitter, actual.jitter, 100);
  add("the run", "h", planned.hours, actual.hours);
  add("money", "USD", planned.money, money);
  add("energy", "kWh", planned.kwh, actual.kwh);
  add("carbon dioxide", "kg", planned.co2_kg, actual.co2_kg);
  return rows;
}

}  // namespace linac::report
