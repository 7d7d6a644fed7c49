#include "linac/physics/report/study/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "linac/base/base/error.h"

namespace linac::report {
namespace {

using nlohmann::json;

double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const json& value : list) values.push_back(number(value));
  return values;
}

StudyTrial trial_of(const json& one) {
  StudyTrial trial;
  trial.number = one.at("trial");
  trial.state = one.at("state");
  trial.reason = one.at("reason");
  trial.values = numbers(one.at("values"));
  trial.at = numbers(one.at("at"));
  for (const json& word : one.at("words")) trial.words.push_back(word.is_null() ? "" : word.get<std::string>());
  for (const json& point : one.at("curve")) trial.curve.emplace_back(point.at(0), number(point.at(1)));
  if (!one.at("seconds").is_null()) trial.seconds = one.at("seconds").get<double>();
  return trial;
}

void check(const StudyRecord& record) {
  const size_t parameters = record.parameters.size(), objectives = record.objectives.size();
  bool whole = parameters > 0 && objectives > 0 && record.importance.size() == objectives;
  for (const auto& shares : record.importance) whole = whole && shares.size() == parameters;
  for (const StudyTrial& trial : record.trials)
    whole = whole && trial.at.size() == parameters && trial.words.size() == parameters &&
            (!trial.complete() || trial.values.size() == objectives);
  for (const int64_t number : record.front) {
    const StudyTrial* const trial = record.find(number);
    whole = whole && trial != nullptr && trial->complete();
  }
  if (record.map)
    whole = whole && record.map->x < parameters && record.map->y < parameters &&
            record.map->values.size() == record.map->cells * record.map->cells;
  LINAC_CHECK(whole);
}

}  // namespace

const StudyTrial* StudyRecord::find(int64_t number) const {
  const auto found = std::find_if(trials.begin(), trials.end(), [&](const auto& one) { return one.number == number; });
  return found == trials.end() ? nullptr : &*found;
}

std::vector<size_t> StudyRecord::by_importance() const {
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return importance[0][a] > importance[0][b]; });
  return order;
}

StudyRecord parse_study_record(const std::string& text, const std::string& where) {
  StudyRecord record;
  try {
    const json document = json::parse(text);
    record.title = document.at("title");
    for (const json& fact : document.at("facts")) record.facts.emplace_back(fact.at(0), fact.at(1));
    for (const json& one : document.at("objectives")) record.objectives.push_back({one.at("name"), one.at("maximize")});
    for (const json& one : document.at("parameters"))
      record.parameters.push_back(
          {one.at("name"), one.at("low"), one.at("high"), one.at("edge"), one.at("log"), one.at("choices")});
    for (const json& one : document.at("trials")) record.trials.push_back(trial_of(one));
    record.front = document.at("front").get<std::vector<int64_t>>();
    for (const json& shares : document.at("importance")) record.importance.push_back(numbers(shares));
    if (const json& map = document.at("map"); !map.is_null())
      record.map = StudyMap{map.at("x"), map.at("y"), map.at("cells"), numbers(map.at("values"))};
  } catch (const json::exception& error) {
    throw data_error(
        fmt::format("[report] {}: no record of a study ({}); linac study report makes one", where, error.what()));
  }
  check(record);
  return record;
}

}  // namespace linac::report
