#pragma once
// Everything a training run is at a moment: two networks with their optimisers, the position in the data and the books
// of the epoch. Random numbers need no entry: they follow from seed, rollbacks and position. encode() -> bytes ->
// decode() is the identity, bit by bit.

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/graph/parameters.h"
#include "linac/models/threedgan/threedgan.h"
#include "linac/spec/job.h"
#include "linac/train/optimizer.h"

namespace linac::train {

/// Losses by phase and part; every value is a mean over the events it stands for.
using Parts = std::array<double, models::threedgan::kLossParts>;
using LossTable = std::map<std::string, Parts>;  // "d_real", "d_fake", "g" -> parts

/// What is remembered of a finished epoch.
struct EpochRecord {
  int64_t epoch = 0;
  LossTable train, test;                    // test is empty without test data
  std::map<std::string, double> physics{};  // figures of physics/comparison.h on the test showers, where they were due
};

struct Network {
  graph::Parameters parameters;
  Optimizer optimizer;
};

struct TrainState {
  Network generator, discriminator;
  int64_t epoch =
      0;  // position: the next step is `step` of `epoch`; step == steps an epoch means its end is still to be worked
  int64_t step = 0;
  int64_t global_step = 0;
  int rollbacks = 0;
  LossTable epoch_sums;  // of the steps of this epoch so far
  std::vector<EpochRecord> history;
  double best_value = 0;    // of what checkpoint.best_by names
  int64_t best_epoch = -1;  // -1: none yet
};

/// Before the first step: weights drawn from the job's seed, fresh optimisers.
TrainState initial_state(const spec::Job& job, const models::threedgan::ThreeDGan& model);

/// The bytes of a checkpoint (tensor_file.h). `extra` is kept under "run".
std::string encode(const TrainState& state, const nlohmann::json& extra);

/// Fills `state`, which must have been made for the same model and optimiser. Throws a data error naming `where` if the
/// bytes are damaged or belong to another model.
void decode(std::string_view bytes, const std::string& where, TrainState& state);

nlohmann::json to_json(const LossTable& losses);

}  // namespace linac::train
