#include "linac/control/study/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/control/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::pair<tune::State, const char*> kStates[] = {{tune::State::kRunning, "running"},
                                                           {tune::State::kComplete, "complete"},
                                                           {tune::State::kPruned, "pruned"},
                                                           {tune::State::kFailed, "failed"},
                                                           {tune::State::kInfeasible, "infeasible"}};

json values_json(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(tune::number_to_json(value));
  return list;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

const char* to_string(tune::State state) {
  for (const auto& [one, word] : kStates)
    if (one == state) return word;
  return "";
}

tune::State state_named(const std::string& word) {
  for (const auto& [state, name] : kStates)
    if (word == name) return state;
  throw user_error(fmt::format("[study] '{}' is no state of a trial (complete, pruned, failed, infeasible)", word));
}

Ledger::Ledger(Study study, std::string where) : study_(std::move(study)), where_(std::move(where)) {}

std::string Ledger::first_line(const Study& study) {
  return json{{"op", "study"}, {"version", kVersion}, {"study", study.identity()}}.dump();
}

std::vector<std::string> Ledger::given_lines(const GivenStudy& given) {
  const tune::Space space = given.study.space();
  std::vector<std::string> lines;
  const auto add = [&](const json& record) { lines.push_back(record.dump()); };
  std::vector<size_t> order;
  for (size_t i = 0; i < given.trials.size(); ++i) {
    const GivenTrial& trial = given.trials[i];
    add({{"op", "ask"},
         {"trial", i + 1},
         {"point", tune::to_json(space, trial.point)},
         {"given", true},
         {"time", trial.asked_s}});
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return given.trials[a].told_place < given.trials[b].told_place; });
  for (const size_t i : order) {
    const GivenTrial& trial = given.trials[i];
    for (const auto& [step, value] : trial.curve)
      add({{"op", "report"}, {"trial", i + 1}, {"step", step}, {"value", tune::number_to_json(value)}});
    json end{{"op", "tell"}, {"trial", i + 1}, {"state", to_string(trial.state)}, {"time", trial.told_s}};
    if (trial.state == tune::State::kComplete) end["values"] = values_json(trial.values);
    if (!trial.reason.empty()) end["reason"] = trial.reason;
    add(end);
  }
  return lines;
}

void Ledger::take(const std::string& line) {
  const int64_t number = lines_ + 1;
  const auto damaged = [&](const std::string& why) {
    return data_error(
        fmt::format("[study] {}:{}: {}; the lines before it are whole, and a copy of them in another folder goes on",
                    where_, number, why));
  };
  try {
    const json record = json::parse(line);
    const auto op = record.at("op").get<std::string>();
    if ((op == "study") != (number == 1)) throw damaged("not where such a line belongs");
    if (op == "study") {
      if (record.at("version") != kVersion) throw damaged("of another version of linac");
      take_study(record.at("study").get<std::string>());
    } else if (op == "ask") {
      const int64_t trial = record.at("trial");
      history_->start(trial, tune::point_from_json(history_->space(), record.at("point")),
                      record.value("from", int64_t{0}));
      times_[trial].asked = record.value("time", 0.0);
      if (first_ask_s_ == 0) first_ask_s_ = times_[trial].asked;
      history_->set_budget(record.value("budget", 0.0));
    } else if (op == "report") {
      history_->report(record.at("trial"), record.at("step"), tune::number_from_json(record.at("value")));
    } else if (op == "tell") {
      const tune::State state = state_named(record.at("state"));
      if (state == tune::State::kRunning) throw damaged("a trial that runs is not told");
      std::vector<double> values;
      if (state == tune::State::kComplete)
        for (const json& value : record.at("values")) values.push_back(tune::number_from_json(value));
      take_cost(record.at("trial"), record);
      take_end(record.at("trial"), state, values, record.value("reason", ""));
      times_[record.at("trial")].told = record.value("time", 0.0);
    } else {
      throw damaged(fmt::format("'{}' is nothing that a journal has", op));
    }
  } catch (const json::exception& error) {
    throw damaged(error.what());
  }
  lines_ = number;
}

void Ledger::take_study(const std::string& text) {
  StudySettings kept;
  config::read(config::parse_text(text, where_), kept, where_);
  study_.settings.search = kept.search, study_.settings.constraints = kept.constraints;
  study_.settings.objective = kept.objective, study_.settings.sampler = kept.sampler;
  study_.settings.pruner = kept.pruner, study_.settings.seed = kept.seed;
  study_.settings.population = kept.population;
  history_ = std::make_unique<tune::History>(study_.space(), study_.directions());
  sampler_ = tune::make_sampler(kept.sampler);
  pruner_ = tune::make_pruner(kept.pruner);
  if (kept.population.used()) population_.emplace(kept.population);
}

void Ledger::take_cost(int64_t trial, const json& record) {
  if (record.contains("cost")) return history_->spend(trial, tune::number_from_json(record["cost"]));
  const auto times = times_.find(trial);
  if (study_.settings.sampler.cost != tune::kSeconds || times == times_.end()) return;
  // A clock that was set back says nothing.
  const double asked = times->second.asked, told = record.value("time", 0.0);
  if (asked > 0 && told >= asked) history_->spend(trial, told - asked);
}

