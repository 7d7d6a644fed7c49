#include "linac/control/study/study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/job/branch.h"
#include "linac/base/job/job.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/spent.h"

namespace linac::study {
namespace {

constexpr int kParallelMax = 256;
constexpr size_t kObjectivesMax = 8;

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

std::string objective_key(const StudySettings& settings, size_t i) {
  return settings.objective.size() == 1 ? "objective" : fmt::format("objective[{}]", i);
}

std::string name_of(const ObjectiveSettings& objective) {
  return objective.metric.empty() ? "loss" : objective.metric;
}

void check_objectives(const StudySettings& settings, bool has_job) {
  const auto& all = settings.objective;
  const auto refuse = [&](size_t i, const char* key, const std::string& why) {
    throw user_error(fmt::format("[study] {}{}: {}", objective_key(settings, i), key, why));
  };
  if (all.empty() || all.size() > kObjectivesMax)
    throw user_error(fmt::format("[study] objective: {} are not possible; 1 to {}", all.size(), kObjectivesMax));
  const bool command = !all[0].command.empty();
  std::set<std::string> names;
  for (size_t i = 0; i < all.size(); ++i) {
    one_of(all[i].direction, (objective_key(settings, i) + ".direction").c_str(), {"auto", "minimize", "maximize"});
    one_of(all[i].take, (objective_key(settings, i) + ".take").c_str(), {"best", "last"});
    if (i > 0 && !all[i].command.empty())
      refuse(i, ".command", "the command of the first objective measures all; leave this one out");
    if (all[i].metric.empty() && !command && (has_job || all.size() > 1))
      refuse(i, "", "name a metric of the training, or a command; objective: {metric: auc}");
    if (!names.insert(name_of(all[i])).second)
      refuse(i, ".metric", fmt::format("{} is there twice; name each objective once", name_of(all[i])));
    if (all[i].take != all[0].take)
      refuse(i, ".take", "all objectives are of the same epoch; take as the first one does");
  }
  if (all.size() == 1) return;
  if (tune::objectives_of(settings.sampler.name) == tune::Objectives::kOne)
    throw user_error(
        fmt::format("[study] sampler.name: {} has one objective, and there are {}; take tpe, ehvi, nsga-ii or nsga-iii",
                    settings.sampler.name, all.size()));
  if (settings.pruner.name != "none")
    throw user_error(
        fmt::format("[study] pruner.name: {} compares one value, and there are {} objectives; leave the pruner out",
                    settings.pruner.name, all.size()));
}

// Members are compared by one value, and all of them train to the end of the interval.
void check_population(const StudySettings& settings) {
  if (!settings.population.used()) return;
  tune::Population{settings.population};
  const auto refuse = [](const std::string& what) { throw user_error("[study] " + what); };
  if (settings.sampler.name != tune::SamplerSettings{}.name)
    refuse(fmt::format("sampler.name: {} is not asked where a population.method is set; leave the sampler out",
                       settings.sampler.name));
  if (settings.pruner.name != "none")
    refuse(fmt::format("pruner.name: {} has no place in a population, whose worst members copy the best; leave it out",
                       settings.pruner.name));
  if (settings.objective.size() > 1)
    refuse(fmt::format("population.method: {} compares members by one objective, and there are {}",
                       settings.population.method, settings.objective.size()));
}

// Of the jobs at the two ends of every range.
void check_members(const job::Job& low, const job::Job& high) {
  job::need_branch(low, high, "[study] search", "leave it out of search, or set population.method to none");
  const auto refuse = [](const std::string& what) { throw user_error("[study] " + what); };
  if (low.train.early_stopping.patience != job::kNever)
    refuse("train.early_stopping.patience: a member trains to the end of its interval; leave early_stopping out");
  if (low.train.max_steps > 0) refuse("train.max_steps: a member trains to the end of its interval; set it to 0");
  if (low.train.schedule.decay != "none" && low.train.schedule.decay_epochs == 0)
    refuse(
        "train.schedule.decay_epochs: the last epoch of a member is that of its interval; name the epoch at which the "
        "decay ends");
}

void check(const StudySettings& settings, bool has_job) {
  const auto at_least = [](const char* key, double value, double least) {
    if (!(value >= least))
      throw user_error(fmt::format("[study] {}: {} is not possible; {} or more", key, value, least));
  };
  at_least("budget.trials", static_cast<double>(settings.budget.trials), 1);
  at_least("budget.hours", settings.budget.hours, 0);
  at_least("budget.cost", settings.budget.cost, 0);
  if (std::isinf(settings.budget.cost))
    throw user_error("[study] budget.cost: has no end; leave it out, and there is no limit");
  at_least("budget.attempts", static_cast<double>(settings.budget.attempts), 1);
  at_least("parallel", settings.parallel, 1);
  if (settings.parallel > kParallelMax)
    throw user_error(
        fmt::format("[study] parallel: {} at a time are too many; at most {}", settings.parallel, kParallelMax));
  check_limits(settings, has_job);
  check_objectives(settings, has_job);
  tune::make_sampler(settings.sampler);
  tune::make_pruner(settings.pruner);
  check_population(settings);
}

job::Job job_of(const std::string& text, const std::string& where, const std::vector<std::string>& overrides,
                const job::PathPlaces& places) {
  job::Job job = job::parse_job(text, where, overrides, &places);
  job::make_paths_absolute(job);
  return job;
}

/// The text without the keys that are the study's own. Where every key begins a line, the others keep theirs, for
/// errors. A name alone is no job.
std::string job_text(const std::string& text, const YAML::Node& root, const std::set<std::string>& keys) {
  bool is_job = false;
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>("");
    is_job = is_job || (key != "name" && !keys.contains(key));
  }
  if (!is_job) return "";
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
    return YAML::Dump(job);
  }
  std::string kept;
  size_t at = 0, next = 0;
  bool own = false;
  for (int line = 0; at < text.size(); ++line) {
    if (next < begins.size() && begins[next].first == line) own = begins[next++].second;
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    kept += own ? "\n" : text.substr(at, end - at);
    at = end;
  }
  return kept;
}

