#pragma once
// The job file: one struct behind `linac train job.yaml`, `linac check` and every `--set`. A plain value; what ran is
// written down resolved (all defaults filled in) as job.yaml of the run's folder, and is enough to repeat it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "linac/base/base/config.h"
#include "linac/base/job/audit.h"
#include "linac/base/job/budget.h"
#include "linac/base/job/job_paths.h"
#include "linac/base/job/model.h"
#include "linac/base/job/split.h"
#include "linac/base/job/sync.h"
#include "linac/base/optimizer/settings.h"

namespace linac::job {

struct DataFields {
  std::string image = "ECAL", energy = "energy", angle = "theta";

  template <class V>
  void fields(V& v) {
    v("image", image, "HDF5 data set of the cells, GeV [events, x, y, z]");
    v("energy", energy, "HDF5 data set of the primary energy, GeV [events]");
    v("angle", angle, "HDF5 data set of the polar angle, rad [events]");
  }
};

struct DataColumn {
  std::string name, column;
  std::vector<std::string> columns;
  std::string scaling = "none";
  std::vector<int64_t> shape;
  std::vector<std::string> classes;

  template <class V>
  void fields(V& v) {
    v("name", name, "the model's input or output; the next one if it is left out");
    v("column", column,
      "column of the files (HDF5 data set, Parquet column, TFRecord feature); like the name if left out");
    v("columns", columns,
      "in place of column: numbers and lists of the files that are joined to one list, in this order, e.g. [pt, eta, "
      "phi]");
    v("scaling", scaling, "none, standard or min_max, by the constants of data.scaling");
    v("shape", shape,
      "inputs of a torchscript model: of one event, e.g. [801, 19]; of a keras model that leaves sizes open: in place "
      "of the longest list of data.train");
    v("classes", classes,
      "of a target that is a column of texts: its classes in the order of the output, where data.classes is of another "
      "output");
  }
};

/// Lists that belong together, row by row, in every event.
struct DataLists {
  std::vector<std::string> columns;
  std::string filter, sort;
  int64_t first = 0;

  template <class V>
  void fields(V& v) {
    v("columns", columns, "lists of the files with the same number of rows in an event, e.g. [jets_pt, jets_eta]");
    v("filter", filter, "the rows that stay: a formula with a value for each row, e.g. jets_pt > 30; empty: all");
    v("sort", sort,
      "the rows in the rising order of this formula, equal ones as they are, e.g. -jets_pt or \"-particles[:, 5]\"; "
      "empty: as they are");
    v("first", first, "so many rows stay, the first ones; 0: all");
  }
};

/// "2/5": the second of five folds.
struct Fold {
  int fold = 0, folds = 0;
};
inline constexpr int kFoldsMax = 100;
/// Nothing for what is none, from 1/2 on.
std::optional<Fold> fold_in(std::string_view text);

/// Parts of the events by a hash of what each is (io/data/transform/split.h).
struct DataSplit {
  std::vector<std::string> key;
  double validation = 0, test = 0;
  std::string fold;

  /// Whether one of its parts tests each epoch, and whether it leaves any event out of the training.
  bool tests() const { return validation > 0 || !fold.empty(); }
  bool divides() const { return tests() || test > 0; }

  template <class V>
  void fields(V& v) {
    v("key", key,
      "columns that tell events apart, e.g. [run, event]: an event is in the same part whatever files are added; "
      "empty: "
      "all columns that the training reads");
    v("validation", validation, "this share tests each epoch, in place of data.test");
    v("test", test, "this share is kept for `linac evaluate --part test`");
    v("fold", fold,
      "in place of validation, for a cross-validation: FOLD/FOLDS, e.g. 2/5: of so many equal parts of what is not "
      "test "
      "this one tests each epoch, and the others train (`linac train --fold`)");
  }
};

struct Data {
  std::vector<std::string> train, test;
  double validation_split = 0;
  std::vector<DataColumn> inputs, targets;
  std::string event_weight;
  std::string scaling;
  std::vector<std::string> classes;
  std::string filter, train_filter;
  std::map<std::string, std::string> define;
  std::vector<DataLists> lists;
  DataSplit split;
  DataFields names;
  double scale = 50;
  double threshold = 1e-4;
  double min_sum = 1;
  AutoInt prefetch, prefetch_files, prefetch_reads;
  int shuffle_window = 0;
  bool share = true;

  /// Whether each epoch ends in a test.
  bool tests() const { return !test.empty() || validation_split > 0 || split.tests(); }

