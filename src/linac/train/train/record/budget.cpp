#include "linac/train/train/record/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"

namespace linac::train {
namespace {

constexpr double kHour_s = 3600, kWrittenEvery_s = 60;

}  // namespace

Budget::Budget(const job::Budget& limits, std::filesystem::path file) : limits_(limits), file_(std::move(file)) {
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

void Budget::count(double seconds, int workers) {
  seconds_ += seconds;
  worker_seconds_ += seconds * workers;
  if (seconds_ - written_at_ < kWrittenEvery_s) return;
  written_at_ = seconds_;
  save();
}

void Budget::save() const {
  try {
    write_file_atomically(file_,
                          nlohmann::json{{"seconds", seconds_}, {"worker_seconds", worker_seconds_}}.dump(1) + "\n");
  } catch (const Error& error) {
    log::warn(fmt::format("{}; a resume will count too little", error.what()));
  }
}

std::vector<Budget::Use> Budget::uses(int64_t steps) const {
  const double worker_hours = worker_seconds_ / kHour_s, kwh = worker_hours * limits_.watts / 1000;
  std::vector<Use> all{{"steps", static_cast<double>(steps), static_cast<double>(limits_.steps)},
                       {"hours", seconds_ / kHour_s, limits_.hours},
                       {"money", worker_hours * limits_.price, limits_.money},
                       {"kwh", kwh, limits_.kwh},
                       {"co2_kg", kwh * limits_.co2_g_per_kwh / 1000, limits_.co2_kg}};
  std::erase_if(all, [](const Use& use) { return use.limit <= 0; });
  return all;
}

std::string Budget::used_up(int64_t steps) const {
  for (const Use& use : uses(steps))
    if (use.used >= use.limit) return fmt::format("budget.{} = {:g}", use.setting, use.limit);
  return "";
}

std::optional<std::string> Budget::warning(int64_t steps) {
  if (warned_) return std::nullopt;
  for (const Use& use : uses(steps)) {
    if (use.used < kWarned * use.limit) continue;
    warned_ = true;
    return fmt::format("[budget] {:.3g} of {:g} {} are used; at the limit the run stops after a checkpoint", use.used,
                       use.limit, use.setting);
  }
  return std::nullopt;
}

void Budget::need_left(int64_t steps, const std::string& name) const {
  if (const std::string what = used_up(steps); !what.empty()) throw budget_error(what, steps, name);
}

Error budget_error(const std::string& what, int64_t step, const std::string& name) {
  return {ErrorCode::kBudget, fmt::format("[budget] {} is used up after step {}; the checkpoint is there. Raise it to "
                                          "go on: linac train ... --out {} --resume --set {}",
                                          what.empty() ? "the run's budget" : what, step, name,
                                          what.empty() ? "budget.hours=N" : what.substr(0, what.find(' ')) + "=N")};
}

}  // namespace linac::train