void Ledger::take_end(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason) {
  switch (state) {
    case tune::State::kComplete:
      return history_->complete(trial, values);
    case tune::State::kPruned:
      return history_->prune(trial, reason);
    case tune::State::kFailed:
      return history_->fail(trial, reason);
    case tune::State::kInfeasible:
      return history_->infeasible(trial, reason);
    case tune::State::kRunning:
      break;
  }
  LINAC_CHECK(false);
}

Ledger::Times Ledger::times_of(int64_t trial) const {
  const auto found = times_.find(trial);
  return found == times_.end() ? Times{} : found->second;
}

std::optional<Ledger::Asked> Ledger::ask() {
  const auto trials = history_->trials();
  const auto count = std::count_if(trials.begin(), trials.end(), [&](const tune::Trial& trial) {
    return population_ || trial.state != tune::State::kFailed;  // a member that failed has had its interval
  });
  const double budget = study_.settings.budget.cost;
  if (count >= study_.settings.budget.trials || !waits_for().empty()) return std::nullopt;
  if (budget > 0 && history_->spent() >= budget) return std::nullopt;
  history_->set_budget(budget);
  const int64_t number = static_cast<int64_t>(trials.size()) + 1;
  const tune::PopulationStep step = next(number);
  json record{
      {"op", "ask"}, {"trial", number}, {"point", tune::to_json(history_->space(), step.point)}, {"time", now_s()}};
  if (step.parent != 0) record["from"] = step.parent;
  if (budget > 0) record["budget"] = budget;  // the suggestion follows from it, and it may change
  return Asked{number, record.dump()};
}

tune::PopulationStep Ledger::next(int64_t number) const {
  const auto seed = static_cast<uint64_t>(study_.settings.seed);
  if (population_) return population_->next(*history_, seed, number);
  return {tune::suggest(*sampler_, *history_, seed, number), 0};
}

std::vector<int64_t> Ledger::waits_for() const {
  if (!population_) return {};
  return population_->waits_for(*history_, static_cast<int64_t>(history_->trials().size()) + 1);
}

const tune::Trial& Ledger::running(int64_t trial) const {
  const tune::Trial* const found = history_->find(trial);
  if (found == nullptr)
    throw user_error(fmt::format("[study] there is no trial {}; {} were asked for", trial, history_->trials().size()));
  if (found->state != tune::State::kRunning)
    throw user_error(fmt::format("[study] trial {} was told before, as {}", trial, to_string(found->state)));
  return *found;
}

std::string Ledger::report(int64_t trial, int64_t step, double value) const {
  const tune::Trial& found = running(trial);
  if (!found.curve.empty() && step <= found.curve.back().first)
    throw user_error(
        fmt::format("[study] trial {}: step {} is not after step {}", trial, step, found.curve.back().first));
  return json{{"op", "report"}, {"trial", trial}, {"step", step}, {"value", tune::number_to_json(value)}}.dump();
}

std::string Ledger::tell(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason,
                         double cost) const {
  running(trial);
  if (cost < 0 || std::isinf(cost))
    throw user_error(fmt::format("[study] trial {}: a cost of {} is not possible; a number of 0 or more", trial, cost));
  json record{{"op", "tell"}, {"trial", trial}, {"state", to_string(state)}, {"time", now_s()}};
  if (state == tune::State::kComplete) {
    if (values.size() != history_->objectives())
      throw user_error(fmt::format("[study] {} values told of trial {}; the study has {}", values.size(), trial,
                                   history_->objectives()));
    record["values"] = values_json(values);
  }
  if (!reason.empty()) record["reason"] = reason;
  if (!std::isnan(cost)) record["cost"] = cost;
  return record.dump();
}

tune::Verdict Ledger::verdict(int64_t trial) const {
  return pruner_->verdict(*history_, running(trial));
}

bool Ledger::told_so(int64_t trial, tune::State state, const std::vector<double>& values) const {
  const tune::Trial* const found = history_->find(trial);
  if (found == nullptr || found->state == tune::State::kRunning) return false;
  if (state != tune::State::kComplete) return found->state == state && found->values.empty();
  // What was no finite number is an infeasible trial, which has the values.
  const auto same = [](double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
  };
  return std::equal(values.begin(), values.end(), found->values.begin(), found->values.end(), same);
}

std::vector<int64_t> Ledger::replay(const Study& study, const std::vector<std::string>& lines) {
  Ledger again(study, "the journal");
  std::vector<int64_t> others;
  for (const std::string& line : lines) {
    const json record = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (again.lines_ > 0 && record.is_object() && record.value("op", "") == "ask" && !record.value("given", false)) {
      const int64_t trial = record.value("trial", int64_t{0});
      again.history_->set_budget(record.value("budget", 0.0));
      const tune::PopulationStep step = again.next(trial);
      if (tune::to_json(again.history_->space(), step.point) != record["point"] ||
          step.parent != record.value("from", int64_t{0}))
        others.push_back(trial);
    }
    again.take(line);
  }
  return others;
}

}  // namespace linac::study