  template <class V>
  void fields(V& v) {
    v("train", train, "files, globs or URLs to train on (HDF5, TFRecord; Parquet and ROOT but for the 3dgan)");
    v("test", test, "files, globs or URLs for the test losses of each epoch; may be empty");
    v("validation_split", validation_split,
      "in place of test: this share of the training events tests, the last ones in the order of the files, e.g. 0.2; "
      "0: none; not for the 3dgan");
    v("inputs", inputs,
      "list of {name, column or columns, scaling}: what the model's inputs read; those left out read their name");
    v("targets", targets,
      "list of {name, column or columns, scaling, classes}: what the model's outputs should be; texts in a column name "
      "classes");
    v("event_weight", event_weight,
      "column, or a formula, that says how much each event counts in losses and weighted metrics: a number, or of a "
      "model of sequences a list with one for each step; empty: 1");
    v("scaling", scaling, "JSON file of scaling constants: for each column mean, std, min, max");
    v("classes", classes,
      "names of the classes, in the order of the (first) output; where the target is a column of texts these are the "
      "texts, and without the setting those of the training files, sorted");
    v("filter", filter,
      "the events that count, of data.train and data.test: a formula, e.g. \"met > 30 && abs(eta) < 2.5\" "
      "(docs/guide/transforms.md); empty: all; not for the 3dgan");
    v("train_filter", train_filter,
      "of these, the events that train: another formula, which does not touch those that test; empty: all");
    v("define", define,
      "columns that are computed, by name, e.g. {ht: \"sum(jets_pt)\"}; they are read like those of the files");
    v("lists", lists, "list of {columns, filter, sort, first}: lists that are cut and sorted, before anything else");
    v("split", split, "");
    v("fields", names, "3dgan: what the columns are called");
    v("scale", scale, "3dgan: training units a GeV");
    v("threshold", threshold, "3dgan: cells below are set to 0 (scaled units)");
    v("min_sum", min_sum, "3dgan: events whose cells sum to this or less are dropped (scaled units)");
    v("prefetch", prefetch,
      "batches read ahead, 1 to 64; auto: 3, and more where the training waits (docs/guide/data.md)");
    v("prefetch_files", prefetch_files,
      "files opened side by side, 1 to 8; auto: 2, and more where the training waits and more bytes come with more");
    v("prefetch_reads", prefetch_reads, "ranges of such a file on their way at a time, 1 to 16; auto: 4, likewise");
    v("shuffle_window", shuffle_window,
      "so many files of data.train, drawn anew in each epoch, are mixed at a time, and no more than three windows are "
      "held: for sets that are larger than the disk (docs/guide/data.md); 0: all");
    v("share", share,
      "what one worker has fetched from a store it passes on to the others, so that each byte leaves the store once "
      "(docs/guide/data.md); false: each fetches all");
  }
};

struct LearningRateDrop {
  int epoch = 0;
  double factor = 0.1;

  template <class V>
  void fields(V& v) {
    v("epoch", epoch, "first epoch (from 0) with the lower rate");
    v("factor", factor, "multiplies the rate from there on");
  }
};

/// A patience that is never over.
inline constexpr int kNever = -1;

struct Plateau {
  int patience = kNever;
  std::string monitor = "loss", mode = "auto";
  double factor = 0.1;
  double factor_min = 0;
  double min_delta = 1e-4;
  int cooldown = 0;

  template <class V>
  void fields(V& v) {
    v("patience", patience,
      "after so many epochs in a row without a better value the rate falls, 0 as 1; -1: never; not given where another "
      "setting of plateau is: 10, as in Keras");
    v("monitor", monitor, "what should get better: loss, or a measure or figure of the test data");
    v("mode", mode, "min, max, or auto: as linac knows the measure; one of a plug-in's own wants min or max");
    v("factor", factor, "multiplies the rate");
    v("factor_min", factor_min, "all falls together do not go below this factor");
    v("min_delta", min_delta, "smaller changes do not count");
    v("cooldown", cooldown, "behind a fall so many epochs do not count towards patience");
  }
};

struct Schedule {
  std::string scale_with_replicas = "none";
  double warmup_epochs = 0;
  std::vector<LearningRateDrop> drops;
  std::string decay = "none";
  double decay_epochs = 0;
  double decay_factor_min = 0;
  Plateau plateau;

  template <class V>
  void fields(V& v) {
    v("scale_with_replicas", scale_with_replicas,
      "none, linear or sqrt: how the rate grows with the number of replicas");
    v("warmup_epochs", warmup_epochs, "epochs over which the rate rises linearly from near 0");
    v("drops", drops, "list of {epoch, factor}");
    v("decay", decay, "none, cosine (half a wave down), or exponential, from the end of the warm-up on");
    v("decay_epochs", decay_epochs, "where the decay arrives at its least factor; 0: at the last epoch");
    v("decay_factor_min", decay_factor_min, "the least factor (exponential wants more than 0)");
    v("plateau", plateau, "the rate falls where nothing gets better");
  }
};

struct Collapse {
  std::string action = "stop";
  int rollbacks = 1;
  double lr_factor = 0.5;

