#include "linac/cli/compute/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/version.h"
#include "linac/base/job/run_record.h"
#include "linac/model/chain/chain_file.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/shower_generator.h"
#include "linac/train/trained/trained_model.h"

namespace linac::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int64_t kSampleEvents = 2;

json read_json(const fs::path& path) {
  if (!fs::exists(path)) return nullptr;
  const json content = json::parse(read_file(path), nullptr, false);
  return content.is_discarded() ? json(nullptr) : content;
}

json schema(const std::vector<graph::Node>& nodes) {
  json all = json::array();
  for (const graph::Node& node : nodes) all.push_back({{"name", node.name}, {"shape", node.output}});
  return all;
}

// Runs it: a file that loads is not yet a model that computes.
void introspect(const models::Predictor& network, const fs::path& file) {
  std::vector<std::vector<float>> inputs;
  uint64_t stream = 0;
  for (const graph::Node& input : network.inputs()) {
    std::vector<float>& values = inputs.emplace_back(kSampleEvents * graph::elements(input.output));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * 2654435761U + ++stream) % 1000) / 1000;
  }
  const auto outputs = network.run(inputs, kSampleEvents);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::Node& output = network.outputs()[i];
    if (outputs[i].size() != static_cast<size_t>(kSampleEvents * graph::elements(output.output)))
      throw data_error(fmt::format("[models] {}: output {} has {} values for {} events and not {} each", file.string(),
                                   output.name, outputs[i].size(), kSampleEvents, graph::to_string(output.output)));
    if (!std::all_of(outputs[i].begin(), outputs[i].end(), [](float value) { return std::isfinite(value); }))
      throw Error(ErrorCode::kNumeric, fmt::format("[models] {}: output {} is not finite for inputs between 0 and 1; "
                                                   "such a model is not registered",
                                                   file.string(), output.name));
  }
}

// A cell_chain is drawn from: two showers from the middle of its training.
ModelFacts chain_facts(const fs::path& file) {
  const trained::ShowerGenerator generator(file);
  const auto middle = [&](auto primaries::TrainedRange::*member, double otherwise) {
    if (!generator.range()) return static_cast<float>(otherwise);
    const auto& range = *generator.range().*member;
    return static_cast<float>((range.low + range.high) / 2);
  };
  const std::vector<float> energy(kSampleEvents, middle(&primaries::TrainedRange::energy_gev, 50)),
      theta(kSampleEvents, middle(&primaries::TrainedRange::theta_rad, M_PI / 2));
  const std::vector<float> cells = generator.make(energy, theta, 1, 0);
  if (!std::ranges::all_of(cells, [](float cell) { return std::isfinite(cell); }) ||
      std::ranges::none_of(cells, [](float cell) { return cell > 0; })) {
    throw Error(ErrorCode::kNumeric,
                fmt::format("[models] {}: showers of {:g} GeV are empty or not finite; such a model is not registered",
                            file.string(), energy.front()));
  }
  const EventShape shape = generator.shape();
  const json one = json::array({1}), inputs{{{"name", "energy"}, {"shape", one}}, {{"name", "theta"}, {"shape", one}}},
             outputs{{{"name", "ECAL"}, {"shape", {shape.x, shape.y, shape.z}}}};
  const std::string trained_on = generator.range() ? primaries::to_string(*generator.range()) : "not known";
  return {.file = file,
          .tags = {{"linac.inputs", inputs.dump()},
                   {"linac.outputs", outputs.dump()},
                   {"linac.trained_on", trained_on},
                   {"linac.version", kVersion}},
          .provenance = {{"inputs", inputs}, {"outputs", outputs}, {"trained_on", trained_on}, {"linac", kVersion}}};
}

ModelFacts network_facts(const fs::path& file) {
  const trained::TrainedModel model = trained::load_trained(file);
  introspect(*model.network, file);
  const json inputs = schema(model.network->inputs()), outputs = schema(model.network->outputs());
  return {.file = file,
          .tags = {{"linac.inputs", inputs.dump()}, {"linac.outputs", outputs.dump()}, {"linac.version", kVersion}},
          .provenance = {{"inputs", inputs}, {"outputs", outputs}, {"notes", model.notes}, {"linac", kVersion}}};
}

fs::path file_of_run(const fs::path& run) {
  if (const auto file = trained::model_of_run(run)) return *file;
  throw user_error(fmt::format("[models] {}: no trained model; {}", run.string(), trained::advice_on_run(run)));
}

// The line of the last of so many epochs, 0: of all; nothing if there is none.
std::optional<job::EpochLine> epoch_line(const fs::path& run, int64_t epochs) {
  const fs::path file = run / job::kMetricsFile;
  const job::LineReader reader(file.string(), job::Wanted::kNoStepMeasures);
  std::ifstream lines(file);
  std::optional<job::EpochLine> last;
  for (std::string text; std::getline(lines, text);) {
    job::RunLine line = reader.read(text).line;
    auto* const epoch = std::get_if<job::EpochLine>(&line);
    if (epoch != nullptr && (epochs == 0 || epoch->epoch < epochs)) last = std::move(*epoch);
  }
  return last;
}

void add_measures(const char* part, const job::Measures& measures, ModelFacts& facts) {
  for (const auto& [name, value] : measures)
    if (name.find('/') == std::string::npos && std::isfinite(value))
      facts.tags[fmt::format("linac.{}.{}", part, name)] = fmt::format("{:.6g}", value);
}

void add_run(const fs::path& run, int64_t epochs, ModelFacts& facts) {
  json& all = facts.provenance;
  all["run"] = read_json(run / job::kSummaryFile);
  all["job"] = fs::exists(run / "job.yaml") ? json(read_file(run / "job.yaml")) : json(nullptr);
  if (all["job"].is_string()) {
    const YAML::Node from = config::parse_text(all["job"], (run / "job.yaml").string())["model"]["from"];
    if (from.IsDefined() && !from.as<std::string>("").empty()) facts.tags["linac.from"] = from.as<std::string>();
  }
  const auto epoch = epoch_line(run, epochs);
  all["last_epoch"] = epoch ? job::to_json(*epoch) : json(nullptr);
  all["report"] = read_json(run / "report" / "report.json");
  if (all["run"].is_object()) facts.tags["linac.status"] = all["run"].value("status", "");
  if (!epoch) return;
  add_measures("train", epoch->train, facts);
  add_measures("test", epoch->test, facts);
}

}  // namespace

ModelFacts model_facts(const std::string& name) {
  const trained::ChosenModel chosen = trained::chosen_model(name);
  if (!fs::exists(chosen.path))
    throw user_error(fmt::format("[models] {}: neither the folder of a run nor a file", name));
  const fs::path file = fs::is_directory(chosen.path) ? file_of_run(chosen.path) : chosen.path;
  ModelFacts facts = chain::is_chain_file(file) ? chain_facts(file) : network_facts(file);
  if (!chosen.words.empty()) facts.tags["linac.state"] = chosen.words;
  if (!chosen.run.empty()) add_run(chosen.run, chosen.epochs, facts);
  return facts;
}

}  // namespace linac::cli
