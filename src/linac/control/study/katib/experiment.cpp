#include "linac/control/study/katib/experiment.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"

namespace linac::study {
namespace {

/// A node with its way from the root, for errors.
class Field {
 public:
  Field(YAML::Node node, std::string way, const std::string& where)
      : node_(std::move(node)), way_(std::move(way)), where_(where) {}

  Field operator[](const std::string& key) const {
    // A node that is not there has no keys.
    YAML::Node inner = node_ && node_.IsMap() ? node_[key] : YAML::Node(YAML::NodeType::Undefined);
    return {inner, way_.empty() ? key : way_ + "." + key, where_};
  }
  bool there() const { return node_ && !node_.IsNull(); }
  const YAML::Node& node() const { return node_; }

  [[noreturn]] void refuse(const std::string& why) const {
    throw user_error(fmt::format("[study] {}: {}: {}", where_, way_, why));
  }
  std::string text() const {
    if (!there()) refuse("is not there; name it");
    if (!node_.IsScalar()) refuse("is no text");
    return node_.Scalar();
  }
  double number() const {
    const std::string word = text();
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
      refuse(fmt::format("'{}' is no number", word));
    return value;
  }
  int64_t integer() const {
    const double value = number();
    if (value != std::floor(value) || std::abs(value) > 1e15) refuse(fmt::format("{} is no integer", text()));
    return static_cast<int64_t>(value);
  }
  std::vector<Field> list() const {
    if (!there() || !node_.IsSequence() || node_.size() == 0) refuse("is no list with entries");
    std::vector<Field> all;
    for (size_t i = 0; i < node_.size(); ++i) all.push_back({node_[i], fmt::format("{}[{}]", way_, i), where_});
    return all;
  }

