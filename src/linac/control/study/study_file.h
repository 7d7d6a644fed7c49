#pragma once
// A study's file: a job with what is searched around it, or, without a job, a search whose trials somebody else carries
// out. `search` names parameters by the job's keys. Pure, thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/config.h"
#include "linac/base/job/job.h"
#include "linac/base/job/job_paths.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/population.h"
#include "linac/control/tune/pruner.h"
#include "linac/control/tune/sampler.h"
#include "linac/control/tune/space.h"

namespace linac::study {

struct ObjectiveSettings {
  std::string metric;
  std::string direction = "auto";
  std::string take = "best";
  std::string command;

  template <class Visitor>
  void fields(Visitor& v) {
    v("metric", metric,
      "a measure of the training's epochs, as linac reports it on the test data: loss, auc, ...; or a figure of the "
      "physics, e.g. fpd; of a command: a key of output.json, loss if none is named");
    v("direction", direction, "minimize, maximize, or auto: as linac knows the measure (a command's loss: minimize)");
    v("take", take, "of a trial's epochs: best or last");
    v("command", command,
      "any program, by a shell, in the trial's folder: reads input.json, the point, and writes output.json, "
      "{\"status\": 0, \"loss\": 0.12}; of several objectives the first one has it");
  }
};

struct BudgetSettings {
  int64_t trials = 20;
  double hours = 0;
  double cost = 0;
  int64_t attempts = 3;

  template <class Visitor>
  void fields(Visitor& v) {
    v("trials", trials, "so many are told, those that were stopped early included");
    v("hours", hours, "no trial begins later; 0: no limit");
    v("cost", cost, "no trial begins once those that ended took so much, in the unit of sampler.cost; 0: no limit");
    v("attempts", attempts, "of a trial whose process was lost, before it counts as failed");
  }
};

struct StudySettings {
  std::vector<tune::ParameterSettings> search;
  std::vector<std::string> constraints;
  std::vector<ObjectiveSettings> objective{1};
  tune::SamplerSettings sampler;
  tune::PrunerSettings pruner;
  tune::PopulationSettings population;
  BudgetSettings budget;
  job::Budget limits;
  int parallel = 1;
  int64_t seed = 1;

  template <class Visitor>
  void fields(Visitor& v) {
    v("search", search, "a map of keys of the job to what is tried: {train.optimizer.lr: {kind: log, ...}}");
    v("constraints", constraints, "formulas over the keys, in backquotes, which hold for a point that is tried");
    v("objective", objective, "what decides: a map, or a list of them for several objectives");
    v("sampler", sampler, "");
    v("pruner", pruner, "");
    v("population", population, "in place of a sampler: networks that train together and learn from each other");
    v("budget", budget, "");
    v("limits", limits, "what all trials together may use");
    v("parallel", parallel, "trials at a time");
    v("seed", seed, "of the suggestions");
  }
};

struct Study {
  StudySettings settings;
  std::string job;  // YAML, resolved, with absolute paths; empty: somebody else carries out the trials

  tune::Space space() const;
  /// One an objective.
  std::vector<tune::Direction> directions() const;
  /// The metric, or "loss".
  std::vector<std::string> objective_names() const;
  /// What is run in place of a job; empty: nothing.
  const std::string& command() const { return settings.objective.front().command; }
  /// What makes it this study and no other one, as YAML: search, constraints, objective, sampler, pruner,
  /// population, seed.
  std::string identity() const;
  /// The file that parse_study() takes back.
  std::string to_yaml() const;
};

/// Whether the text is a study's: a map with `search`.
bool is_study(const std::string& text);
/// The job in a study's file, as it is written there; empty: there is none.
std::string job_in(const std::string& text, const std::string& where);
/// Throws, as a user error with the way out, what keeps a service's queue from carrying out the study: no job, a
/// command, a population.
void check_for_queue(const Study& study);

/// User error for limits that count nothing, or that nobody would count.
void check_limits(const StudySettings& settings, bool has_job);

/// The words after `--set` for a point: "train.optimizer.lr=0.003".
std::vector<std::string> settings_of(const tune::Space& space, const tune::Point& point);
/// Those of the points with the first and with the last value of each parameter.
std::vector<std::vector<std::string>> settings_of_ends(const tune::Space& space);

/// Reads a file, or `text` of one named `where` with its folder `places`. The job is checked with the first and the
/// last value of each parameter. User error naming the key.
Study read_study(const std::string& file);
Study parse_study(const std::string& text, const std::string& where, const job::PathPlaces& places);

/// The settings around a job with their defaults and help.
std::vector<config::Setting> study_settings();

}  // namespace linac::study
