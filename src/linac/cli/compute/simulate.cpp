#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/log.h"
#include "linac/base/base/thread_pool.h"
#include "linac/cli/compute/primaries.h"
#include "linac/cli/compute/production.h"
#include "linac/cli/compute/verbs.h"
#include "linac/physics/physics/geometry.h"
#include "linac/physics/physics/shower_simulation.h"

namespace linac::cli {
namespace {

struct SimulateOptions {
  std::string geometry, out;
  PrimaryOptions primaries;
  int threads = 0;
};

void run_simulate(const SimulateOptions& options) {
  const physics::Geometry geometry =
      options.geometry.empty() ? physics::clic_ecal() : physics::load_geometry(options.geometry);
  const physics::ShowerSimulation simulation(geometry);
  const Primaries primaries = primaries_of(options.primaries, "simulate");
  for (size_t i = 0; i < primaries.energy_gev.size(); ++i)
    physics::check_primary(primaries.energy_gev[i], primaries.theta[i], "simulate");
  const data::EventShape shape{geometry.cells.x, geometry.cells.y, geometry.depth()};
  log::info(fmt::format("{} showers in {}, {} cells", primaries.size(), geometry.name, data::to_string(shape)));

  const uint64_t seed = options.primaries.seed;
  const std::string source = options.geometry.empty() ? "built-in" : options.geometry;
  const Production production{
      .label = "simulating",
      .out = options.out,
      .shape = shape,
      .columns = {"x0", "y0", "shift_x", "shift_y"},  // as model.entry of a cell_chain takes them
      .attributes = {{"source", fmt::format("linac simulate --geometry {} --seed {}", source, seed)},
                     {"geometry", geometry.name},
                     {"geometry_yaml", config::to_yaml(geometry)}},
      .source = options.geometry};
  ThreadPool pool(options.threads > 0 ? options.threads : usable_cores());
  std::vector<physics::ShowerSimulation::Workspace> workspaces(static_cast<size_t>(pool.threads()));
  produce(production, primaries, pool, [&](int64_t first, int64_t count, int slot) {
    const auto cells = static_cast<size_t>(shape.cells());
    Showers showers{std::vector<float>(static_cast<size_t>(count) * cells),
                    std::vector<std::vector<float>>(production.columns.size())};
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const auto event = static_cast<size_t>(first) + i;
      const physics::Entry entry = simulation.simulate(
          primaries.energy_gev[event], primaries.theta[event], physics::shower_key(seed, event),
          std::span(showers.images).subspan(i * cells, cells), workspaces[static_cast<size_t>(slot)]);
      size_t column = 0;
      for (const double value :
           {entry.x_mm, entry.y_mm, static_cast<double>(entry.shift_x), static_cast<double>(entry.shift_y)})
        showers.columns[column++].push_back(static_cast<float>(value));
    }
    return showers;
  });
}

}  // namespace

void add_simulate_verb(CLI::App& app) {
  auto options = std::make_shared<SimulateOptions>();
  auto* verb = add_handed_verb(app, "simulate");
  verb->add_option("--geometry", options->geometry,
                   "YAML file with materials, layers and cells; without it the CLIC ECAL, 51x51x25 cells");
  add_primary_options(*verb, options->primaries);
  verb->add_option("--threads", options->threads, "threads, 0: one a core; they change nothing but the time")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--out", options->out, "HDF5 file to write: ECAL in GeV, energy, theta, the entry point, ...")
      ->required();
  verb->footer(
      "Examples:\n"
      "  linac simulate --events 1000 --energy 10:100 --theta 1.05:2.09 --seed 1 --out simulated.h5\n"
      "  linac simulate --like data/showers-test.h5 --seed 1 --out simulated.h5\n"
      "  linac simulate -n 1000 --energy 10:100 --theta 1.57 --geometry examples/geometry/small.yaml --seed 1 --out "
      "small.h5");
  verb->callback([options] { run_simulate(*options); });
}

}  // namespace linac::cli
