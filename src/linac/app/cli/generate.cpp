#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "linac/app/cli/primaries.h"
#include "linac/app/cli/production.h"
#include "linac/app/cli/verbs.h"
#include "linac/base/log.h"
#include "linac/base/thread_pool.h"
#include "linac/data/showers.h"
#include "linac/models/threedgan/generator.h"
#include "linac/models/torch_threads.h"
#include "linac/train/model_file.h"

namespace linac::app {
namespace {

struct GenerateOptions {
  std::string model, out;
  PrimaryOptions primaries;
};

// Undoes power and scale: training units -> GeV.
void to_gev(const spec::Job& job, std::vector<float>& images) {
  const auto inverse_power = static_cast<float>(1 / job.model.power),
             inverse_scale = static_cast<float>(1 / job.data.scale);
  for (float& cell : images) cell = cell > 0 ? std::pow(cell, inverse_power) * inverse_scale : 0.0F;
}

void run_generate(const GenerateOptions& options) {
  const train::GeneratorModel model = train::load_generator(options.model);
  const models::threedgan::Generator generator(model.graph);
  const double energy_unit_gev = data::Preprocessing{}.energy_unit_gev;
  const Primaries primaries = primaries_of(options.primaries, "generate");
  const graph::Shape& image = model.graph.nodes[static_cast<size_t>(model.graph.outputs[0])].output;
  log::info(fmt::format("{} showers by {}", primaries.size(), model.source));

  const uint64_t seed = options.primaries.seed;
  const Production production{
      .label = "generating",
      .out = options.out,
      .shape = {image[0], image[1], image[2]},
      .attributes = {{"source", fmt::format("linac generate --model {} --seed {}", model.source, seed)}}};
  ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())), [] { models::use_threads(1); });
  produce(production, primaries, pool, [&](int64_t first, int64_t count, int) {
    std::vector<float> energy(primaries.energy_gev.begin() + first, primaries.energy_gev.begin() + first + count);
    for (float& value : energy) value = static_cast<float>(value / energy_unit_gev);
    const auto theta = std::span(primaries.theta).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    // Noise keyed by the chunk: threads change nothing.
    const RngKey key{
        .seed = seed, .stream = Stream::kSample, .lane = 2, .step = static_cast<uint32_t>(first / kShowersAtOnce)};
    std::vector<float> images = generator.run(model.parameters, generator.latents(energy, theta, key));
    to_gev(model.job, images);
    return images;
  });
}

}  // namespace

void add_generate_verb(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  auto* verb = app.add_subcommand("generate", "Makes showers with a trained generator");
  verb->add_option("--model", options->model, "folder of a run, a checkpoint or a .keras file")->required();
  add_primary_options(*verb, options->primaries);
  verb->add_option("--out", options->out, "HDF5 file to write: ECAL in GeV, energy, theta, ...")->required();
  verb->footer(
      "Examples:\n"
      "  linac generate --model runs/3dgan-geant4 --like data/showers-test.h5 --seed 1 --out generated.h5\n"
      "  linac generate --model generator.keras --energy 10:100 --theta 1.05:2.09 -n 1000 --seed 1 --out generated.h5");
  verb->callback([options] { run_generate(*options); });
}

}  // namespace linac::app
