#include "linac/study/study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "linac/base/atomic_file.h"
#include "linac/base/config.h"
#include "linac/base/error.h"
#include "linac/base/nearest.h"
#include "linac/spec/job.h"
#include "linac/spec/metrics.h"

namespace linac::study {
namespace {

constexpr int kParallelMax = 256;

std::set<std::string> own_keys() {
  std::set<std::string> keys;
  for (const config::Setting& setting : study_settings())
    keys.insert(setting.key.substr(0, setting.key.find_first_of(".[")));
  return keys;
}

/// `search` as the list that the struct has: the key of the map is the parameter's name.
YAML::Node listed(const YAML::Node& search, const std::string& where) {
  if (!search.IsMap())
    throw user_error(
        fmt::format("[study] {}:{}: search is no map of keys of the job to what is tried; write search: "
                    "{{train.optimizer.lr: {{kind: log, low: 1e-4, high: 1e-2}}}}",
                    where, search.Mark().line + 1));
  YAML::Node list(YAML::NodeType::Sequence);
  for (const auto& entry : search) {
    YAML::Node parameter = entry.second;
    if (!parameter.IsMap())
      throw user_error(fmt::format("[study] {}:{}: search.{} is no map ({{kind: ..., low: ..., high: ...}})", where,
                                   parameter.Mark().line + 1, entry.first.as<std::string>("")));
    parameter["name"] = entry.first.as<std::string>("");
    list.push_back(parameter);
  }
  return list;
}

void one_of(const std::string& value, const char* key, std::initializer_list<const char*> known) {
  const std::vector<std::string> words(known.begin(), known.end());
  if (std::find(words.begin(), words.end(), value) == words.end())
    throw user_error(fmt::format("[study] {}: '{}' is not one of {}", key, value, fmt::join(words, ", ")));
}

void check(const StudySettings& settings, bool has_job) {
  const auto at_least = [](const char* key, double value, double least) {
    if (!(value >= least))
      throw user_error(fmt::format("[study] {}: {} is not possible; {} or more", key, value, least));
  };
  at_least("budget.trials", static_cast<double>(settings.budget.trials), 1);
  at_least("budget.hours", settings.budget.hours, 0);
  at_least("budget.attempts", static_cast<double>(settings.budget.attempts), 1);
  at_least("parallel", settings.parallel, 1);
  if (settings.parallel > kParallelMax)
    throw user_error(
        fmt::format("[study] parallel: {} at a time are too many; at most {}", settings.parallel, kParallelMax));
  one_of(settings.objective.direction, "objective.direction", {"auto", "minimize", "maximize"});
  one_of(settings.objective.take, "objective.take", {"best", "last"});
  if (has_job && settings.objective.metric.empty() == settings.objective.command.empty())
    throw user_error("[study] objective: name a metric of the training, or a command; objective: {metric: auc}");
  tune::make_sampler(settings.sampler);
  tune::make_pruner(settings.pruner);
}

spec::Job job_of(const std::string& text, const std::string& where, const std::vector<std::string>& overrides,
                 const spec::PathPlaces& places) {
  spec::Job job = spec::parse_job(text, where, overrides, &places);
  for (std::string* path : spec::files_of(job))
    if (spec::is_relative_path(*path)) *path = std::filesystem::absolute(*path).lexically_normal().string();
  return job;
}

/// The text without the keys that are the study's own. Where every key begins a line, the others keep theirs, for
/// errors.
std::string job_text(const std::string& text, const YAML::Node& root, const std::set<std::string>& keys) {
  std::vector<std::pair<int, bool>> begins;  // line, the study's own
  YAML::Node job(YAML::NodeType::Map);
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>("");
    if (entry.first.Mark().column != 0 || (!begins.empty() && entry.first.Mark().line <= begins.back().first)) {
      begins.clear();
      break;
    }
    begins.emplace_back(entry.first.Mark().line, keys.contains(key));
  }
  if (begins.empty()) {
    for (const auto& entry : root)
      if (!keys.contains(entry.first.as<std::string>(""))) job[entry.first] = entry.second;
    return job.size() == 0 ? "" : YAML::Dump(job);
  }
  std::string kept;
  bool any = false;
  size_t at = 0, next = 0;
  bool own = false;
  for (int line = 0; at < text.size(); ++line) {
    if (next < begins.size() && begins[next].first == line) own = begins[next++].second, any = any || !own;
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    kept += own ? "\n" : text.substr(at, end - at);
    at = end;
  }
  return any ? kept : "";
}

/// A point at one end of every edge, whose keys and values the job must take.
tune::Point corner(const tune::Space& space, double unit) {
  const std::vector<double> units(space.size(), unit);
  return space.point_of(units);
}

}  // namespace

