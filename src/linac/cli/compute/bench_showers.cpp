#include <fmt/format.h>

#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/physics/physics/geometry.h"
#include "linac/physics/physics/sample.h"
#include "linac/physics/physics/shower_simulation.h"
#include "linac/train/validate/shower_source.h"

namespace linac::cli {
namespace {

void print(const std::string& what, const nlohmann::ordered_json& part) {
  fmt::print("{:<20} {:.3f} s ({:.3f}-{:.3f}), CPU {:.3f} s, {:.0f} showers/s, {:.0f} showers per CPU second\n", what,
             part["wall_s"]["median"].get<double>(), part["wall_s"]["min"].get<double>(),
             part["wall_s"]["max"].get<double>(), part["cpu_s"]["median"].get<double>(),
             part["showers_per_s"].get<double>(), part["showers_per_cpu_s"].get<double>());
}

struct SimulateBenchOptions {
  std::string geometry;
  int64_t events = 2000;
  int repeat = 5;
  bool json = false;
};

// One thread; energies uniform in 10-100 GeV, theta in 60-120 degrees, as in the showers of data/.
void run_simulate_bench(const SimulateBenchOptions& options) {
  const physics::ShowerSimulation simulation(options.geometry.empty() ? physics::clic_ecal()
                                                                      : physics::load_geometry(options.geometry));
  const physics::Geometry& geometry = simulation.geometry();
  std::vector<float> uniform(static_cast<size_t>(2 * options.events));
  fill_uniform({.seed = 1, .stream = Stream::kSample}, uniform);
  std::vector<float> image(static_cast<size_t>(geometry.image_cells()));
  physics::ShowerSimulation::Workspace workspace;
  const auto simulate_all = [&] {
    for (size_t i = 0; i < uniform.size() / 2; ++i) {
      const double energy_gev = 10 + 90.0 * uniform[2 * i], theta = std::numbers::pi * (1 + uniform[2 * i + 1]) / 3;
      simulation.simulate(energy_gev, theta, physics::shower_key(1, i), image, workspace);
    }
  };
  nlohmann::ordered_json result{{"geometry", geometry.name},
                                {"cells", {geometry.cells.x, geometry.cells.y, geometry.depth()}},
                                {"events", options.events},
                                {"threads", 1},
                                {"repeat", options.repeat}};
  result["simulate"] = measure(options.repeat, static_cast<double>(options.events), 0, simulate_all);
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  print("simulate " + geometry.name, result["simulate"]);
}

struct ObservablesBenchOptions {
  std::string file = "data/showers-test.h5";
  int repeat = 5;
  bool json = false;
};

// Reading a file, and looking at its showers from memory: observables, profiles, bootstrap.
void run_observables_bench(const ObservablesBenchOptions& options) {
  const auto source = validate::open_showers({options.file}, {});
  const auto events = static_cast<size_t>(source->events()), cells = static_cast<size_t>(source->shape().cells());
  std::vector<float> images, energies, angles;
  const auto read_all = [&] {
    images.clear();
    energies.clear();
    angles.clear();
    source->each([&](std::span<const float> image, double energy_gev, double theta) {
      images.insert(images.end(), image.begin(), image.end());
      energies.push_back(static_cast<float>(energy_gev));
      angles.push_back(static_cast<float>(theta));
    });
  };
  const physics::SampleOptions settings{
      .energy_edges = {0, 40, 70, 1000}, .angle_edges = {0, 1.4, 1.8, 4}, .bootstraps = 40, .halves = 10};
  const auto look_at_all = [&] {
    physics::Observer observer(source->shape(), 1e-4);
    physics::Sample sample(source->shape(), settings);
    for (size_t i = 0; i < events; ++i) {
      const auto image = std::span<const float>(images).subspan(i * cells, cells);
      sample.add(observer.observe(image, static_cast<double>(energies[i]), static_cast<double>(angles[i])));
    }
  };
  nlohmann::ordered_json result{{"file", options.file}, {"events", events}, {"threads", 1}, {"repeat", options.repeat}};
  result["read"] = measure(options.repeat, static_cast<double>(events), 0, read_all);
  result["observe"] = measure(options.repeat, static_cast<double>(events), 0, look_at_all);
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  print("read " + options.file, result["read"]);
  print("observe", result["observe"]);
}

}  // namespace

void add_shower_benches(CLI::App& bench) {
  auto simulate_options = std::make_shared<SimulateBenchOptions>();
  auto* simulate = bench.add_subcommand("simulate", "The fast shower simulation, one thread, nothing written");
  simulate->add_option("--geometry", simulate_options->geometry, "YAML file; without it the CLIC ECAL, 51x51x25 cells");
  simulate->add_option("-n,--events", simulate_options->events, "showers a measured run")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  simulate->add_option("--repeat", simulate_options->repeat, "measured runs, after one that is not")
      ->check(CLI::Range(1, 1000));
  simulate->add_flag("--json", simulate_options->json, "as JSON: wall_s and cpu_s with median, min and max");
  simulate->footer("Example: linac bench simulate --json");
  simulate->callback([simulate_options] { run_simulate_bench(*simulate_options); });

  auto observables_options = std::make_shared<ObservablesBenchOptions>();
  auto* observables =
      bench.add_subcommand("observables", "Reading showers, and looking at them as `linac validate` does, one thread");
  observables->add_option("file", observables_options->file, "showers")->capture_default_str();
  observables->add_option("--repeat", observables_options->repeat, "measured runs, after one that is not")
      ->check(CLI::Range(1, 1000));
  observables->add_flag("--json", observables_options->json, "as JSON: wall_s and cpu_s with median, min and max");
  observables->footer("Example: linac bench observables data/showers-test.h5 --json");
  observables->callback([observables_options] { run_observables_bench(*observables_options); });
}

}  // namespace linac::cli