  template <class V>
  void fields(V& v) {
    v("action", action,
      "stop, or rollback: return to the last good checkpoint, with fresh random numbers and a lower rate, then go on");
    v("rollbacks", rollbacks, "how often rollback is tried in a run before it stops");
    v("lr_factor", lr_factor, "multiplies the learning rate at each rollback");
  }
};

struct EarlyStopping {
  int patience = kNever;
  std::string monitor = "loss", mode = "auto";
  double min_delta = 0;
  int start_from_epoch = 0;
  std::string baseline = "none";
  bool restore_best = false;

  template <class V>
  void fields(V& v) {
    v("patience", patience,
      "the run ends after so many epochs in a row without a better value, 0 as 1; -1: never; not given where another "
      "setting of early_stopping is: 0, as in Keras");
    v("monitor", monitor, "what should get better: loss, or a measure or figure of the test data");
    v("mode", mode, "min, max, or auto: as linac knows the measure; one of a plug-in's own wants min or max");
    v("min_delta", min_delta, "smaller changes do not count");
    v("start_from_epoch", start_from_epoch, "epochs before this one (from 0) do not count");
    v("baseline", baseline, "a value: what is better than all before, and not than this, does not make patience anew");
    v("restore_best", restore_best,
      "hand over the networks of the epoch that is the best by these settings, not the last one's");
  }
};

/// Nothing: there is none.
std::optional<double> baseline_of(const EarlyStopping& settings);

/// Of models that learn from labelled events.
struct Fit {
  std::vector<std::string> loss;
  std::vector<double> loss_weights;
  std::vector<std::string> metrics, weighted_metrics;
  std::vector<double> class_weight;
  std::string class_balance = "none";
  double label_smoothing = 0;
  bool from_logits = false;

  template <class V>
  void fields(V& v) {
    v("loss", loss,
      "of each output (Keras's names: categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy, "
      "binary_focal_crossentropy, mean_squared_error, mean_absolute_error, huber, log_cosh, kl_divergence, poisson, "
      "hinge, ...; output: its values are the loss; metric, none); empty: what the model was compiled with");
    v("loss_weights", loss_weights, "of each output; empty: 1");
    v("metrics", metrics,
      "accuracy, top_k_accuracy, auc, precision, recall, f1_score, mean_squared_error, mean_absolute_error, ...: of "
      "each output, or, OUTPUT_accuracy, of one of several");
    v("weighted_metrics", weighted_metrics, "the same, each event counting as data.event_weight and class_weight say");
    v("class_weight", class_weight, "how much an event of each class counts in the first output's loss; empty: 1");
    v("class_balance", class_balance,
      "none, or weights: class_weight such that the training events of each class count equally, all / (classes x "
      "those "
      "of the class), by data.event_weight where there is one");
    v("label_smoothing", label_smoothing, "of the cross-entropies");
    v("from_logits", from_logits, "the outputs are logits: the cross-entropies apply softmax or sigmoid");
  }
};

struct Train {
  int epochs = 3;
  int64_t max_steps = 0;
  int64_t steps_per_epoch = 0;
  int replicas = 2;
  int64_t batch = 16;
  int64_t accumulate = 1;
  uint64_t seed = 42;
  int threads = 1;
  std::string precision = "fp32";
  std::string exchange = "fp32";
  std::string kernels = "linac";
  std::string device = "cpu";
  double flip = 0.05;
  int64_t discriminator_first = 0;
  Sync sync;
  optimizer::Settings optimizer;
  Schedule schedule;
  EarlyStopping early_stopping;
  Collapse collapse;
  Audit audit;
  Split split;
  Fit fit;

  /// What workers carry: replicas, or the parts of each.
  int pieces() const { return replicas * split.parts(); }

  template <class V>
  void fields(V& v) {
    v("epochs", epochs, "passes over the training data");
    v("max_steps", max_steps, "stop after so many steps in all; 0: no limit");
    v("steps_per_epoch", steps_per_epoch,
      "shortens an epoch, and with data.shuffle_window may make it longer than the set; 0: all events (what is left of "
      "a global batch is skipped)");
    v("replicas", replicas, "logical replicas; they change the result, unlike workers");
    v("batch", batch, "events a replica and step");
    v("accumulate", accumulate,
      "a replica computes its batch in so many slices, one after the other, to need less memory; not for the 3dgan");
    v("seed", seed, "every random number follows from it");
    v("threads", threads, "threads that compute one replica; part of the numerics (LibTorch's dense layers)");
    v("precision", precision,
      "of what is kept between layers and for the backward pass: fp32 or bf16; sums and weights are fp32 in any case");
    v("exchange", exchange,
      "of the sums of gradients over the replicas: fp32, or bf16, which halves what travels between workers");
    v("kernels", kernels, "linac: its own where they apply, or aten: LibTorch's alone, to compare with");
    v("device", device,
      "what computes a replica: cpu, or cuda, an NVIDIA GPU (docs/internals/kernels.md says how to build for it)");
    v("flip", flip, "3dgan: probability that a label of the discriminator's steps is flipped");
    v("discriminator_first", discriminator_first,
      "3dgan: in so many steps at the beginning the discriminator learns alone, so that a trained generator meets no "
      "opponent that knows nothing");
    v("sync", sync, "");
    v("optimizer", optimizer, "");
    v("schedule", schedule, "");
    v("early_stopping", early_stopping, "");
    v("collapse", collapse, "");
    v("audit", audit, "");
    v("split", split, "");
    v("fit", fit, "");
  }
};

/// "train.replicas = 4", or the parts of them: what a worker carries at least one of.
std::string pieces_in_words(const Train& train);

struct Validate {
  int every_epochs = 1;
  int64_t events = 1000;
  double threshold_gev = 1e-4;

