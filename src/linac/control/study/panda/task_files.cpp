#include "linac/control/study/panda/task_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "linac/base/base/error.h"

namespace linac::study {
namespace {

using nlohmann::json;

void need(bool holds, const std::string& key, const std::string& what) {
  if (!holds) throw user_error(fmt::format("[study] {}: PanDA's tasks have no {}; leave it out", key, what));
}

// A column of iDDS has a point and its loss, as Python writes them.
constexpr size_t kPointBytesMax = 4000, kNumberBytesMax = 24;

void need_room(const tune::Space& space) {
  size_t bytes = kNumberBytesMax + std::string("[{}, ]").size();
  for (const tune::Parameter& parameter : space.parameters()) {
    size_t longest = kNumberBytesMax;
    if (parameter.categorical()) {
      longest = 0;
      for (const std::string& choice : parameter.choices)
        longest = std::max(longest, json(choice).dump(-1, ' ', true).size());
    }
    bytes += json(parameter.name).dump(-1, ' ', true).size() + longest + std::string(": , ").size();
  }
  if (bytes > kPointBytesMax)
    throw user_error(
        fmt::format("[study] search: a point and its loss may be {} characters of JSON, and iDDS keeps {}; "
                    "search fewer parameters, or choices with shorter names",
                    bytes, kPointBytesMax));
}

/// What docker is told at iDDS. phpo's steeringContainer is left out: with it iDDS (2.6.21) mounts the folder of the
/// input as `None`.
std::string steering_words(const StudySettings& settings, const std::string& container) {
  constexpr std::string_view kScheme = "docker://";
  const std::string image = container.starts_with(kScheme) ? container.substr(kScheme.size()) : container;
  if (image.empty() || image.starts_with('/') || image.find("://") != std::string::npos)
    throw user_error(
        fmt::format("[study] --container {}: docker runs the steering, so it is an image of a registry, "
                    "docker://registry.example.org/linac:1.0",
                    container));
  return fmt::format(
      "run --rm -v \"$(pwd)\":/steering -w /steering --entrypoint linac {} study steer --in %IN --out %OUT "
      "--max-points %MAX_POINTS --num-points %NUM_POINTS --sampler {} --seed {}",
      image, settings.sampler.name, settings.seed);
}

json dimension_of(const tune::Parameter& parameter) {
  const std::string key = "search." + parameter.name;
  need(parameter.conditions.empty(), key + ".when", "conditions");
  if (parameter.categorical())
    return {{"method", "categorical"}, {"dimension", {{"categories", parameter.choices}, {"grid_search", 0}}}};
  const bool integer = parameter.kind == tune::Kind::kInteger;
  need(parameter.step == (integer ? 1 : 0), key + ".step", "steps");
  need(!integer || !parameter.log, key + ".log", "integers in the logarithm");
  const char* const method = integer ? "uniformint" : parameter.kind == tune::Kind::kLog ? "loguniform" : "uniform";
  const auto number = [&](double value) { return integer ? json(static_cast<int64_t>(value)) : json(value); };
  return {{"method", method}, {"dimension", {{"low", number(parameter.low)}, {"high", number(parameter.high)}}}};
}

}  // namespace

PandaTaskFiles panda_task_files(const Study& study, const std::string& container, const std::string& data_set) {
  const StudySettings& settings = study.settings;
  need(settings.constraints.empty(), "constraints", "constraints");
  need(settings.objective.size() == 1, "objective", "several objectives");
  need(settings.pruner.name == "none", "pruner", "pruners");
  need(settings.sampler.name != "eipu", "sampler.name", "costs of points");
  need(!settings.population.used(), "population", "populations");
  if (study.job.empty() && study.command().empty())
    throw user_error("[study] the file has neither a job nor objective.command, so there is nothing to evaluate");
  PandaTaskFiles files;
  const tune::Space space = study.space();
  need_room(space);
  for (const tune::Parameter& parameter : space.parameters()) files.space[parameter.name] = dimension_of(parameter);
  files.conf = {{"maxPoints", settings.budget.trials},
                {"nParallelEvaluation", settings.parallel},
                {"nPointsPerIteration", settings.parallel},
                {"steeringExec", steering_words(settings, container)},
                {"searchSpaceFile", "space.json"},
                {"evaluationContainer", container},
                {"evaluationExec", "linac study evaluate study.yaml"},
                {"evaluationInput", "input.json"},
                {"evaluationTrainingData", "input_ds.json"},
                {"evaluationOutput", "output.json"},
                {"evaluationMeta", "metadata.json"},
                // What one that was interrupted goes on from. PanDA keeps 100 MB.
                {"checkPointToSave", "evaluation"},
                {"checkPointInterval", 5}};
  if (!data_set.empty()) files.conf["trainingDS"] = data_set;
  return files;
}

}  // namespace linac::study
