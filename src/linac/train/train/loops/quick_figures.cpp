#include "linac/train/train/loops/quick_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/physics/physics/collapse.h"
#include "linac/physics/physics/comparison.h"

namespace linac::train {
namespace {

constexpr int kEnergyBins = 3;

// Even bins over the energies of the whole set; one bin of angles.
physics::SampleOptions options(const data::Dataset& dataset) {
  physics::SampleOptions options;
  options.energy_edges = physics::even_edges(dataset.energies_gev(), kEnergyBins);
  options.angle_edges = {0, 4};
  return options;
}

}  // namespace

QuickFigures quick_figures(const data::Dataset& dataset, int64_t events,
                           const std::function<physics::Shower(bool real, int64_t event)>& shower) {
  physics::Sample reference(dataset.shape(), options(dataset)), generated(dataset.shape(), options(dataset));
  for (int64_t event = 0; event < events; ++event) {
    reference.add(shower(true, event));
    generated.add(shower(false, event));
    piece_is_done();
  }
  QuickFigures result;
  for (const physics::Figure& figure : physics::compare(reference, generated, {.in_bins = false}))
    if (std::isfinite(figure.value)) result.values[figure.name] = figure.value;
  result.signs_of_collapse = physics::signs_of_collapse(reference, generated);
  return result;
}

void need_known_figure(const std::string& best_by) {
  std::vector<std::string> known = physics::figure_names();
  known.emplace_back("loss");
  if (std::find(known.begin(), known.end(), best_by) != known.end()) return;
  const auto near = nearest(best_by, known);
  throw user_error(fmt::format("[job] checkpoint.best_by = {} is no figure{}", best_by,
                               near ? fmt::format("; did you mean {}?", *near) : " (fpd is one)"));
}

}  // namespace linac::train
