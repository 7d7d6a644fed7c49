#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

class None : public Pruner {
 public:
  Verdict verdict(const History&, const Trial&) const override { return {}; }
};

std::unique_ptr<Pruner> make_none(const PrunerSettings&) {
  return std::make_unique<None>();
}

struct PrunerRow {
  const char* name;
  std::unique_ptr<Pruner> (*make)(const PrunerSettings&);
};

constexpr PrunerRow kPruners[] = {
    {"none", make_none},           {"median", make_median},     {"asha", make_asha},
    {"hyperband", make_hyperband}, {"patience", make_patience}, {"wilcoxon", make_wilcoxon},
};

void check(const PrunerSettings& settings) {
  const auto refuse = [](const char* key, const auto& value, const char* wanted) {
    throw user_error(fmt::format("[study] pruner.{}: {} is not possible; {}", key, value, wanted));
  };
  if (settings.steps_min < 1) refuse("steps_min", settings.steps_min, "it is 1 or more");
  if (settings.steps_max < settings.steps_min) refuse("steps_max", settings.steps_max, "it is steps_min or more");
  if (settings.factor < 2) refuse("factor", settings.factor, "it is 2 or more");
  if (settings.startup < 1) refuse("startup", settings.startup, "it is 1 or more");
  if (settings.patience < 1) refuse("patience", settings.patience, "it is 1 or more");
  if (!(settings.least_gain >= 0)) refuse("least_gain", settings.least_gain, "it is 0 or more");
  if (!(settings.p_value > 0 && settings.p_value < 1)) refuse("p_value", settings.p_value, "it lies between 0 and 1");
}

}  // namespace

std::vector<std::string> pruner_names() {
  std::vector<std::string> names;
  for (const PrunerRow& row : kPruners) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Pruner> make_pruner(const PrunerSettings& settings) {
  check(settings);
  for (const PrunerRow& row : kPruners)
    if (settings.name == row.name) return row.make(settings);
  const std::vector<std::string> names = pruner_names();
  const auto near = nearest(settings.name, names);
  throw user_error(fmt::format("[study] pruner.name: there is no '{}'{} (known: {})", settings.name,
                               near ? "; did you mean '" + *near + "'?" : "", fmt::join(names, ", ")));
}

}  // namespace linac::tune
