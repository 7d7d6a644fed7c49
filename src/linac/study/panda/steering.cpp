#include "linac/study/panda/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "linac/base/error.h"
#include "linac/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;

/// A space with the choices as they stand in its file: texts, numbers, whatever JSON has.
class NamedSpace {
 public:
  explicit NamedSpace(const json& space) : space_(settings_of(space)) {
    for (size_t i = 0; i < space_.size(); ++i)
      if (space_[i].categorical())
        for (const json& choice : space[space_[i].name]["dimension"]["categories"])
          choices_[space_[i].name][text_of(choice)] = choice;
  }

  const tune::Space& space() const { return space_; }
  json point(const tune::Point& point) const {
    json values = tune::to_json(space_, point);
    for (const auto& [name, originals] : choices_) values[name] = originals.at(values[name].get<std::string>());
    return values;
  }

 private:
  static std::string text_of(const json& choice) {
    return choice.is_string() ? choice.get<std::string>() : choice.dump();
  }

  static std::vector<tune::ParameterSettings> settings_of(const json& space) {
    if (!space.is_object() || space.empty()) throw user_error("[study] opt_space: is no object of parameters");
    std::vector<tune::ParameterSettings> all;
    for (const auto& [name, one] : space.items()) all.push_back(parameter_of(name, one));
    return all;
  }

  static tune::ParameterSettings parameter_of(const std::string& name, const json& one) {
    const auto refuse = [&](const std::string& what) {
      throw user_error(fmt::format("[study] opt_space.{}{}", name, what));
    };
    if (!one.is_object() || !one.contains("dimension") || !one["dimension"].is_object())
      refuse(".dimension: is no object");
    const json& dimension = one["dimension"];
    const auto method = one.contains("method") && one["method"].is_string() ? one["method"].get<std::string>() : "";
    tune::ParameterSettings settings{.name = name};
    if (method == "categorical") {
      settings.kind = "categorical";
      if (!dimension.contains("categories") || !dimension["categories"].is_array())
        refuse(".dimension.categories: is no list");
      for (const json& choice : dimension["categories"]) settings.choices.push_back(text_of(choice));
      return settings;
    }
    static const std::map<std::string, const char*> kinds{
        {"uniform", "uniform"}, {"loguniform", "log"}, {"uniformint", "integer"}};
    const auto kind = kinds.find(method);
    if (kind == kinds.end())
      refuse(fmt::format(".method: '{}' is none of uniform, loguniform, uniformint, categorical", method));
    settings.kind = kind->second;
    for (const auto& [key, value] : {std::pair("low", &settings.low), std::pair("high", &settings.high)}) {
      if (!dimension.contains(key) || !dimension[key].is_number())
        refuse(fmt::format(".dimension.{}: is no number", key));
      *value = dimension[key].get<double>();
    }
    return settings;
  }

  tune::Space space_;
  std::map<std::string, std::map<std::string, json>> choices_;  // by parameter and text
};

/// What is known of one model.
struct Segment {
  explicit Segment(const tune::Space& space) : history(space) {}

  tune::History history;
  int64_t points = 0;
};

void take(Segment& segment, const tune::Space& space, const json& point, const json& loss) {
  const int64_t number = ++segment.points;
  try {
    segment.history.start(number, tune::point_from_json(space, point));
  } catch (const Error&) {
    return;  // somebody else's point, of another space
  }
  if (!loss.is_null()) segment.history.complete(number, {tune::number_from_json(loss)});  // 0 is a loss
}

}  // namespace

json steer(const Steering& wanted, const json& input, const json& space) {
  if (!input.is_object() || !input.contains("points") || !input["points"].is_array())
    throw user_error("[study] the input has no list of points");
  const json own = input.value("opt_space", json());
  const NamedSpace named(own.is_null() ? space : own);
  std::map<std::string, Segment> segments;
  const auto segment_of = [&](const std::string& name) -> Segment& {
    return segments.try_emplace(name, named.space()).first->second;
  };
  for (const std::string& name : wanted.segments) segment_of(name);
  bool segmented = !wanted.segments.empty();
  for (const json& entry : input["points"]) {
    if (!entry.is_array() || entry.size() != 2)
      throw user_error(fmt::format("[study] points: {} is no pair of a point and its loss", entry.dump()));
    const bool of_segment = entry[0].is_array() && entry[0].size() == 2;
    segmented = segmented || of_segment;
    const json model = of_segment ? entry[0][0] : json("");
    take(segment_of(model.is_string() ? model.get<std::string>() : model.dump()), named.space(),
         of_segment ? entry[0][1] : entry[0], entry[1]);
  }
  if (segments.empty()) segment_of("");
  const auto left = wanted.points_max - static_cast<int64_t>(input["points"].size());
  const auto sampler = tune::make_sampler(wanted.sampler);
  json points = json::array();
  for (int64_t i = 0; i < std::min(wanted.points, left); ++i) {
    // Models take turns: the one with the fewest points.
    auto& [name, segment] = *std::min_element(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
      return a.second.points < b.second.points;
    });
    const int64_t number = ++segment.points;
    const tune::Point point = tune::suggest(*sampler, segment.history, wanted.seed, number);
    segment.history.start(number, point);
    points.push_back(segmented ? json::array({name, named.point(point)}) : named.point(point));
  }
  return points;
}

}  // namespace linac::study