tune::Space Study::space() const {
  return tune::Space(settings.search, settings.constraints);
}

tune::Direction Study::direction() const {
  const std::string& word = settings.objective.direction;
  if (word != "auto") return word == "maximize" ? tune::Direction::kMaximize : tune::Direction::kMinimize;
  if (settings.objective.metric.empty()) return tune::Direction::kMinimize;
  const auto better = spec::better_of(settings.objective.metric);
  if (!better)
    throw user_error(
        fmt::format("[study] objective.metric: whether more of {} is better is not known; set "
                    "objective.direction to minimize or maximize",
                    settings.objective.metric));
  return *better == spec::Better::kHigher ? tune::Direction::kMaximize : tune::Direction::kMinimize;
}

std::string Study::identity() const {
  StudySettings kept = settings;
  kept.budget = {};
  kept.parallel = 1;
  return config::to_yaml(kept);
}

std::string Study::to_yaml() const {
  YAML::Node own = YAML::Load(config::to_yaml(settings));
  YAML::Node search(YAML::NodeType::Map);
  for (YAML::Node parameter : own["search"]) {
    const auto name = parameter["name"].as<std::string>();
    parameter.remove("name");
    search[name] = parameter;
  }
  own["search"] = search;
  return job + (job.empty() || job.back() == '\n' ? "" : "\n") + YAML::Dump(own) + "\n";
}

std::vector<std::string> settings_of(const tune::Space& space, const tune::Point& point) {
  std::vector<std::string> words;
  for (size_t i = 0; i < space.size(); ++i)
    if (!std::isnan(point[i])) words.push_back(space[i].name + "=" + space.text_of(i, point[i]));
  return words;
}

Study parse_study(const std::string& text, const std::string& where, const spec::PathPlaces& places) {
  YAML::Node root = config::parse_text(text, where);
  if (!root.IsMap()) throw user_error(fmt::format("[study] {}: no map of settings", where));
  if (!root["search"])
    throw user_error(fmt::format(
        "[study] {}: nothing is searched; write search: {{train.optimizer.lr: {{kind: log, low: 1e-4, high: 1e-2}}}}",
        where));
  YAML::Node own(YAML::NodeType::Map);
  const std::set<std::string> keys = own_keys();
  for (const auto& entry : root)
    if (const auto key = entry.first.as<std::string>(""); keys.contains(key))
      own[key] = key == "search" ? listed(entry.second, where) : entry.second;
  const std::string job = job_text(text, root, keys);
  Study study;
  config::read(own, study.settings, where);
  check(study.settings, !job.empty());
  const tune::Space space = study.space();
  if (!job.empty()) {
    study.job = spec::to_yaml(job_of(job, where, {}, places));
    for (const double unit : {0.0, 1.0}) job_of(job, where, settings_of(space, corner(space, unit)), places);
  }
  study.direction();
  return study;
}

Study read_study(const std::string& file) {
  const std::filesystem::path path = file;
  return parse_study(read_file(path), file, {.job_folder = path.parent_path(), .working_folder = {}});
}

std::vector<config::Setting> study_settings() {
  return config::describe(StudySettings{});
}

}  // namespace linac::study
