#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/thread_pool.h"
#include "linac/cli/compute/named_model.h"
#include "linac/cli/compute/primaries.h"
#include "linac/cli/compute/production.h"
#include "linac/cli/compute/verbs.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/trained/shower_generator.h"

namespace linac::cli {
namespace {

struct GenerateOptions {
  std::string model, out;
  PrimaryOptions primaries;
  bool extrapolate = false;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

// What the file says of the primaries beside those of the training. User error where they lie outside, unless that is
// wanted.
Attributes need_trained(const trained::ShowerGenerator& generator, const Primaries& primaries, bool extrapolate) {
  if (!generator.range()) {
    log::warn(fmt::format("{} does not know the energies and angles that it was trained on", generator.source()));
    return {{"trained_on", "not known"}};
  }
  const std::string range = primaries::to_string(*generator.range());
  const std::string beyond = primaries::beyond(*generator.range(), primaries.energy_gev, primaries.theta);
  if (beyond.empty()) return {{"trained_on", range}};
  if (!extrapolate) {
    throw user_error(
        fmt::format("[generate] {}: was trained on {}, and {} lie outside; ask for primaries inside, or "
                    "add --extrapolate for showers that nobody has compared with Monte Carlo",
                    generator.source(), range, beyond));
  }
  log::warn(fmt::format("extrapolated: {} lie outside of {}", beyond, range));
  return {{"trained_on", range}, {"extrapolated", beyond}};
}

void run_generate(const GenerateOptions& options) {
  const trained::ShowerGenerator generator(named_model(options.model));
  const Primaries primaries = primaries_of(options.primaries, "generate");
  Attributes attributes = need_trained(generator, primaries, options.extrapolate);
  log::info(fmt::format("{} showers by {}", primaries.size(), generator.source()));

  const uint64_t seed = options.primaries.seed;
  attributes.emplace_back("source", fmt::format("linac generate --model {} --seed {}", generator.source(), seed));
  const Production production{.label = "generating",
                              .out = options.out,
                              .shape = generator.shape(),
                              .columns = {},
                              .attributes = std::move(attributes),
                              .source = generator.source()};
  static_assert(kShowersAtOnce == trained::ShowerGenerator::kChunk);
  ThreadPool pool(usable_cores(), [] { models::use_threads(1); });
  produce(production, primaries, pool, [&](int64_t first, int64_t count, int) {
    const auto part = [&](const std::vector<float>& values) {
      return std::span(values).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    };
    return Showers{generator.make(part(primaries.energy_gev), part(primaries.theta), seed, first / kShowersAtOnce), {}};
  });
}

}  // namespace

void add_generate_verb(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  auto* verb = add_handed_verb(app, "generate");
  verb->add_option("--model", options->model,
                   "folder of a run or one of its states (RUN@best, RUN@last, RUN@epoch=N), a checkpoint, a .keras or "
                   ".chain file, "
                   "or catalog://NAME@ALIAS")
      ->required();
  add_primary_options(*verb, options->primaries);
  verb->add_flag("--extrapolate", options->extrapolate,
                 "also at energies and angles beyond those that the model was trained on; the file says so");
  verb->add_option("--out", options->out, "HDF5 file to write: ECAL in GeV, energy, theta, ...")->required();
  verb->footer(
      "Examples:\n"
      "  linac generate --model runs/3dgan-geant4 --like data/showers-test.h5 --seed 1 --out generated.h5\n"
      "  linac generate --model generator.keras --energy 10:100 --theta 1.05:2.09 -n 1000 --seed 1 --out generated.h5");
  verb->callback([options] { run_generate(*options); });
}

}  // namespace linac::cli
