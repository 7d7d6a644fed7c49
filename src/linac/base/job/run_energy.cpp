#include "linac/base/job/run_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace linac::job {
namespace {

constexpr double kJoulesOfKwh = 3.6e6;

bool can_be(double value) {
  constexpr double kMost = 1e15;
  return value >= 0 && value < kMost;
}

// Of one meter: from a moment on, so many readers of it are more, and tell so much power more.
struct Change {
  double at_s = 0, power_w = 0, idle_w = 0;
  int readers = 0, idle_readers = 0;
};

struct Counted {
  double joules = 0, idle_j = 0;
  bool has_idle = false;
};

Counted count(std::vector<Change> changes) {
  std::ranges::sort(changes, {}, &Change::at_s);
  Counted all;
  Change now;
  for (const Change& change : changes) {
    const double seconds = change.at_s - now.at_s;
    if (now.readers > 0) all.joules += seconds * now.power_w / now.readers;
    if (now.idle_readers > 0) all.idle_j += seconds * now.idle_w / now.idle_readers;
    all.has_idle = all.has_idle || now.idle_readers > 0;
    now.at_s = change.at_s;
    now.readers += change.readers;
    now.idle_readers += change.idle_readers;
    now.power_w += change.power_w;
    now.idle_w += change.idle_w;
  }
  return all;
}

bool has_middle(const std::vector<double>& interval) {
  return interval.size() == 3 && interval[1] > 0 && std::isfinite(interval[1]);
}

}  // namespace

void ToldEnergies::add(const std::vector<WorkerAccount>& workers) {
  for (const WorkerAccount& worker : workers)
    if (worker.energy) last_.insert_or_assign({worker.host, worker.pid, worker.energy->from}, *worker.energy);
}

std::vector<ToldEnergy> ToldEnergies::list() const {
  std::vector<ToldEnergy> all;
  for (const auto& [worker, told] : last_) all.push_back(told);
  return all;
}

Carbon carbon_of(const Budget& budget, const Planned& planned) {
  if (budget.co2_g_per_kwh > 0) return {budget.co2_g_per_kwh, "budget.co2_g_per_kwh"};
  if (has_middle(planned.kwh) && has_middle(planned.co2_kg))
    return {1000 * planned.co2_kg[1] / planned.kwh[1], "the plan"};
  return {};
}

double model_watts(const Budget& budget, const Planned& planned, int workers) {
  if (budget.watts > 0) return budget.watts;
  if (has_middle(planned.kwh) && has_middle(planned.hours))
    return 1000 * planned.kwh[1] / planned.hours[1] / std::max(1, workers);
  return 0;
}

std::optional<double> measured_kwh(std::vector<ToldEnergy> told) {
  const RunEnergy energy = energy_of(std::move(told), {});
  const bool any = energy.kwh && (!energy.model_kwh || *energy.kwh > *energy.model_kwh);
  return any ? energy.kwh : std::nullopt;
}

std::string in_words(const RunEnergy& energy) {
  if (!energy.kwh) return "not known";
  std::string text = fmt::format("{:.3g} kWh", *energy.kwh);
  if (energy.model_kwh)
    text += *energy.model_kwh < *energy.kwh ? fmt::format(", of which {:.3g} by a model", *energy.model_kwh)
                                            : ", by a model";
  if (energy.idle_kwh) text += fmt::format(", of which {:.3g} idle", *energy.idle_kwh);
  if (energy.co2_kg) text += fmt::format("; {:.3g} kg of CO₂", *energy.co2_kg);
  return text;
}

RunEnergy energy_of(std::vector<ToldEnergy> told, const Carbon& carbon) {
  RunEnergy energy;
  std::map<std::pair<std::string, std::string>, std::vector<Change>> meters;  // by machine and meter
  std::set<std::string> machines, methods;
  double joules = 0, model_j = 0, idle_j = 0;
  bool has_idle = false;
  for (const ToldEnergy& one : told) {
    if (!can_be(one.from) || !can_be(one.seconds)) continue;
    methods.insert(one.method);
    if (can_be(one.model_j)) model_j += one.model_j;
    if (can_be(one.model_j) && one.model_j > 0) machines.insert(one.machine);
    for (const auto& [meter, measured_j] : one.joules) {
      if (!can_be(measured_j) || !(one.seconds > 0)) continue;
      machines.insert(one.machine);
      const auto idle = one.idle_w.find(meter);
      const bool with_idle = idle != one.idle_w.end() && can_be(idle->second);
      Change begin{.at_s = one.from,
                   .power_w = measured_j / one.seconds,
                   .idle_w = with_idle ? idle->second : 0,
                   .readers = 1,
                   .idle_readers = with_idle ? 1 : 0};
      const Change end{one.from + one.seconds, -begin.power_w, -begin.idle_w, -begin.readers, -begin.idle_readers};
      auto& changes = meters[{one.machine, meter}];
      changes.insert(changes.end(), {begin, end});
    }
  }
  for (auto& [meter, changes] : meters) {
    const Counted counted = count(std::move(changes));
    joules += counted.joules;
    idle_j += counted.idle_j;
    has_idle = has_idle || counted.has_idle;
  }
  energy.machines = static_cast<int64_t>(machines.size());
  if (!machines.empty()) energy.kwh = (joules + model_j) / kJoulesOfKwh;
  if (model_j > 0) energy.model_kwh = model_j / kJoulesOfKwh;
  if (has_idle) energy.idle_kwh = std::min(idle_j, joules) / kJoulesOfKwh;
  energy.methods.assign(methods.begin(), methods.end());
  if (energy.kwh && carbon.g_per_kwh > 0) {
    energy.co2_kg = *energy.kwh * carbon.g_per_kwh / 1000;
    energy.methods.push_back(fmt::format("{:.4g} g of carbon dioxide for a kWh ({})", carbon.g_per_kwh, carbon.from));
  }
  energy.told = std::move(told);
  return energy;
}

}  // namespace linac::job
