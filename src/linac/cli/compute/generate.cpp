#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "linac/base/log.h"
#include "linac/base/thread_pool.h"
#include "linac/cli/compute/primaries.h"
#include "linac/cli/compute/production.h"
#include "linac/cli/compute/verbs.h"
#include "linac/client/model_catalog.h"
#include "linac/models/torch_threads.h"
#include "linac/trained/shower_generator.h"

namespace linac::cli {
namespace {

struct GenerateOptions {
  std::string model, out;
  PrimaryOptions primaries;
};

void run_generate(const GenerateOptions& options) {
  const trained::ShowerGenerator generator(client::local_model(options.model));
  const Primaries primaries = primaries_of(options.primaries, "generate");
  log::info(fmt::format("{} showers by {}", primaries.size(), generator.source()));

  const uint64_t seed = options.primaries.seed;
  const Production production{
      .label = "generating",
      .out = options.out,
      .shape = generator.shape(),
      .attributes = {{"source", fmt::format("linac generate --model {} --seed {}", generator.source(), seed)}}};
  static_assert(kShowersAtOnce == trained::ShowerGenerator::kChunk);
  ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())), [] { models::use_threads(1); });
  produce(production, primaries, pool, [&](int64_t first, int64_t count, int) {
    const auto part = [&](const std::vector<float>& values) {
      return std::span(values).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    };
    return generator.make(part(primaries.energy_gev), part(primaries.theta), seed, first / kShowersAtOnce);
  });
}

}  // namespace

void add_generate_verb(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  auto* verb = app.add_subcommand("generate", "Makes showers with a trained generator");
  verb->add_option("--model", options->model, "folder of a run, a checkpoint, a .keras file or catalog://NAME@ALIAS")
      ->required();
  add_primary_options(*verb, options->primaries);
  verb->add_option("--out", options->out, "HDF5 file to write: ECAL in GeV, energy, theta, ...")->required();
  verb->footer(
      "Examples:\n"
      "  linac generate --model runs/3dgan-geant4 --like data/showers-test.h5 --seed 1 --out generated.h5\n"
      "  linac generate --model generator.keras --energy 10:100 --theta 1.05:2.09 -n 1000 --seed 1 --out generated.h5");
  verb->callback([options] { run_generate(*options); });
}

}  // namespace linac::cli
