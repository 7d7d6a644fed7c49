#pragma once
// What a training would take at each place, ranked: what `linac plan` shows, and the pages of a service. Pure,
// thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/plan/forecast.h"
#include "linac/base/plan/past_run.h"
#include "linac/base/plan/places.h"

namespace linac::plan {

struct PlanRow {
  std::string name;             // "farm, 4 hosts of 2 workers, spot"
  std::string place;            // "farm"
  std::optional<double> price;  // US dollars for an hour of a host, in its market
  Forecast forecast;
  bool front = false;  // none that fits is both sooner and cheaper
  int replicas = 1;    // of the job that it is of
  int64_t batch = 1;
  std::string precision{};
};

struct Ranking {
  std::string title;
  Wishes wishes;
  Rate currency{.currency = "USD", .usd = 1, .source = {}};  // in which money is shown
  Goal goal;
  Experience experience;
  std::vector<PlanRow> rows;  // ranked
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> remarks;  // of all rows
};

/// What is planned for.
struct Question {
  std::vector<Offer> offers;
  BookWishes book;
  bool spot = false;
  std::vector<int> workers{1};  // of a host
  Order order = Order::kMoney;
  size_t candidates_max = 0;  // user error for more; 0: as many as there are
};
/// "money", "time", "energy", "carbon"; nothing for another word.
std::optional<Order> order_named(const std::string& name);
const std::vector<std::string>& order_names();

/// One of the jobs that are planned beside each other.
struct Work {
  std::vector<Measured> measured;  // with its own steps; that of other hosts behind the one to plan by
  Goal goal;
  std::string name;                  // ", batch 16, bf16": what is other than in the job; empty: nothing
  std::vector<std::string> remarks;  // of its rows
};
/// Fills `goal`, `experience` and `rows` by `wishes`. A host of which there is a measurement of its own is planned by
/// that. Where what workers exchange is not known, each place has one worker, and a remark. `works`: at least one. User
/// error as places_of_book() and place_of().
void rank_places(std::vector<Work> works, const Question& question, const std::vector<PastRun>& past, const Book& book,
                 Ranking& ranking);

/// "here, 2 workers", "farm, 4 hosts of 2 workers, spot".
std::string plan_name(const Place& place, const Candidate& candidate);

/// Schema: {"title", "deadline_s", "budget_usd", "currency": {"code", "usd"}, "goal": {"steps": I, "remark"},
/// "experience": {"start", "step", "whole": {"runs", "bias", "widened"}}, "rows": [{"name", "place", "hosts",
/// "workers_a_host", "market", "replicas", "batch", "precision", "steps", "price_usd": null|number, "good", "fits",
/// "front", "on_time", "seconds": I, "queue_s", "start_s", "step_s", "compute_s", "waiting_s", "exchange_s", "first_s",
/// "between_s", "preempted_s": I, "jitter", "money_usd", "kwh", "co2_kg": null|I, "memory_gib", "played", "on_demand",
/// "preemptions", "checkpoint_minutes", "remarks"}], "facts", "remarks"}, I: {"low", "middle", "high"}, between which
/// four values of five should be.
nlohmann::ordered_json to_json(const Ranking& ranking);
/// At most so many rows, and those of the front behind them.
nlohmann::ordered_json to_json(const Ranking& ranking, size_t rows_max);

}  // namespace linac::plan
