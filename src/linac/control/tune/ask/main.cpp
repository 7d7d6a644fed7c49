// tune_ask: a study by lines of JSON, for benchmarks and tests of replays. Requests, one a line, each answered by one:
//   {"study": {"parameters": [...], "constraints": [...], "sampler": {...}, "seed": 1}}   {}
//   {"ask": 7}                                   {"point": {"x": 0.5}}, parameters that are active
//   {"start": 7, "point": {"x": 0.5}}            {}: a trial as it was asked for before, for replays
//   {"tell": 7, "values": [1.5]}                 {"state": "complete"}; "nan", "inf" are texts
//   {"report": 7, "step": 1, "value": 0.5}       {}
//   {"hypervolume": [1, 1], "rows": [[0, 0.5]]}   {"hypervolume": 0.5}: of rows of losses, by a reference
//   {"importance": 0}                             {"shares": [0.9, 0.1]}: of the parameters for an objective
//   {"fail": 7, "reason": "..."}                 {}; "prune", "infeasible" likewise
//   {"cost": 12.5, "tell": 7, ...}               what the trial took, with any end
// An error is {"error": "..."}, and the study goes on.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/control/tune/forest.h"
#include "linac/control/tune/pareto.h"
#include "linac/control/tune/point_json.h"
#include "linac/control/tune/sampler.h"

namespace linac::tune {
namespace {

using nlohmann::json;

struct StudySettings {
  std::vector<ParameterSettings> parameters;
  std::vector<std::string> constraints;
  SamplerSettings sampler;
  int64_t seed = 0;
  int64_t objectives = 1;
  double budget = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v("parameters", parameters, "what is searched");
    v("constraints", constraints, "formulas that hold");
    v("sampler", sampler, "what suggests");
    v("seed", seed, "of all suggestions");
    v("objectives", objectives, "values of a trial, less is better");
    v("budget", budget, "what all trials may cost");
  }
};

class Study {
 public:
  explicit Study(const json& request)
      : settings_(read(request)),
        history_(Space(settings_.parameters, settings_.constraints),
                 std::vector(static_cast<size_t>(settings_.objectives), Direction::kMinimize)),
        sampler_(make_sampler(settings_.sampler)) {
    history_.set_budget(settings_.budget);
  }

  json answer(const json& request) {
    if (request.contains("ask")) {
      const int64_t number = request["ask"];
      const Point point = suggest(*sampler_, history_, static_cast<uint64_t>(settings_.seed), number);
      history_.start(number, point);
      return {{"point", to_json(history_.space(), point)}};
    }
    if (request.contains("hypervolume")) {
      const auto reference = request["hypervolume"].get<Losses>();
      const auto rows = request.at("rows").get<std::vector<Losses>>();
      for (const Losses& row : rows)
        if (row.size() != reference.size())
          throw user_error("[tune_ask] rows: not as many losses as the reference has");
      return {{"hypervolume", hypervolume(rows, reference)}};
    }
    if (request.contains("importance")) {
      const auto objective = request["importance"].get<size_t>();
      if (objective >= history_.objectives()) throw user_error("[tune_ask] importance: there is no such objective");
      return {{"shares", Forest(history_, objective, 0).importance()}};
    }
    if (request.contains("start"))
      history_.start(request["start"], point_from_json(history_.space(), request.at("point")));
    if (request.contains("report"))
      history_.report(request["report"], request.at("step"), number_from_json(request.at("value")));
    for (const char* const end : {"tell", "fail", "prune", "infeasible"})
      if (request.contains("cost") && request.contains(end)) history_.spend(request[end], request["cost"]);
    if (request.contains("fail")) history_.fail(request["fail"], request.value("reason", ""));
    if (request.contains("prune")) history_.prune(request["prune"], request.value("reason", ""));
    if (request.contains("infeasible")) history_.infeasible(request["infeasible"], request.value("reason", ""));
    if (request.contains("tell")) {
      std::vector<double> values;
      for (const json& value : request.at("values")) values.push_back(number_from_json(value));
      history_.complete(request["tell"], values);
      return {{"state", history_.find(request["tell"])->state == State::kComplete ? "complete" : "infeasible"}};
    }
    return json::object();
  }

 private:
  static StudySettings read(const json& request) {
    StudySettings settings;
    config::read(config::parse_text(request.dump(), "study"), settings, "study");
    return settings;
  }
  StudySettings settings_;
  History history_;
  std::unique_ptr<Sampler> sampler_;
};

int serve() {
  std::unique_ptr<Study> study;
  std::string line;
  while (std::getline(std::cin, line)) {
    json answer;
    try {
      const json request = json::parse(line);
      if (request.contains("study")) {
        study = std::make_unique<Study>(request["study"]);
        answer = json::object();
      } else if (!study) {
        throw user_error("[tune_ask] there is no study yet; begin with {\"study\": ...}");
      } else {
        answer = study->answer(request);
      }
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace linac::tune

int main() {
  return linac::tune::serve();
}
