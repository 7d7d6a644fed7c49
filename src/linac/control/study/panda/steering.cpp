#include "linac/control/study/panda/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/control/tune/point_json.h"

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

/// The spaces of a task: one for all models, or one of each.
class Spaces {
 public:
  explicit Spaces(const json& given) {
    if (!given.is_array()) {
      common_.emplace(given);
      return;
    }
    for (const json& one : given) {
      if (!one.is_object() || !one.contains("model_id") || !one.contains("search_space"))
        throw user_error("[study] opt_space: a list of models has a model_id and a search_space of each");
      models_.push_back(one["model_id"]);
      own_.emplace(models_.back().dump(), one["search_space"]);
    }
    if (models_.empty()) throw user_error("[study] opt_space: is a list of no models");
  }

  /// Those that have spaces of their own.
  const std::vector<json>& models() const { return models_; }
  const NamedSpace& of(const json& model) const {
    if (common_) return *common_;
    const auto found = own_.find(model.dump());
    if (found == own_.end())
      throw user_error(fmt::format("[study] opt_space: has no model {}, which points name", model.dump()));
    return found->second;
  }

 private:
  std::optional<NamedSpace> common_;
  std::vector<json> models_;
  std::map<std::string, NamedSpace> own_;  // by the text of the model
};

/// What is known of one model.
struct Segment {
  Segment(json id, const NamedSpace& space) : model(std::move(id)), named(space), history(space.space()) {}

  json model;
  const NamedSpace& named;
  tune::History history;
  int64_t points = 0;
};

void take(Segment& segment, const json& point, const json& loss) {
  const int64_t number = ++segment.points;
  try {
    segment.history.start(number, tune::point_from_json(segment.named.space(), point));
  } catch (const Error&) {
    return;  // somebody else's point, of another space
  }
  if (!loss.is_null()) segment.history.complete(number, {tune::number_from_json(loss)});  // 0 is a loss
}

}  // namespace

json steer(const Steering& wanted, const json& input, const json& space) {
  if (!input.is_object() || !input.contains("points") || !input["points"].is_array())
    throw user_error("[study] the input has no list of points");
  if (wanted.sampler.name == "eipu")
    throw user_error("[study] --sampler eipu: what points cost is not in the input; take gp");
  const json own = input.value("opt_space", json());
  const Spaces spaces(own.is_null() ? space : own);
  std::map<std::string, Segment> segments;
  const auto segment_of = [&](const json& model) -> Segment& {
    return segments.try_emplace(model.dump(), model, spaces.of(model)).first->second;
  };
  for (const json& model : spaces.models()) segment_of(model);
  for (const std::string& name : wanted.segments) segment_of(name);
  bool segmented = !segments.empty();
  for (const json& entry : input["points"]) {
    if (!entry.is_array() || entry.size() != 2)
      throw user_error(fmt::format("[study] points: {} is no pair of a point and its loss", entry.dump()));
    const bool of_segment = entry[0].is_array() && entry[0].size() == 2;
    segmented = segmented || of_segment;
    take(segment_of(of_segment ? entry[0][0] : json("")), of_segment ? entry[0][1] : entry[0], entry[1]);
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
    const json values = segment.named.point(point);
    points.push_back(segmented ? json::array({segment.model, values}) : values);
  }
  return points;
}

}  // namespace linac::study
