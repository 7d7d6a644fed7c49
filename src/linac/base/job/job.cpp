#include "linac/base/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/base/expression/expression.h"
#include "linac/base/job/checks.h"
#include "linac/base/job/keras_words.h"
#include "linac/base/job/secret_names.h"
#include "linac/base/job/spent.h"
#include "linac/base/optimizer/table.h"

namespace linac::job {
namespace {

void validate_optimizer(const optimizer::Settings& optimizer, const std::string& where) {
  const bool left_to_the_file = optimizer.name.empty();
  need(optimizer.lr > 0 || left_to_the_file, where, "train.optimizer.lr must be positive");
  if (left_to_the_file) return;
  need_one_of(optimizer.name, optimizer::names(), where, "train.optimizer.name");
  need(std::isfinite(optimizer.lr), where, "train.optimizer.lr must be finite");
  for (const double decay : {optimizer.rho, optimizer.beta_1, optimizer.beta_2, optimizer.momentum}) {
    need(decay >= 0 && decay < 1, where, "train.optimizer: momentum, rho, beta_1 and beta_2 must be in [0, 1)");
  }
  need(optimizer.epsilon > 0, where, "train.optimizer.epsilon must be positive");
  need(optimizer.initial_accumulator_value >= 0 && optimizer.weight_decay >= 0, where,
       "train.optimizer: initial_accumulator_value and weight_decay must not be negative");
  need(optimizer.global_clipnorm >= 0 && optimizer.clipvalue >= 0, where,
       "train.optimizer: clipping limits must not be negative");
}

void validate_schedule(const Schedule& schedule, const std::string& where) {
  need_one_of(schedule.scale_with_replicas, {"none", "linear", "sqrt"}, where, "train.schedule.scale_with_replicas");
  need(schedule.warmup_epochs >= 0, where, "train.schedule.warmup_epochs must not be negative");
  for (const LearningRateDrop& drop : schedule.drops) {
    need(drop.epoch >= 0 && drop.factor > 0, where,
         "train.schedule.drops: epoch must not be negative, factor must be positive");
  }
  need_one_of(schedule.decay, {"none", "cosine", "exponential"}, where, "train.schedule.decay");
  need(schedule.decay_epochs >= 0, where, "train.schedule.decay_epochs must not be negative");
  need(schedule.decay_factor_min >= 0 && schedule.decay_factor_min <= 1, where,
       "train.schedule.decay_factor_min must be in [0, 1]");
  need(schedule.decay != "exponential" || schedule.decay_factor_min > 0, where,
       "train.schedule.decay = exponential wants a train.schedule.decay_factor_min above 0");
  const Plateau& plateau = schedule.plateau;
  need(plateau.patience >= kNever && plateau.min_delta >= 0 && plateau.cooldown >= 0, where,
       "train.schedule.plateau: patience (but for -1: never), min_delta and cooldown must not be negative");
  need(plateau.factor > 0 && plateau.factor < 1 && plateau.factor_min >= 0 && plateau.factor_min <= 1, where,
       "train.schedule.plateau: factor must be between 0 and 1, factor_min in [0, 1]");
}

}  // namespace

std::optional<double> baseline_of(const EarlyStopping& settings) {
  double value = 0;
  const char* const end = settings.baseline.data() + settings.baseline.size();
  const auto [behind, error] = std::from_chars(settings.baseline.data(), end, value);
  return error == std::errc() && behind == end && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string pieces_in_words(const Train& train) {
  if (train.split.parts() == 1) return fmt::format("train.replicas = {}", train.replicas);
  return fmt::format("the {} parts of train.replicas = {} and train.split", train.pieces(), train.replicas);
}

namespace {

void validate_sync(const Train& train, const std::string& where) {
  const Sync& sync = train.sync;
  need_one_of(sync.mode, {"exact", "local", "easgd", "downpour", "eamsgd", "gem", "hybrid"}, where, "train.sync.mode");
  need(sync.groups > 0 && sync.groups <= 256, where, "train.sync.groups must be 1 to 256");
  need(sync.every > 0, where, "train.sync.every must be at least 1 step");
  need(sync.begin >= 0, where, "train.sync.begin must not be negative");
  need_one_of(sync.moments, {"keep", "average", "reset"}, where, "train.sync.moments");
  need_one_of(sync.exchange, {"fp32", "bf16", "int8"}, where, "train.sync.exchange");
  need(sync.outer.lr > 0, where, "train.sync.outer.lr must be positive");
  need(sync.outer.momentum >= 0 && sync.outer.momentum < 1, where,
       "train.sync.outer.momentum must be at least 0 and below 1");
  need(sync.beta > 0 && sync.beta <= 1, where, "train.sync.beta must be above 0 and at most 1");
  need(sync.push > 0 && std::isfinite(sync.push), where, "train.sync.push must be positive");
  need(sync.gem.kappa > 0 && std::isfinite(sync.gem.kappa), where, "train.sync.gem.kappa must be positive");
  need(sync.gem.momentum >= 0 && sync.gem.momentum < 1, where,
       "train.sync.gem.momentum must be at least 0 and below 1");
  need(sync.schedule.delays >= 0 && sync.schedule.delays <= 256, where, "train.sync.schedule.delays must be 0 to 256");
  need(sync.max_staleness >= 0, where, "train.sync.max_staleness must not be negative");
  if (!sync.is_apart()) return;
  need(!sync.takes_turns() || sync.max_staleness == 0 || sync.max_staleness >= sync.groups - 1, where,
       fmt::format("train.sync.max_staleness = {}: between two turns of a group the {} others have one each at least; "
                   "set it to {} or more, or train.sync.groups to less",
                   sync.max_staleness, sync.groups - 1, sync.groups - 1));
  need(sync.mode != "eamsgd" || (train.optimizer.name == "sgd" && train.optimizer.momentum > 0), where,
       "train.sync.mode = eamsgd is elastic averaging with momentum in the groups: set train.optimizer to {name: sgd, "
       "momentum: 0.9, nesterov: true}, or train.sync.mode = easgd");
  need(train.replicas % sync.groups == 0, where,
       fmt::format("train.replicas = {} do not divide into train.sync.groups = {} of equally many: set train.replicas "
                   "to a multiple of {}",
                   train.replicas, sync.groups, sync.groups));
}

void validate_audit(const Train& train, const std::string& where) {
  const Audit& audit = train.audit;
  need(audit.rate >= 0 && audit.rate <= 1, where, "train.audit.rate is a share of the steps, from 0 to 1");
  need_one_of(audit.fault.in, fault_places(), where, "train.audit.fault.in");
  need(audit.fault.worker >= 0 && audit.fault.step >= 0, where,
       "train.audit.fault: worker and step must not be negative");
  if (audit.rate == 0) return;
  need(!train.sync.is_apart(), where,
       fmt::format("train.audit compares what any worker can compute again, and with train.sync.mode = {} each group "
                   "has networks of its own: set train.audit.rate = 0, or train.sync.mode = exact",
                   train.sync.mode));
  need(train.device == "cpu", where,
       fmt::format("train.audit wants the same bits from each worker, which nobody promises of train.device = {}: set "
                   "train.audit.rate = 0, or train.device = cpu",
                   train.device));
}

void validate_split(const Train& train, const std::string& where) {
  constexpr int kPartsMax = 64;
  const Split& split = train.split;
  need(split.x > 0 && split.y > 0 && split.z > 0, where, "train.split: x, y and z must be at least 1");
  need(split.x <= kPartsMax && split.y <= kPartsMax && split.z <= kPartsMax && split.parts() <= kPartsMax, where,
       fmt::format("train.split: x times y times z must be at most {}", kPartsMax));
  if (split.parts() == 1) return;
  need(train.pieces() <= 4096, where,
       fmt::format("train.replicas = {} in {} parts each are {}, and 4096 is the most", train.replicas, split.parts(),
                   train.pieces()));
  need(!train.sync.is_apart(), where,
       fmt::format("train.split divides replicas that come together in each step: set train.sync.mode = exact, not {}",
                   train.sync.mode));
  need(train.audit.rate == 0, where,
       "train.audit computes whole replicas a second time on one worker, and train.split is for those that fit no "
       "worker: set train.audit.rate = 0");
  need(train.device == "cpu", where, "train.split is there for train.device = cpu alone");
}

void validate_train(const Train& train, const std::string& where) {
  need(train.epochs > 0, where, "train.epochs must be at least 1");
  need(train.max_steps >= 0, where, "train.max_steps must not be negative");
  need(train.steps_per_epoch >= 0, where, "train.steps_per_epoch must not be negative");
  need(train.replicas > 0 && train.replicas <= 4096, where, "train.replicas must be 1 to 4096");
  need(train.batch > 0, where, "train.batch must be at least 1");
  need(train.accumulate > 0, where, "train.accumulate must be at least 1");
  need(train.threads > 0, where, "train.threads must be at least 1");
  need(train.flip >= 0 && train.flip < 0.5, where, "train.flip must be in [0, 0.5)");
  need(train.discriminator_first >= 0, where, "train.discriminator_first must not be negative");
  need_one_of(train.precision, {"fp32", "bf16"}, where, "train.precision");
  need_one_of(train.exchange, {"fp32", "bf16"}, where, "train.exchange");
  need_one_of(train.kernels, {"linac", "aten"}, where, "train.kernels");
  need(train.precision == "fp32" || train.kernels == "linac", where,
       "train.precision = bf16 is a matter of linac's kernels: set train.kernels = linac, or train.precision = fp32");
  need_one_of(train.device, {"cpu", "cuda"}, where, "train.device");
  need(
      train.precision == "fp32" || train.device == "cpu", where,
      "train.precision = bf16 is not there for train.device = cuda: set train.precision = fp32, or train.device = cpu");
  validate_sync(train, where);
  validate_audit(train, where);
  validate_split(train, where);
  validate_optimizer(train.optimizer, where);
  validate_schedule(train.schedule, where);
  const EarlyStopping& stopping = train.early_stopping;
  need(stopping.patience >= kNever && stopping.min_delta >= 0 && stopping.start_from_epoch >= 0, where,
       "train.early_stopping: patience (but for -1: never), min_delta and start_from_epoch must not be negative");
  need(stopping.baseline == "none" || baseline_of(stopping), where,
       fmt::format("train.early_stopping.baseline = {}: a number, or none", stopping.baseline));
  need_one_of(train.collapse.action, {"stop", "rollback"}, where, "train.collapse.action");
  need(train.collapse.rollbacks >= 0 && train.collapse.lr_factor > 0, where,
       "train.collapse: rollbacks and lr_factor must be positive");
}

void validate_data(const Data& data, const std::string& where) {
  need(!data.train.empty(), where, "data.train names no file; give files, globs or URLs");
  const auto need_auto = [&](const AutoInt& value, int most, const char* name) {
    need(!value.number || (*value.number >= 1 && *value.number <= most), where,
         fmt::format("data.{} must be 1 to {}, or auto", name, most));
  };
  need_auto(data.prefetch, 64, "prefetch");
  need_auto(data.prefetch_files, 8, "prefetch_files");
  need_auto(data.prefetch_reads, 16, "prefetch_reads");
  need(data.validation_split >= 0 && data.validation_split < 1, where,
       fmt::format("data.validation_split = {} must be between 0 and 1: the share of the training events that tests, "
                   "e.g. 0.2",
                   data.validation_split));
  need(data.shuffle_window >= 0, where, "data.shuffle_window is a number of files, at least 1; 0: all");
  need(data.shuffle_window == 0 || data.validation_split == 0, where,
       "data.shuffle_window reads a few files at a time, and validation_split needs the events of all: set "
       "data.split.validation, or name files in data.test");
  need(data.validation_split == 0 || data.test.empty(), where,
       "data.validation_split takes the test events from data.train, and data.test names files of them; leave one out");
}

void need_formula(const std::string& formula, const std::string& where, const std::string& key) {
  if (!formula.empty()) expression::parse(formula, fmt::format("{}: {}", where, key));
}

// The syntax; columns and types show with the files.
void validate_transforms(const Data& data, const std::string& where) {
  need_formula(data.filter, where, "data.filter");
  for (const auto& [name, formula] : data.define) {
    need(!name.empty(), where, "data.define has a column without a name");
    need(!formula.empty(), where, fmt::format("data.define.{} is empty; write a formula", name));
    need_formula(formula, where, "data.define." + name);
  }
  for (size_t i = 0; i < data.lists.size(); ++i) {
    const DataLists& rule = data.lists[i];
    const std::string key = fmt::format("data.lists[{}]", i);
    need(!rule.columns.empty(), where, key + " names no column; write columns: [NAME, ...]");
    need(rule.first >= 0, where, key + ".first must not be negative");
    need(!rule.filter.empty() || !rule.sort.empty() || rule.first > 0, where,
         key + " changes nothing; give filter, sort or first");
    need_formula(rule.filter, where, key + ".filter");
    need_formula(rule.sort, where, key + ".sort");
    for (const std::string& column : rule.columns)
      need(!data.define.contains(column), where,
           fmt::format("{}: '{}' is computed (data.define), and lists are cut before that; name lists of the files",
                       key, column));
  }
  need_formula(data.train_filter, where, "data.train_filter");
  need(data.train_filter.empty() || data.validation_split == 0, where,
       "data.train_filter leaves the events alone that test, and data.validation_split takes these from those that "
       "train; set data.split.validation, or name files in data.test");
  const DataSplit& split = data.split;
  need(split.validation >= 0 && split.test >= 0 && split.validation + split.test < 1, where,
       "data.split: validation and test are shares from 0 on, and leave some events to train on, e.g. 0.1 and 0.1");
  need(split.key.empty() || split.divides(), where,
       "data.split has a key and no share: give validation, test or both, e.g. 0.1");
  need(split.fold.empty() || split.validation == 0, where,
       "data.split.fold is in place of data.split.validation; keep one of them");
  if (!split.fold.empty()) {
    const auto fold = fold_in(split.fold);
    need(fold.has_value(), where,
         fmt::format("data.split.fold = {}: wanted is FOLD/FOLDS, from 1/2 to {}/{}, e.g. 2/5", printable(split.fold),
                     kFoldsMax, kFoldsMax));
  }
  need(!split.tests() || (data.test.empty() && data.validation_split == 0), where,
       "data.split.validation or fold tests each epoch, and so does data.test or data.validation_split; keep one of "
       "them");
}

void validate_plan(const Planned& plan, const std::string& where) {
  const std::pair<const char*, const std::vector<double>&> intervals[] = {
      {"start_s", plan.start_s}, {"step_s", plan.step_s}, {"jitter", plan.jitter}, {"hours", plan.hours},
      {"money", plan.money},     {"kwh", plan.kwh},       {"co2_kg", plan.co2_kg}};
  for (const auto& [key, interval] : intervals) {
    const bool good = interval.empty() || (interval.size() == 3 && 0 <= interval[0] && interval[0] <= interval[1] &&
                                           interval[1] <= interval[2] && std::isfinite(interval[2]));
    need(good, where,
         fmt::format("plan.{} is [low, middle, high], rising from 0 on; `linac plan --write` writes it", key));
  }
  need(std::isfinite(plan.memory_gib) && plan.memory_gib >= 0, where, "plan.memory_gib is no number from 0 on");
}

void validate_secrets(const std::vector<std::string>& names, const std::string& where) {
  need(names.size() <= kSecretsMax, where,
       fmt::format("secrets has {} names; {} are the most", names.size(), kSecretsMax));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string why = why_no_secret_name(names[i]);
    need(why.empty(), where, fmt::format("secrets: '{}' cannot be one: {}", printable(names[i]), why));
    need(std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) ==
             names.begin() + static_cast<std::ptrdiff_t>(i),
         where, fmt::format("secrets names {} twice", names[i]));
  }
}

void validate(const Job& job, const std::string& where) {
  const std::pair<const char*, const std::string&> modes[] = {
      {"checkpoint.best_mode", job.checkpoint.best_mode},
      {"train.early_stopping.mode", job.train.early_stopping.mode},
      {"train.schedule.plateau.mode", job.train.schedule.plateau.mode}};
  for (const auto& [key, mode] : modes) need_one_of(mode, {"auto", "min", "max"}, where, key);
  validate_data(job.data, where);
  const bool selects = !job.data.filter.empty() || !job.data.train_filter.empty() || job.data.split.divides();
  need(job.data.shuffle_window == 0 || job.train.steps_per_epoch > 0 || !selects, where,
       "data.filter and data.split hide how many events a file gives, and data.shuffle_window needs those of all files "
       "for an epoch of all events: set train.steps_per_epoch");
  validate_transforms(job.data, where);
  validate_train(job.train, where);
  validate_secrets(job.secrets, where);
  job.model.check(job, where);
  need(job.train.audit.fault.in != "activation" || job.model.kind() != "custom", where,
       "train.audit.fault.in = activation wants layers, and model.kind = custom computes as its plug-in does: set "
       "another place");
  need(job.checkpoint.keep >= 1, where, "checkpoint.keep must be at least 1");
  need(job.checkpoint.every_epochs >= 0 && job.checkpoint.every_steps >= 0 && job.checkpoint.every_minutes >= 0, where,
       "checkpoint.every_* must not be negative");
  need(job.validate.every_epochs >= 0, where, "validate.every_epochs must not be negative");
  need(job.validate.events >= 1, where, "validate.events must be at least 1");
  check_budget(job.budget, where, "budget");
  validate_plan(job.plan, where);
  need(job.workers >= 1, where, "workers must be at least 1");
  need(job.distribution.workers_min >= 1 && job.distribution.workers_min <= job.train.pieces(), where,
       "distribution.workers_min must be from 1 to train.replicas (times the parts of train.split)");
  need(job.distribution.stall_timeout_s >= 1, where, "distribution.stall_timeout_s must be at least 1");
  need_one_of(job.distribution.on_sigterm, {"stop", "leave"}, where, "distribution.on_sigterm");
  need(job.distribution.restarts >= 0, where, "distribution.restarts must not be negative");
  need(job.distribution.devices_per_worker >= 0 && job.distribution.devices_per_worker <= 64, where,
       "distribution.devices_per_worker must be 0 to 64");
  need(job.workers <= job.train.pieces(), where,
       fmt::format("workers = {} is more than {}: a worker carries at least one; lower workers or raise replicas",
                   job.workers, pieces_in_words(job.train)));
}

// The rate is asked for so often that it has a short name.
void expand_shorthand(YAML::Node& root, const std::string& where) {
  YAML::Node train = root["train"];
  if (!train.IsDefined() || !train.IsMap() || !train["lr"].IsDefined()) return;
  if (train["optimizer"].IsDefined() && !train["optimizer"].IsMap()) {
    throw user_error(
        fmt::format("[job] {}: train.optimizer is not a map of settings, e.g. {{name: adam, lr: 1.0e-3}}", where));
  }
  train["optimizer"]["lr"] = train["lr"];
  train.remove("lr");
}

bool has_all(const YAML::Node& settings, std::initializer_list<const char*> keys) {
  return settings.IsDefined() && settings.IsMap() &&
         std::all_of(keys.begin(), keys.end(), [&](const char* key) { return settings[key].IsDefined(); });
}

// EarlyStopping and ReduceLROnPlateau of Keras that are there without a patience have a default one. A job that an
// older version wrote down has all settings but start_from_epoch, and 0 for never.
void settle_patience(const YAML::Node& root) {
  const YAML::Node train = root["train"];
  if (!train.IsDefined() || !train.IsMap()) return;
  const YAML::Node schedule = train["schedule"];
  YAML::Node stopping = train["early_stopping"],
             plateau = schedule.IsDefined() && schedule.IsMap() ? schedule["plateau"] : YAML::Node();
  const bool older = has_all(stopping, {"patience", "monitor", "mode", "min_delta", "restore_best"}) &&
                     !stopping["start_from_epoch"].IsDefined() &&
                     has_all(plateau, {"patience", "monitor", "mode", "factor", "factor_min", "min_delta"});
  constexpr int kStoppingOfKeras = 0, kPlateauOfKeras = 10;
  for (auto& [settings, of_keras] : {std::pair<YAML::Node&, int>{stopping, kStoppingOfKeras},
                                     std::pair<YAML::Node&, int>{plateau, kPlateauOfKeras}}) {
    if (!settings.IsDefined() || !settings.IsMap() || settings.size() == 0) continue;
    if (!settings["patience"].IsDefined()) settings["patience"] = of_keras;
    if (older && settings["patience"].as<std::string>("") == "0") settings["patience"] = kNever;
  }
}

// A Keras file may have been compiled with an optimiser: it is used where the job says nothing but, perhaps, a rate.
void leave_optimizer_to_file(const YAML::Node& root, const std::string& where, optimizer::Settings& optimizer) {
  const YAML::Node settings = root["train"] ? root["train"]["optimizer"] : YAML::Node(YAML::NodeType::Null);
  const bool has_rate = settings && settings.IsMap() && settings["lr"];
  if (settings && settings.IsMap() && settings.size() > (has_rate ? 1 : 0)) return;
  optimizer.name.clear();
  if (!has_rate) {
    optimizer.lr = 0;
    return;
  }
  need(optimizer.lr > 0 && std::isfinite(optimizer.lr), where, "train.optimizer.lr must be positive");
}

// The error of a key that is known elsewhere in the job, or that Keras knows, with where it belongs.
[[noreturn]] void explain(const config::UnknownKey& error) {
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  const std::string name = last(error.key);
  if (const std::string hint = keras_setting(name); !hint.empty())
    throw config::UnknownKey(error.place, error.key, error.known, fmt::format("; Keras's {} is {}", name, hint));
  std::string elsewhere;  // a setting, or a map of them
  for (const JobSetting& setting : job_settings()) {
    const size_t at = ("." + setting.key + ".").find("." + name + ".");
    if (elsewhere.empty() && at != std::string::npos) elsewhere = setting.key.substr(0, at + name.size());
  }
  if (!error.hint.empty() || elsewhere.empty()) throw config::UnknownKey(error);
  throw config::UnknownKey(error.place, error.key, error.known, fmt::format("; did you mean '{}'?", elsewhere));
}

void read_settings(YAML::Node root, Job& job, const std::string& where) {
  expand_shorthand(root, where);
  settle_patience(root);
  if (root["model"].IsDefined()) settle_model_keys(root["model"], where);
  try {
    config::read(root, job, where);
  } catch (const config::UnknownKey& error) {
    explain(error);
  }
}

// Each override alone, so that an error names it and not a line of the file.
void check_overrides(const std::vector<std::string>& overrides, const YAML::Node& whole) {
  const YAML::Node model = whole["model"];
  const bool has_kind = model && model.IsMap() && model["kind"] && model["kind"].IsScalar();
  const std::string kind = has_kind ? model["kind"].Scalar() : Model{}.kind();
  const std::vector<std::string> kinds = model_kinds();
  const bool is_known = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  for (const std::string& assignment : overrides) {
    YAML::Node lone(YAML::NodeType::Map);
    if (is_known) lone["model"]["kind"] = kind;
    config::apply_override(lone, assignment);
    // Without a kind that is known, settings of a model cannot be told from mistakes; the kind itself can.
    const bool sets_kind = lone["model"].IsDefined() && lone["model"].IsMap() && lone["model"]["kind"].IsDefined();
    if (!is_known && !sets_kind) continue;
    Job job;
    read_settings(lone, job, "--set " + assignment);
  }
}

// The override without which the job would be valid, or what it names would not be wrong, as the file may have mistakes
// of its own; "" if there is none, or not one alone.
std::string override_at_fault(const std::string& text, const std::string& where,
                              const std::vector<std::string>& overrides, const std::string& error) {
  for (const std::string& left_out : overrides) {
    try {
      YAML::Node root = config::parse_text(text, where);
      for (const std::string& assignment : overrides)
        if (&assignment != &left_out) config::apply_override(root, assignment);
      Job job;
      read_settings(root, job, where);
      validate(job, where);
      return left_out;
    } catch (const Error& other) {  // wrong without it, too
      if (other.what() != error && error.find(left_out.substr(0, left_out.find('='))) != std::string::npos)
        return left_out;
    }
  }
  return "";
}

}  // namespace

