#include "linac/control/tune/point_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"

namespace linac::tune {

using nlohmann::json;

namespace {

/// Others write 0.3 where a sum of steps is 0.30000000000000004.
constexpr double kOffStep = 1e-9;

void need_value(const Space& space, const Point& point, size_t i) {
  const Parameter& parameter = space[i];
  const double value = point[i];
  const auto refuse = [&](const std::string& what) {
    throw user_error(fmt::format("[study] {}: {}", parameter.name, what));
  };
  if (!space.active(point, i)) {
    if (!std::isnan(value)) refuse("has a value, and what it is searched under does not hold; leave it out");
    return;
  }
  if (std::isnan(value)) refuse("has no value; a point names all parameters that are searched");
  if (parameter.categorical()) return;
  if (!(value >= parameter.low && value <= parameter.high))
    refuse(fmt::format("{} is not within {} to {}, what the study searches", value, parameter.low, parameter.high));
  if (parameter.discrete() &&
      std::abs(parameter.value_of(parameter.unit_of(value)) - value) > kOffStep * parameter.step)
    refuse(fmt::format("{} is on no step; it is {}, {}, ... or {}", value, parameter.low,
                       parameter.low + parameter.step, parameter.high));
}

}  // namespace

json to_json(const Space& space, const Point& point) {
  json values = json::object();
  for (size_t i = 0; i < space.size(); ++i) {
    if (std::isnan(point[i])) continue;
    json& value = values[space[i].name];
    if (space[i].categorical())
      value = space.text_of(i, point[i]);
    else if (space[i].kind == Kind::kInteger)
      value = static_cast<int64_t>(point[i]);
    else
      value = point[i];
  }
  return values;
}

Point point_from_json(const Space& space, const json& values) {
  if (!values.is_object()) throw user_error("[study] a point is an object of parameters and their values");
  Point point(space.size(), std::numeric_limits<double>::quiet_NaN());
  size_t found = 0;
  for (size_t i = 0; i < space.size(); ++i) {
    const auto value = values.find(space[i].name);
    if (value == values.end()) continue;
    ++found;
    const auto& choices = space[i].choices;
    if (space[i].categorical()) {
      const auto choice =
          std::find(choices.begin(), choices.end(), value->is_string() ? value->get<std::string>() : value->dump());
      if (choice == choices.end())
        throw user_error(fmt::format("[study] {}: {} is none of its choices", space[i].name, value->dump()));
      point[i] = static_cast<double>(choice - choices.begin());
    } else if (value->is_number()) {
      point[i] = value->get<double>();
    } else {
      throw user_error(fmt::format("[study] {}: {} is no number", space[i].name, value->dump()));
    }
  }
  if (found != values.size())
    for (const auto& [name, value] : values.items())
      if (std::none_of(space.parameters().begin(), space.parameters().end(),
                       [&name = name](const Parameter& one) { return one.name == name; }))
        throw user_error(fmt::format("[study] there is no parameter '{}'", name));
  return point;
}

Point suggestible_point_from_json(const Space& space, const json& values) {
  Point point = point_from_json(space, values);
  for (size_t i = 0; i < space.size(); ++i) need_value(space, point, i);
  if (!space.allows(point)) throw user_error(fmt::format("[study] {}: the constraints keep it out", values.dump()));
  return point;
}

double number_from_json(const json& value) {
  if (value.is_number()) return value.get<double>();
  std::string word = value.is_string() ? value.get<std::string>() : "";
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
  if (word == "-inf" || word == "-infinity") return -std::numeric_limits<double>::infinity();
  throw user_error(fmt::format("[study] {} is no number", value.dump()));
}

json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace linac::tune
