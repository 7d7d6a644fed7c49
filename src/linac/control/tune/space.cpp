#include "linac/control/tune/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/control/tune/constraints.h"

namespace linac::tune {
namespace {

constexpr size_t kParametersMax = 1000;  // a Sobol sequence of Boost has 3667 dimensions
constexpr double kPointsMax = 0x1p53;    // counted exactly in a double
constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();

Kind kind_of(const std::string& name, const std::string& where) {
  static const std::vector<std::string> names{"uniform", "log", "integer", "categorical"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Kind>(found - names.begin());
  const auto near = nearest(name, names);
  throw user_error(
      fmt::format("[study] {}.kind: '{}' is no kind of parameter{} (known: uniform, log, integer, "
                  "categorical)",
                  where, name, near ? "; did you mean '" + *near + "'?" : ""));
}

// The ends between which a number's coordinate is linear, in the logarithm where it is wanted. Integers have half of a
// cell beyond either end, so that the first and the last have the same width as the others.
struct Ends {
  double low, high;
};
Ends ends_of(const Parameter& parameter) {
  const double margin = parameter.kind == Kind::kInteger && parameter.log ? 0.5 : 0;
  Ends ends{parameter.low - margin, parameter.high + margin};
  if (parameter.log) ends = {std::log(ends.low), std::log(ends.high)};
  return ends;
}

void check_categorical(const Parameter& parameter, const std::string& where) {
  if (parameter.choices.size() < 2)
    throw user_error(
        fmt::format("[study] {}.choices: {} (nothing to choose from); name two or more, or leave the "
                    "parameter out",
                    where, parameter.choices.empty() ? "none" : "one only"));
  std::vector<std::string> sorted = parameter.choices;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw user_error(fmt::format("[study] {}.choices: '{}' is there twice; name each choice once", where, *twice));
}

void check_range(const Parameter& parameter, const std::string& where) {
  if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high) || !(parameter.low < parameter.high))
    throw user_error(fmt::format("[study] {}: the range {} to {} is empty; low must be less than high", where,
                                 parameter.low, parameter.high));
  if (!std::isfinite(parameter.high - parameter.low))
    throw user_error(fmt::format("[study] {}: the range {} to {} is too wide", where, parameter.low, parameter.high));
  if (parameter.log && !(parameter.low > 0))
    throw user_error(fmt::format("[study] {}.low: {} has no logarithm; it must be above 0", where, parameter.low));
  if (!(parameter.step >= 0) || !std::isfinite(parameter.step))
    throw user_error(fmt::format("[study] {}.step: {} is no step; it must be above 0", where, parameter.step));
  if (parameter.kind == Kind::kInteger &&
      (parameter.low != std::floor(parameter.low) || parameter.high != std::floor(parameter.high) ||
       parameter.step != std::floor(parameter.step)))
    throw user_error(fmt::format("[study] {}: low, high and step of an integer are integers", where));
  if (parameter.log && parameter.step > (parameter.kind == Kind::kInteger ? 1 : 0))
    throw user_error(fmt::format("[study] {}.step: a logarithm has no equal steps; leave one of them out", where));
}

// The values of a parent that a condition names: choices by their text, integers by their number.
Condition condition_of(std::span<const Parameter> before, const std::string& name,
                       const std::vector<std::string>& texts, const std::string& where) {
  std::vector<std::string> names;
  for (const Parameter& one : before) names.push_back(one.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const auto near = nearest(name, names);
    throw user_error(fmt::format("[study] {}.when: there is no parameter '{}' before it{}", where, name,
                                 near ? "; did you mean '" + *near + "'?" : ""));
  }
  Condition condition{static_cast<size_t>(found - names.begin()), {}};
  const Parameter& parent = before[condition.parent];
  if (!parent.discrete())
    throw user_error(
        fmt::format("[study] {}.when: '{}' is continuous; a condition is on a categorical parameter or an "
                    "integer",
                    where, name));
  for (const std::string& text : texts) {
    double value = kInactive;
    if (parent.categorical()) {
      const auto choice = std::find(parent.choices.begin(), parent.choices.end(), text);
      if (choice != parent.choices.end()) value = static_cast<double>(choice - parent.choices.begin());
    } else {
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      if (end != text.c_str() && *end == 0 && number >= parent.low && number <= parent.high) value = number;
    }
    if (std::isnan(value)) throw user_error(fmt::format("[study] {}.when: '{}' never is '{}'", where, name, text));
    condition.values.push_back(value);
  }
  if (condition.values.empty())
    throw user_error(fmt::format("[study] {}.when.{}: names no value; give one or more", where, name));
  return condition;
}

Parameter parameter_of(const ParameterSettings& settings, std::span<const Parameter> before) {
  const std::string where = fmt::format("parameters[{}] ({})", before.size(), settings.name);
  if (settings.name.empty())
    throw user_error(fmt::format("[study] parameters[{}].name: is empty; name the parameter", before.size()));
  for (const Parameter& other : before)
    if (other.name == settings.name) throw user_error(fmt::format("[study] {}.name: is there twice", where));
  Parameter parameter{.name = settings.name,
                      .kind = kind_of(settings.kind, where),
                      .low = settings.low,
                      .high = settings.high,
                      .step = settings.step,
                      .log = settings.log,
                      .choices = settings.choices,
                      .cells = 0,
                      .conditions = {}};
  if (parameter.kind == Kind::kLog) parameter.log = true;
  if (parameter.categorical()) {
    check_categorical(parameter, where);
    parameter.cells = static_cast<int64_t>(parameter.choices.size());
    parameter.low = 0;
    parameter.high = static_cast<double>(parameter.cells - 1);
    parameter.step = 1;
    parameter.log = false;
  } else {
    check_range(parameter, where);
    if (parameter.kind == Kind::kInteger && parameter.step == 0) parameter.step = 1;
    if (parameter.step > 0) {
      // A last step that misses the end by rounding alone reaches it.
      const double steps = std::floor((parameter.high - parameter.low) / parameter.step + 1e-9);
      if (steps < 1)
        throw user_error(fmt::format("[study] {}.step: {} is wider than the range", where, parameter.step));
      if (steps >= kPointsMax) throw user_error(fmt::format("[study] {}.step: too many values", where));
      parameter.cells = static_cast<int64_t>(steps) + 1;
      if (parameter.kind == Kind::kInteger) parameter.high = parameter.low + steps * parameter.step;
    }
  }
  for (const auto& [name, values] : settings.when)
    parameter.conditions.push_back(condition_of(before, name, values, where));
  return parameter;
}

}  // namespace