/// A point at one end of every edge, whose keys and values the job must take.
tune::Point corner(const tune::Space& space, double unit) {
  const std::vector<double> units(space.size(), unit);
  return space.point_of(units);
}

}  // namespace

void check_limits(const StudySettings& settings, bool has_job) {
  job::check_budget(settings.limits, "the study", "limits");
  if (settings.limits.any() && !has_job && settings.objective.front().command.empty())
    throw user_error("[study] limits: whoever asks and tells trains by himself, and is not counted; leave them out");
  if (settings.limits.steps > 0 && !settings.objective.front().command.empty())
    throw user_error("[study] limits.steps: a command has no steps that could be counted; set limits.hours");
}

tune::Space Study::space() const {
  return tune::Space(settings.search, settings.constraints);
}

std::vector<tune::Direction> Study::directions() const {
  std::vector<tune::Direction> directions;
  for (size_t i = 0; i < settings.objective.size(); ++i) {
    const ObjectiveSettings& one = settings.objective[i];
    bool more = one.direction == "maximize";
    if (one.direction == "auto" && !one.metric.empty()) {
      const auto better = job::better_of(one.metric);
      const std::string key = objective_key(settings, i);
      if (!better)
        throw user_error(
            fmt::format("[study] {}.metric: whether more of {} is better is not known; set "
                        "{}.direction to minimize or maximize",
                        key, one.metric, key));
      more = *better == job::Better::kHigher;
    }
    directions.push_back(more ? tune::Direction::kMaximize : tune::Direction::kMinimize);
  }
  return directions;
}

std::vector<std::string> Study::objective_names() const {
  std::vector<std::string> names;
  for (const ObjectiveSettings& one : settings.objective) names.push_back(name_of(one));
  return names;
}

std::string Study::identity() const {
  StudySettings kept = settings;
  kept.budget = {};
  kept.limits = {};
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
  if (own["objective"].size() == 1) own["objective"] = YAML::Clone(own["objective"][0]);
  const std::string alone = job.empty() ? "" : job_in(job, "the study's job");  // a resolved one has a budget, too
  return alone + (alone.empty() || alone.back() == '\n' ? "" : "\n") + YAML::Dump(own) + "\n";
}

std::vector<std::string> settings_of(const tune::Space& space, const tune::Point& point) {
  std::vector<std::string> words;
  for (size_t i = 0; i < space.size(); ++i)
    if (!std::isnan(point[i])) words.push_back(space[i].name + "=" + space.text_of(i, point[i]));
  return words;
}

std::vector<std::vector<std::string>> settings_of_ends(const tune::Space& space) {
  return {settings_of(space, corner(space, 0)), settings_of(space, corner(space, 1))};
}

bool is_study(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsMap() && root["search"];
  } catch (const YAML::Exception&) {  // whoever reads it says why
    return false;
  }
}

std::string job_in(const std::string& text, const std::string& where) {
  return job_text(text, config::parse_text(text, where), own_keys());
}

void check_for_queue(const Study& study) {
  if (!study.command().empty())
    throw user_error(
        "[study] objective.command: a queue carries out trainings, and no commands; `linac tune` starts them on this "
        "host, or programs ask and tell (`linac study new --server`)");
  if (study.settings.population.used())
    throw user_error(
        fmt::format("[study] population.method: {} copies folders from member to member, which no queue does; `linac "
                    "tune` carries it out on this host, or take a sampler",
                    study.settings.population.method));
  if (study.job.empty())
    throw user_error(
        "[study] it has no job, and nothing carries out its trials; write the job beside `search`, or let programs ask "
        "and tell (`linac study new --server`)");
}

Study parse_study(const std::string& text, const std::string& where, const job::PathPlaces& places) {
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
    study.job = job::to_yaml(job_of(job, where, {}, places));
    const auto ends = settings_of_ends(space);
    const job::Job low = job_of(job, where, ends[0], places), high = job_of(job, where, ends[1], places);
    if (study.settings.population.used()) check_members(low, high);
  }
  study.directions();
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
