#include "linac/control/tune/constraints.h"

#include <fmt/format.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"

namespace linac::tune {
namespace {

size_t position_of(std::span<const Parameter> parameters, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return i;
    names.push_back(parameters[i].name);
  }
  const auto near = nearest(name, names);
  throw user_error(fmt::format("[study] {}: there is no parameter '{}'{}", where, name,
                               near ? "; did you mean '" + *near + "'?" : ""));
}

}  // namespace

Constraints::Constraints(std::span<const Parameter> parameters, const std::vector<std::string>& formulas) {
  for (size_t i = 0; i < formulas.size(); ++i) {
    const std::string where = fmt::format("constraints[{}]", i);
    Formula formula{{expression::parse(formulas[i], where),
                     [&](const std::string& name) {
                       position_of(parameters, name, where);
                       return expression::Type{};
                     }},
                    {}};
    if (formula.program.type() != expression::Type{.axes = expression::Axes::kNumber, .boolean = true})
      throw user_error(fmt::format("[study] {}: '{}' is {} (a constraint is true or false); compare it: ... <= 100",
                                   where, formulas[i], expression::describe(formula.program.type())));
    for (const std::string& name : formula.program.columns())
      formula.parameters.push_back(position_of(parameters, name, where));
    formulas_.push_back(std::move(formula));
  }
}

bool Constraints::allow(const Point& point) {
  const std::lock_guard lock(mutex_);
  for (Formula& formula : formulas_) {
    std::vector<double> values;
    bool active = true;
    for (const size_t parameter : formula.parameters) {
      values.push_back(point[parameter]);
      active = active && !std::isnan(point[parameter]);
    }
    if (!active) continue;
    std::vector<expression::Block> columns;
    for (const double& value : values) columns.push_back({.values = {&value, 1}, .rows = {}});
    if (formula.program.run(columns, 1).values[0] == 0) return false;
  }
  return true;
}

}  // namespace linac::tune