std::vector<JobSetting> job_settings() {
  std::vector<JobSetting> settings;
  const auto add_models = [&] {
    each_model_kind([&](const auto& own) {
      for (config::Setting& setting : config::describe(own)) {
        setting.key = "model." + setting.key;
        settings.push_back({{setting}, own.kKind});
      }
    });
  };
  for (const config::Setting& setting : config::describe(Job{})) {
    const bool of_model = setting.key.starts_with("model.");
    if (!of_model || setting.key == "model.kind") settings.push_back({{setting}, ""});
    if (setting.key == "model.kind") add_models();
  }
  return settings;
}

Job parse_job(const std::string& text, const std::string& where, const std::vector<std::string>& overrides,
              const PathPlaces* places) {
  YAML::Node root = config::parse_text(text, where);
  if (!root.IsMap())
    throw user_error(fmt::format("[job] {}: not a job file (a map with name, model, data, train)", where));
  const auto missing = places != nullptr ? place_paths(root, *places, where) : std::map<std::string, MissingPath>{};
  for (const std::string& assignment : overrides) config::apply_override(root, assignment);
  check_overrides(overrides, root);
  Job job;
  read_settings(root, job, where);
  for (const std::string* file : files_of(job))
    if (const auto found = missing.find(*file); found != missing.end()) throw MissingPath(found->second);
  if (job.model.optimizer_in_file()) leave_optimizer_to_file(root, where, job.train.optimizer);
  try {
    validate(job, where);
  } catch (const Error& error) {
    if (const std::string fault = override_at_fault(text, where, overrides, error.what()); !fault.empty())
      validate(job, "--set " + fault);
    throw;
  }
  return job;
}

Job read_job(const std::string& path, const std::vector<std::string>& overrides) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error& error) {
    throw user_error(fmt::format("[job] {}: cannot be read; give the path of a job file ({})", path, error.what()));
  }
  const PathPlaces places{std::filesystem::path(path).parent_path(), {}};
  return parse_job(text, path, overrides, &places);
}

std::string to_yaml(const Job& job) {
  return config::to_yaml(job);
}

std::optional<Fold> fold_in(std::string_view text) {
  Fold fold;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, fold.fold);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '/') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, fold.folds);
  const bool good = second.ec == std::errc{} && second.ptr == end && fold.folds >= 2 && fold.folds <= kFoldsMax;
  return good && fold.fold >= 1 && fold.fold <= fold.folds ? std::optional(fold) : std::nullopt;
}

}  // namespace linac::job
