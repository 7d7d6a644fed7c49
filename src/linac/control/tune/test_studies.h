#pragma once
// For tests: spaces, and studies that a function answers.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "linac/control/tune/sampler.h"

namespace linac::tune::testing {

inline Space numbers(size_t count) {
  std::vector<ParameterSettings> parameters;
  for (size_t i = 0; i < count; ++i) parameters.push_back({.name = "x" + std::to_string(i), .low = -1, .high = 2});
  return Space(parameters);
}

/// Each kind of parameter, with conditions.
inline Space mixed(const std::vector<std::string>& constraints = {}) {
  return Space({{.name = "kind", .kind = "categorical", .choices = {"dense", "trees"}},
                {.name = "rate", .kind = "log", .low = 1e-5, .high = 0.1},
                {.name = "layers", .kind = "integer", .low = 1, .high = 8, .when = {{"kind", {"dense"}}}},
                {.name = "width", .kind = "integer", .low = 8, .high = 512, .log = true, .when = {{"kind", {"dense"}}}},
                {.name = "depth", .kind = "integer", .low = 2, .high = 12, .step = 2, .when = {{"kind", {"trees"}}}},
                {.name = "share", .low = 0, .high = 1, .step = 0.25}},
               constraints);
}

/// A number for a point of any space: smooth in what is active.
inline double bowl(const Space& space, const Point& point) {
  const std::vector<double> unit = space.unit_of(point);
  double sum = 0;
  for (size_t i = 0; i < unit.size(); ++i)
    if (!std::isnan(point[i])) sum += (unit[i] - 0.3) * (unit[i] - 0.3) * static_cast<double>(i + 1);
  return sum;
}

/// What a point takes: ten times as much at one end of the first parameter as at the other.
inline double cost(const Space& space, const Point& point) {
  return std::pow(10, space.unit_of(point)[0]);
}

/// Several objectives to be minimized, each of a bowl whose bottom is elsewhere; the second one is told with its sign
/// changed, to be maximized.
inline std::vector<Direction> directions(size_t count) {
  std::vector<Direction> directions(count, Direction::kMinimize);
  if (count > 1) directions[1] = Direction::kMaximize;
  return directions;
}
inline std::vector<double> bowls(const Space& space, const Point& point, size_t count) {
  std::vector<double> values{bowl(space, point)};
  const std::vector<double> unit = space.unit_of(point);
  for (size_t k = 1; k < count; ++k) {
    double sum = 0;
    for (size_t i = 0; i < unit.size(); ++i)
      if (!std::isnan(point[i])) sum += std::pow(unit[i] - (i % count == k ? 0.9 : 0.3), 2);
    values.push_back(k == 1 ? -sum : sum);
  }
  return values;
}
inline std::vector<double> not_numbers(size_t count) {
  return std::vector<double>(count, std::nan(""));
}

inline std::unique_ptr<Sampler> sampler(const std::string& name) {
  SamplerSettings settings;
  settings.name = name;
  return make_sampler(settings);
}

}  // namespace linac::tune::testing