 private:
  YAML::Node node_;
  std::string way_;
  const std::string& where_;
};

/// The list of names and values that algorithms have.
std::map<std::string, Field> settings_of(const Field& algorithm) {
  std::map<std::string, Field> settings;
  const Field list = algorithm["algorithmSettings"];
  if (!list.there()) return settings;
  for (const Field& one : list.list()) settings.emplace(one["name"].text(), one["value"]);
  return settings;
}

tune::ParameterSettings parameter_of(const Field& parameter) {
  tune::ParameterSettings settings{.name = parameter["name"].text()};
  const std::string type = parameter["parameterType"].text();
  const Field space = parameter["feasibleSpace"];
  if (type == "categorical" || type == "discrete") {
    settings.kind = "categorical";
    for (const Field& choice : space["list"].list()) settings.choices.push_back(choice.text());
    return settings;
  }
  if (type != "double" && type != "int")
    parameter["parameterType"].refuse(fmt::format("'{}' is none of double, int, discrete, categorical", type));
  settings.low = space["min"].number();
  settings.high = space["max"].number();
  if (space["step"].there()) settings.step = space["step"].number();
  const Field distribution = space["distribution"];
  const std::string word = distribution.there() ? distribution.text() : "uniform";
  const bool log = word == "logUniform";
  if (!log && word != "uniform")
    distribution.refuse(fmt::format("linac has no '{}'; uniform and logUniform it has", word));
  if (log && settings.step > 0) space["step"].refuse("a logarithm has no equal steps; leave one of them out");
  settings.kind = type == "int" ? "integer" : log ? "log" : "uniform";
  settings.log = type == "int" && log;
  return settings;
}

tune::SamplerSettings sampler_of(const Field& algorithm, StudySettings& study) {
  static const std::map<std::string, std::string> known{
      {"random", "random"}, {"grid", "grid"},   {"tpe", "tpe"},          {"multivariate-tpe", "tpe"},
      {"cmaes", "cma-es"},  {"sobol", "sobol"}, {"hyperband", "random"}, {"bayesianoptimization", "gp"}};
  const Field name = algorithm["algorithmName"];
  const std::string word = name.text();
  const auto found = known.find(word);
  if (found == known.end())
    name.refuse(
        fmt::format("linac has no '{}' (random, grid, tpe, multivariate-tpe, cmaes, sobol, hyperband, "
                    "bayesianoptimization it has)",
                    word));
  const auto settings = settings_of(algorithm);
  if (const auto seed = settings.find("random_state"); seed != settings.end()) study.seed = seed->second.integer();
  if (word == "hyperband") {
    study.pruner.name = "hyperband";
    if (const auto eta = settings.find("eta"); eta != settings.end()) study.pruner.factor = eta->second.integer();
    if (const auto most = settings.find("r_l"); most != settings.end()) study.pruner.steps_max = most->second.integer();
  }
  tune::SamplerSettings sampler;
  sampler.name = found->second;
  return sampler;
}

void set_stopping(const Field& stopping, StudySettings& study) {
  if (!stopping.there()) return;
  const Field name = stopping["algorithmName"];
  if (name.text() != "medianstop") name.refuse(fmt::format("linac has no '{}'; medianstop it has", name.text()));
  study.pruner.name = "median";
  const auto settings = settings_of(stopping);
  if (const auto least = settings.find("min_trials_required"); least != settings.end())
    study.pruner.startup = least->second.integer();
  if (const auto first = settings.find("start_step"); first != settings.end())
    study.pruner.steps_min = first->second.integer();
}

void set_objective(const Field& objective, StudySettings& study) {
  ObjectiveSettings& own = study.objective.front();
  own.metric = objective["objectiveMetricName"].text();
  const std::string type = objective["type"].text();
  if (type != "minimize" && type != "maximize")
    objective["type"].refuse(fmt::format("'{}' is neither minimize nor maximize", type));
  own.direction = type;
  // Which of a trial's values counts: by default the extreme one.
  const Field strategies = objective["metricStrategies"];
  if (!strategies.there()) return;
  for (const Field& one : strategies.list()) {
    if (one["name"].text() != own.metric) continue;
    const std::string value = one["value"].text();
    if (value != "latest" && value != (type == "minimize" ? "min" : "max"))
      one["value"].refuse(fmt::format("linac takes the best value or the latest, not '{}'", value));
    own.take = value == "latest" ? "last" : "best";
  }
}

}  // namespace

bool is_katib_experiment(const std::string& text) {
  return text.find("kind: Experiment") != std::string::npos || text.find("\"Experiment\"") != std::string::npos;
}

GivenStudy from_katib(const std::string& text, const std::string& where) {
  const Field root(config::parse_text(text, where), "", where);
  const Field spec = root["spec"];
  if (root["kind"].text() != "Experiment") root["kind"].refuse("is not Experiment");
  if (!spec.there()) spec.refuse("is not there; name it");
  if (spec["nasConfig"].there()) spec["nasConfig"].refuse("linac searches no architectures of networks");
  GivenStudy made;
  StudySettings& settings = made.study.settings;
  set_objective(spec["objective"], settings);
  settings.sampler = sampler_of(spec["algorithm"], settings);
  set_stopping(spec["earlyStopping"], settings);
  for (const Field& parameter : spec["parameters"].list()) {
    tune::ParameterSettings one = parameter_of(parameter);
    if (std::any_of(settings.search.begin(), settings.search.end(),
                    [&](const tune::ParameterSettings& known) { return known.name == one.name; }))
      parameter["name"].refuse(fmt::format("'{}' stands there before; keep one of them", one.name));
    if (one.kind != "categorical" ? one.low == one.high : one.choices.size() == 1) {
      made.notes.push_back(fmt::format("{} has one value and is not searched", one.name));
      continue;
    }
    settings.search.push_back(std::move(one));
  }
  if (settings.search.empty()) spec["parameters"].refuse("none has more than one value");
  if (spec["maxTrialCount"].there()) settings.budget.trials = spec["maxTrialCount"].integer();
  if (spec["parallelTrialCount"].there())
    settings.parallel = static_cast<int>(std::clamp<int64_t>(spec["parallelTrialCount"].integer(), 0, 1 << 20));
  if (spec["objective"]["goal"].there())
    made.notes.push_back(fmt::format("the goal {} ends nothing: the budget does", spec["objective"]["goal"].text()));
  if (spec["trialTemplate"].there())
    made.notes.push_back(
        "its trials are pods, which linac does not start: linac study ask and tell, or objective.command");
  // What the file of a study is checked for: ranges, names, the budget.
  made.study = parse_study(made.study.to_yaml(), where, {.job_folder = {}, .working_folder = {}});
  return made;
}

}  // namespace linac::study
