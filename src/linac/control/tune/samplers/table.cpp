#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/control/tune/samplers/samplers.h"

namespace linac::tune {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<Sampler> (*make)(const SamplerSettings&);
  Objectives objectives;
};

constexpr Row kSamplers[] = {
    {"random", make_random, Objectives::kSeveral}, {"grid", make_grid, Objectives::kSeveral},
    {"sobol", make_sobol, Objectives::kSeveral},   {"tpe", make_tpe, Objectives::kSeveral},
    {"cma-es", make_cma_es, Objectives::kOne},     {"gp", make_gaussian_process, Objectives::kOne},
    {"eipu", make_eipu, Objectives::kOne},         {"ehvi", make_ehvi, Objectives::kSeveral},
    {"nsga-ii", make_nsga2, Objectives::kSeveral}, {"nsga-iii", make_nsga3, Objectives::kSeveral},
};

const Row& row_of(const std::string& name) {
  for (const Row& row : kSamplers)
    if (name == row.name) return row;
  const std::vector<std::string> names = sampler_names();
  const auto near = nearest(name, names);
  throw user_error(fmt::format("[study] sampler.name: there is no '{}'{} (known: {})", name,
                               near ? "; did you mean '" + *near + "'?" : "", fmt::join(names, ", ")));
}

}  // namespace

std::vector<std::string> sampler_names() {
  std::vector<std::string> names;
  for (const Row& row : kSamplers) names.emplace_back(row.name);
  return names;
}

Objectives objectives_of(const std::string& sampler) {
  return row_of(sampler).objectives;
}

std::unique_ptr<Sampler> make_sampler(const SamplerSettings& settings) {
  return row_of(settings.name).make(settings);
}

}  // namespace linac::tune
