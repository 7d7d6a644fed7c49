#pragma once
// What `linac plan` shows: what a training would take at each place, ranked; as a page, as JSON, as pictures and as
// lines of text. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/plan/forecast.h"
#include "linac/physics/report/page/named_picture.h"

namespace linac::report {

struct PlanRow {
  std::string name;  // "farm, 4 hosts of 2 workers, spot"
  plan::Forecast forecast;
  bool front = false;  // none that fits is both sooner and cheaper
  int replicas = 1;    // of the job that it is of
  int64_t batch = 1;
  std::string precision{};
};

struct PlanReport {
  std::string title;
  plan::Wishes wishes;
  plan::Rate currency{.currency = "USD", .usd = 1, .source = {}};  // in which money is shown
  plan::Goal goal;
  plan::Experience experience;
  std::vector<PlanRow> rows;  // ranked
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> remarks;  // of all rows
};

/// "here, 2 workers", "farm, 4 hosts of 2 workers, spot".
std::string plan_name(const plan::Place& place, const plan::Candidate& candidate);

/// "1.2 h (1.0 to 1.4)".
std::string duration_text(const plan::Estimate& seconds);
/// Of US dollars: "$12 (9.8 to 14)", "10 EUR (8.4 to 12)".
std::string money_text(const plan::Estimate& money, const plan::Rate& currency);
std::string known_money(const std::optional<plan::Estimate>& money, const plan::Rate& currency);
/// "4.2 (3.0 to 5.9)".
std::string interval_text(const plan::Estimate& value);
/// Of a part of one: "4.2 % (3.0 to 5.9)".
std::string percent_text(const plan::Estimate& part);
/// One of these, or kNotKnown.
std::string known(const std::optional<plan::Estimate>& value, std::string (*text)(const plan::Estimate&));
inline constexpr const char* kNotKnown = "–";

/// Where the time of each place goes, and time against money; few rows where there are many.
std::vector<NamedPicture> draw(const PlanReport& report);
std::string to_html(const PlanReport& report, const std::vector<NamedPicture>& pictures);

/// Schema: {"title", "deadline_s", "budget_usd", "currency": {"code", "usd"}, "goal": {"steps": I, "remark"},
/// "experience": {"start", "step", "whole": {"runs", "bias", "widened"}}, "rows": [{"name", "hosts", "workers_a_host",
/// "market", "replicas", "batch", "precision", "steps", "good", "fits", "front", "on_time", "seconds": I, "queue_s",
/// "start_s", "step_s", "compute_s", "waiting_s", "exchange_s", "first_s", "between_s", "preempted_s": I, "jitter",
/// "money_usd", "kwh", "co2_kg": null|I, "memory_gib", "played", "on_demand", "preemptions", "checkpoint_minutes",
/// "remarks"}], "facts", "remarks"}, I: {"low", "middle", "high"}, between which four values of five should be.
nlohmann::ordered_json to_json(const PlanReport& report);

/// A table of at most `rows` rows for a terminal, and why the first one takes what it takes.
std::string to_text(const PlanReport& report, size_t rows);

}  // namespace linac::report
