#include "linac/train/trained/gan_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "linac/base/base/error.h"
#include "linac/train/trained/model_file.h"

namespace linac::trained {
namespace {

// Those of the same names and shapes, whichever of them are trained: empty where some are missing. A network whose
// normalisations are frozen has the weights of one whose are not.
std::optional<graph::Parameters> by_name(const graph::Parameters& found, const graph::Graph& graph) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  const auto slot = [&](const graph::Slot& wanted) -> const graph::Slot* {
    for (const graph::Layout* layout : {&found.trainable_layout, &found.statistics_layout}) {
      for (const graph::Slot& slot : layout->slots)
        if (slot.name == wanted.name && slot.shape == wanted.shape) return &slot;
    }
    return nullptr;
  };
  size_t taken = 0;
  for (const graph::Layout* layout : {&parameters.trainable_layout, &parameters.statistics_layout}) {
    for (const graph::Slot& wanted : layout->slots) {
      if (slot(wanted) == nullptr) return std::nullopt;
      std::ranges::copy(found.values(wanted.name), parameters.values(wanted.name).begin());
      ++taken;
    }
  }
  if (taken != found.trainable_layout.slots.size() + found.statistics_layout.slots.size()) return std::nullopt;
  return parameters;
}

// The values of the file's network as those of the job's: by their names, or the same weights in the same order,
// whatever they are called.
graph::Parameters fitted(const graph::Parameters& found, const graph::Graph& graph, const std::string& source) {
  if (auto same = by_name(found, graph)) return *std::move(same);
  graph::Parameters parameters = graph::Parameters::of(graph);
  const auto refuse = [&](const std::string& difference) {
    throw user_error(
        fmt::format("[3dgan] {}: its {} is of another architecture than the job's: {}; give the job the same "
                    "model.latent, channels and filters, or the same model.generator and model.discriminator",
                    source, graph.name, difference));
  };
  const auto compare = [&](const graph::Layout& theirs, const graph::Layout& ours) {
    for (size_t i = 0; i < std::min(theirs.slots.size(), ours.slots.size()); ++i) {
      if (theirs.slots[i].shape == ours.slots[i].shape) continue;
      refuse(fmt::format("{} is {} and not {}", ours.slots[i].name, graph::to_string(theirs.slots[i].shape),
                         graph::to_string(ours.slots[i].shape)));
    }
    if (theirs.slots.size() != ours.slots.size())
      refuse(fmt::format("{} weights and not {}", theirs.slots.size(), ours.slots.size()));
  };
  compare(found.trainable_layout, parameters.trainable_layout);
  compare(found.statistics_layout, parameters.statistics_layout);
  parameters.trainable = found.trainable;
  parameters.statistics = found.statistics;
  return parameters;
}

void need_same_images(const job::Job& then, const job::Job& now, const std::string& source) {
  const auto need_same = [&](const char* key, double before, double wanted) {
    if (before == wanted) return;
    throw user_error(
        fmt::format("[3dgan] {}: was trained with {} = {:g}, and the job says {:g}: its images would have "
                    "another meaning; set {}={:g}",
                    source, key, before, wanted, key, before));
  };
  const auto power = [](const job::Job& job) { return job.model.as<job::ThreeDGanSettings>().power; };
  need_same("model.power", power(then), power(now));
  need_same("data.scale", then.data.scale, now.data.scale);
}

}  // namespace

GanStart start_of(const job::Job& job, const models::threedgan::Architecture& architecture) {
  const std::string& file = job.model.as<job::ThreeDGanSettings>().file;
  if (file.empty()) return {};
  if (std::filesystem::path(file).extension() == ".keras") {
    const GeneratorModel model = load_generator(file);
    if (model.knows_job) need_same_images(model.job, job, file);
    return {fitted(model.parameters, architecture.generator, file), std::nullopt};
  }
  const RunModel run = load_run(file);
  need_same_images(run.job, job, file);
  return {fitted(run.generator, architecture.generator, file),
          fitted(run.discriminator, architecture.discriminator, file)};
}

}  // namespace linac::trained
