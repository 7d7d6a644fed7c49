#include "linac/base/job/spent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/checks.h"

namespace linac::job {
namespace {

constexpr double kHour_s = 3600, kWrittenEvery_s = 60;

}  // namespace

void check_budget(const Budget& budget, const std::string& where, const std::string& setting) {
  for (const double value : {static_cast<double>(budget.steps), budget.hours, budget.money, budget.kwh, budget.co2_kg,
                             budget.price, budget.watts, budget.co2_g_per_kwh})
    need(value >= 0 && std::isfinite(value), where, setting + ": a limit, price or power is not 0 or more");
  need(budget.money == 0 || budget.price > 0, where,
       fmt::format("{0}.money is counted by {0}.price, of a worker for an hour; set it", setting));
  need((budget.kwh == 0 && budget.co2_kg == 0) || budget.watts > 0, where,
       fmt::format("{0}.kwh and {0}.co2_kg are counted by {0}.watts, of a worker; set it", setting));
  need(budget.co2_kg == 0 || budget.co2_g_per_kwh > 0, where,
       fmt::format("{0}.co2_kg is counted by {0}.co2_g_per_kwh, of the place where it runs; set it", setting));
}

Spent::Spent(const Budget& limits, std::filesystem::path file, std::string setting)
    : limits_(limits), file_(std::move(file)), setting_(std::move(setting)) {
  if (!std::filesystem::exists(file_)) return;
  const bool is_file = std::filesystem::is_regular_file(file_);  // else reading it might never end
  const auto spent = nlohmann::json::parse(is_file ? read_file(file_) : "", nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* name) {
    const auto found = spent.is_object() ? spent.find(name) : spent.end();
    if (found == spent.end() || !found->is_number() || found->get<double>() < 0)
      throw data_error(fmt::format(
          "[budget] {}: {} is no number of seconds; mend it, or remove the file and count anew", file_.string(), name));
    return found->get<double>();
  };
  seconds_ = number("seconds");
  worker_seconds_ = number("worker_seconds");
  written_at_ = seconds_;
}

void Spent::count(double seconds, int workers) {
  seconds_ += seconds;
  worker_seconds_ += seconds * workers;
  if (seconds_ - written_at_ < kWrittenEvery_s) return;
  written_at_ = seconds_;
  save();
}

void Spent::save() const {
  try {
    write_file_atomically(file_,
                          nlohmann::json{{"seconds", seconds_}, {"worker_seconds", worker_seconds_}}.dump(1) + "\n");
  } catch (const Error& error) {
    log::warn(fmt::format("{}; a resume will count too little", error.what()));
  }
}

std::vector<Spent::Use> Spent::uses(int64_t steps) const {
  const double worker_hours = worker_seconds_ / kHour_s,
               kwh = measured_kwh_.value_or(worker_hours * limits_.watts / 1000);
  std::vector<Use> all{{"steps", static_cast<double>(steps), static_cast<double>(limits_.steps)},
                       {"hours", seconds_ / kHour_s, limits_.hours},
                       {"money", worker_hours * limits_.price, limits_.money},
                       {"kwh", kwh, limits_.kwh},
                       {"co2_kg", kwh * limits_.co2_g_per_kwh / 1000, limits_.co2_kg}};
  std::erase_if(all, [](const Use& use) { return use.limit <= 0; });
  return all;
}

std::string Spent::used_up(int64_t steps) const {
  for (const Use& use : uses(steps))
    if (use.used >= use.limit) return fmt::format("{}.{} = {:g}", setting_, use.setting, use.limit);
  return "";
}

std::optional<std::string> Spent::warning(int64_t steps) {
  if (warned_) return std::nullopt;
  for (const Use& use : uses(steps)) {
    if (use.used < kWarned * use.limit) continue;
    warned_ = true;
    return fmt::format("[{}] {:.3g} of {:g} {} are used; at the limit all stops after a checkpoint", setting_, use.used,
                       use.limit, use.setting);
  }
  return std::nullopt;
}

}  // namespace linac::job