  template <class V>
  void fields(V& v) {
    v("every_epochs", every_epochs, "physics figures on the test showers every so many epochs; 0: never");
    v("events", events, "of the first so many test showers");
    v("threshold_gev", threshold_gev, "cells with more energy count as hit");
  }
};

struct Checkpoint {
  int every_epochs = 1;
  double every_minutes = 10;
  int64_t every_steps = 0;
  int keep = 3;
  std::string best_by = "loss", best_mode = "auto";

  template <class V>
  void fields(V& v) {
    v("every_epochs", every_epochs, "0: never by epochs");
    v("every_minutes", every_minutes, "0: never by time");
    v("every_steps", every_steps, "0: never by steps");
    v("keep", keep, "newest checkpoints that stay, the best one apart");
    v("best_by", best_by,
      "what the best checkpoint is best in: loss (3dgan: the generator's; on the test data where there are), another "
      "measure of the training, e.g. auc, or a figure of validate, e.g. fpd");
    v("best_mode", best_mode,
      "whether less or more of best_by is better: min, max, or auto: as linac knows the measure; one of a plug-in's "
      "own "
      "wants min or max");
  }
};

/// How workers are held together; changes nothing in the result.
struct Distribution {
  int workers_min = 1;
  double stall_timeout_s = 300;
  int restarts = 10;
  bool balance = true;
  std::string on_sigterm = "stop";
  int devices_per_worker = 0;

  template <class V>
  void fields(V& v) {
    v("workers_min", workers_min, "a run whose workers are lost goes on while so many are left");
    v("stall_timeout_s", stall_timeout_s,
      "a worker that has made no progress for so long is given up; longer than a replica's part of a step takes");
    v("restarts", restarts, "so many lost workers are started again on this machine");
    v("balance", balance, "replicas move from slow workers to fast ones");
    v("on_sigterm", on_sigterm,
      "`stop`: all end after a checkpoint; `leave`: a worker ends alone and the others go on, if `workers_min` are "
      "left");
    v("devices_per_worker", devices_per_worker,
      "GPUs that a worker drives, for `train.device` cuda; 0: its share of those of its host, a lone worker all");
  }
};

struct Job {
  std::string name = "run";
  Model model;
  Data data;
  Train train;
  Validate validate;
  Checkpoint checkpoint;
  Budget budget;
  Planned plan;
  int workers = 1;
  Distribution distribution;
  std::vector<std::string> secrets;

  template <class V>
  void fields(V& v) {
    v("name", name, "shown in reports");
    v("model", model, "");
    v("data", data, "");
    v("train", train, "");
    v("validate", validate, "");
    v("checkpoint", checkpoint, "");
    v("budget", budget, "");
    v("plan", plan, "");
    v("workers", workers, "local worker processes; never changes the result");
    v("distribution", distribution, "");
    v("secrets", secrets,
      "names of the keys that it needs, e.g. [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY], and never their values: at a "
      "service those of its user (`linac secrets`), else variables of the environment");
  }
};

/// Reads a job file, applies the overrides ("train.epochs=5") and validates. A shorthand is accepted: `train.lr` for
/// `train.optimizer.lr`. Relative paths of the file are looked for beside it and in the working folder (job_paths.h).
/// Throws a user error naming file, line and key.
Job read_job(const std::string& path, const std::vector<std::string>& overrides);
/// The same from text; `where` names it in errors. Without `places` its paths stay as they are.
Job parse_job(const std::string& text, const std::string& where, const std::vector<std::string>& overrides,
              const PathPlaces* places = nullptr);

/// All settings with their types, defaults and help, in the order of the file; those of a kind of model under
/// "model.", with its name (empty: all kinds have it).
struct JobSetting : config::Setting {
  std::string kind;
};
std::vector<JobSetting> job_settings();

/// All settings filled in, as YAML that read_job takes back.
std::string to_yaml(const Job& job);

}  // namespace linac::job
