#include "linac/cli/common/compute_verbs.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace linac::cli {
namespace {

constexpr ComputeVerb kVerbs[] = {
    {"train", "Trains the model of a job file"},
    {"check", "Says whether a job would run and what it needs, before it costs anything"},
    {"generate", "Makes showers with a trained generator"},
    {"predict", "Computes every output of a Keras model for events in files"},
    {"evaluate", "Scores of a model's predictions on labelled events: table, report"},
    {"report", "Where the time and the money of a run went: efficiency, workers, cost"},
    {"validate", "Compares showers with Monte Carlo: figures, report, gate"},
    {"simulate",
     "Makes electron showers in a sampling calorimeter by a fast parametrised simulation (Grindhammer and Peters, "
     "hep-ex/0001020)"},
    {"data", "Looks into data files, verifies, copies, converts and splits them"},
    {"cache", "What lies in the cache folder: lists, removes and verifies it"},
    {"export", "Writes a trained network for other programs, for Keras or as ONNX"},
    {"models", "The catalog of models at a service: versions, aliases, stages, files"},
    {"bench", "Measures this machine with this program"},
    {"version", "What this program is made of and the instruction set it found"},
};

const ComputeVerb* find(std::string_view name) {
  const auto* found = std::ranges::find(kVerbs, name, &ComputeVerb::name);
  return found == std::end(kVerbs) ? nullptr : found;
}

}  // namespace

std::span<const ComputeVerb> compute_verbs() {
  return kVerbs;
}

bool is_compute_verb(std::string_view word) {
  return find(word) != nullptr;
}

CLI::App* add_compute_verb(CLI::App& app, std::string_view name) {
  const ComputeVerb* verb = find(name);
  if (verb == nullptr) throw std::logic_error("no verb of linac-compute: " + std::string(name));
  return app.add_subcommand(verb->name, verb->summary);
}

}  // namespace linac::cli
