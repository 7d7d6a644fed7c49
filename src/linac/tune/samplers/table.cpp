#include <fmt/format.h>

#include "linac/base/error.h"
#include "linac/base/nearest.h"
#include "linac/tune/samplers/samplers.h"

namespace linac::tune {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<Sampler> (*make)(const SamplerSettings&);
};

constexpr Row kSamplers[] = {
    {"random", make_random}, {"grid", make_grid},     {"sobol", make_sobol},
    {"tpe", make_tpe},       {"cma-es", make_cma_es}, {"gp", make_gaussian_process},
};

}  // namespace

std::vector<std::string> sampler_names() {
  std::vector<std::string> names;
  for (const Row& row : kSamplers) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Sampler> make_sampler(const SamplerSettings& settings) {
  for (const Row& row : kSamplers)
    if (settings.name == row.name) return row.make(settings);
  const std::vector<std::string> names = sampler_names();
  const auto near = nearest(settings.name, names);
  throw user_error(fmt::format("[study] sampler.name: there is no '{}'{} (known: {})", settings.name,
                               near ? "; did you mean '" + *near + "'?" : "", fmt::join(names, ", ")));
}

}  // namespace linac::tune