double Parameter::unit_of(double value) const {
  if (discrete() && !log) return (std::round((value - low) / step) + 0.5) / static_cast<double>(cells);
  const Ends ends = ends_of(*this);
  return std::clamp(((log ? std::log(value) : value) - ends.low) / (ends.high - ends.low), 0.0, 1.0);
}

int64_t Parameter::cell_of(double unit) const {
  const double cell = std::floor(unit * static_cast<double>(cells));
  return static_cast<int64_t>(std::clamp(cell, 0.0, static_cast<double>(cells - 1)));
}

double Parameter::value_of(double unit) const {
  if (discrete() && !log) return std::min(high, low + static_cast<double>(cell_of(unit)) * step);
  const Ends ends = ends_of(*this);
  const double linear = ends.low + std::clamp(unit, 0.0, 1.0) * (ends.high - ends.low);
  const double value = log ? std::exp(linear) : linear;
  return std::clamp(discrete() ? std::round(value) : value, low, high);
}

Space::Space(const std::vector<ParameterSettings>& parameters, const std::vector<std::string>& constraints) {
  if (parameters.empty()) throw user_error("[study] parameters: none (nothing to search); name one or more");
  if (parameters.size() > kParametersMax)
    throw user_error(
        fmt::format("[study] parameters: {} are too many (at most {})", parameters.size(), kParametersMax));
  for (const ParameterSettings& settings : parameters) parameters_.push_back(parameter_of(settings, parameters_));
  if (!constraints.empty()) constraints_ = std::make_shared<Constraints>(parameters_, constraints);
}

Point Space::point_of(std::span<const double> unit) const {
  LINAC_CHECK(unit.size() == size());
  Point point(size(), kInactive);
  for (size_t i = 0; i < size(); ++i)
    if (active(point, i)) point[i] = parameters_[i].value_of(unit[i]);
  return point;
}

std::vector<double> Space::unit_of(const Point& point) const {
  LINAC_CHECK(point.size() == size());
  std::vector<double> unit(size(), 0.5);
  for (size_t i = 0; i < size(); ++i)
    if (!std::isnan(point[i])) unit[i] = parameters_[i].unit_of(point[i]);
  return unit;
}

bool Space::active(const Point& point, size_t i) const {
  return std::all_of(parameters_[i].conditions.begin(), parameters_[i].conditions.end(), [&](const Condition& one) {
    return std::find(one.values.begin(), one.values.end(), point[one.parent]) != one.values.end();
  });
}

bool Space::allows(const Point& point) const {
  return constraints_ == nullptr || constraints_->allow(point);
}

double Space::points() const {
  double points = 1;
  for (const Parameter& parameter : parameters_) points *= static_cast<double>(parameter.cells);
  return points <= kPointsMax ? points : 0;
}

std::string Space::text_of(size_t i, double value) const {
  const Parameter& parameter = parameters_[i];
  return parameter.categorical() ? parameter.choices[static_cast<size_t>(value)] : config::number_text(value);
}

}  // namespace linac::tune
