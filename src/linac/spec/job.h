#pragma once
// The job file: one struct behind `linac train job.yaml`, `linac check` and every `--set`. A plain value; what ran is
// written down resolved (all defaults filled in) as job.yaml of the run's folder, and is enough to repeat it.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/config.h"

namespace linac::spec {

struct Model {
  std::string kind = "3dgan";
  int64_t latent = 256;
  double power = 0.85;

  template <class V>
  void fields(V& v) {
    v("kind", kind, "which model: 3dgan");
    v("latent", latent, "length of the generator's input: energy, angle and latent - 2 random numbers");
    v("power", power, "cells are raised to this power before training, which narrows their range");
  }
};

struct DataFields {
  std::string image = "ECAL", energy = "energy", angle = "theta";

  template <class V>
  void fields(V& v) {
    v("image", image, "HDF5 data set of the cells, GeV [events, x, y, z]");
    v("energy", energy, "HDF5 data set of the primary energy, GeV [events]");
    v("angle", angle, "HDF5 data set of the polar angle, rad [events]");
  }
};

struct Data {
  std::vector<std::string> train, test;
  DataFields names;
  double scale = 50;
  double threshold = 1e-4;
  double min_sum = 1;
  int prefetch = 3;

  template <class V>
  void fields(V& v) {
    v("train", train, "files, globs or URLs to train on (HDF5 or TFRecord)");
    v("test", test, "files, globs or URLs for the test losses of each epoch; may be empty");
    v("fields", names, "what the columns are called");
    v("scale", scale, "training units a GeV");
    v("threshold", threshold, "cells below are set to 0 (scaled units)");
    v("min_sum", min_sum, "events whose cells sum to this or less are dropped (scaled units)");
    v("prefetch", prefetch, "batches read ahead; bounds the memory of the input");
  }
};

struct Optimizer {
  std::string name = "rmsprop";
  double lr = 1e-3;
  double rho = 0.9;
  double beta_1 = 0.9, beta_2 = 0.999;
  double epsilon = 1e-7;
  double global_clipnorm = 0;
  double clipvalue = 0;

  template <class V>
  void fields(V& v) {
    v("name", name, "rmsprop or adam");
    v("lr", lr, "learning rate");
    v("rho", rho, "rmsprop: decay of the mean square");
    v("beta_1", beta_1, "adam: decay of the mean");
    v("beta_2", beta_2, "adam: decay of the mean square");
    v("epsilon", epsilon, "keeps the division finite");
    v("global_clipnorm", global_clipnorm,
      "gradients longer than this (all weights of a network together) are shortened to it; 0: off");
    v("clipvalue", clipvalue, "each gradient value is cut to +-this; 0: off");
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

struct Schedule {
  std::string scale_with_replicas = "none";
  double warmup_epochs = 0;
  std::vector<LearningRateDrop> drops;

  template <class V>
  void fields(V& v) {
    v("scale_with_replicas", scale_with_replicas,
      "none, linear or sqrt: how the rate grows with the number of replicas");
    v("warmup_epochs", warmup_epochs, "epochs over which the rate rises linearly from near 0");
    v("drops", drops, "list of {epoch, factor}");
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

struct Train {
  int epochs = 3;
  int64_t max_steps = 0;
  int64_t steps_per_epoch = 0;
  int replicas = 2;
  int64_t batch = 16;
  uint64_t seed = 42;
  int threads = 1;
  std::string precision = "fp32";
  std::string kernels = "linac";
  std::string device = "cpu";
  double flip = 0.05;
  Optimizer optimizer;
  Schedule schedule;
  Collapse collapse;

  template <class V>
  void fields(V& v) {
    v("epochs", epochs, "passes over the training data");
    v("max_steps", max_steps, "stop after so many steps in all; 0: no limit");
    v("steps_per_epoch", steps_per_epoch,
      "shortens an epoch; 0: all events (what is left of a global batch is skipped)");
    v("replicas", replicas, "logical replicas: part of the mathematics, unlike workers");
    v("batch", batch, "events a replica and step");
    v("seed", seed, "every random number follows from it");
    v("threads", threads, "threads that compute one replica; part of the numerics (LibTorch's dense layers)");
    v("precision", precision, "of what is kept between layers: fp32 or bf16; sums and weights are fp32 in any case");
    v("kernels", kernels, "linac: its own where they apply, or aten: LibTorch's alone, to compare with");
    v("device", device,
      "what computes a replica: cpu, or cuda, an NVIDIA GPU (docs/kernels.md says how to build for it)");
    v("flip", flip, "probability that a label of the discriminator's steps is flipped");
    v("optimizer", optimizer, "");
    v("schedule", schedule, "");
    v("collapse", collapse, "");
  }
};

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
  std::string best_by = "loss";

  template <class V>
  void fields(V& v) {
    v("every_epochs", every_epochs, "0: never by epochs");
    v("every_minutes", every_minutes, "0: never by time");
    v("every_steps", every_steps, "0: never by steps");
    v("keep", keep, "newest checkpoints that stay, the best one apart");
    v("best_by", best_by,
      "what the best checkpoint is the lowest in: loss (the generator's, on the test showers), or a figure of "
      "validate, "
      "e.g. fpd");
  }
};

struct Job {
  std::string name = "run";
  Model model;
  Data data;
  Train train;
  Validate validate;
  Checkpoint checkpoint;
  int workers = 1;

  template <class V>
  void fields(V& v) {
    v("name", name, "shown in reports");
    v("model", model, "");
    v("data", data, "");
    v("train", train, "");
    v("validate", validate, "");
    v("checkpoint", checkpoint, "");
    v("workers", workers, "local worker processes; never changes the result");
  }
};

/// Reads a job file, applies the overrides ("train.epochs=5") and validates. A shorthand is accepted: `train.lr` for
/// `train.optimizer.lr`. Throws a user error naming file, line and key.
Job read_job(const std::string& path, const std::vector<std::string>& overrides);
/// The same from text; `where` names it in errors.
Job parse_job(const std::string& text, const std::string& where, const std::vector<std::string>& overrides);

/// All settings filled in, as YAML that read_job takes back.
std::string to_yaml(const Job& job);

}  // namespace linac::spec
