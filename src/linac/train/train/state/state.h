#pragma once
// Everything a training run is at a moment: its networks with their optimisers, the position in the data and the sums
// of the epoch. Random numbers need no entry: they follow from seed, rollbacks and position. encode() -> bytes ->
// decode() is the identity, bit by bit, but for ExchangeState::own, which is no part of the bytes.

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/order/epoch_order.h"
#include "linac/model/primaries/trained_range.h"
#include "linac/train/train/record/measures.h"
#include "linac/train/train/state/exchange_state.h"
#include "linac/train/trained/network.h"

namespace linac::train {

/// What is remembered of a finished epoch.
struct EpochRecord {
  int64_t epoch = 0;
  Measures train, test;  // test is empty without test data
  Measures physics{};    // figures of physics/physics/comparison.h on the test showers, where they were due
};

using trained::Network;

/// Where the last step stands in a windowed order, so that nobody must read the files before it to go on. Of another
/// seed or epoch it says no place.
struct InputPlace {
  uint64_t seed = 0;  // of the order
  int64_t epoch = 0;
  data::WindowPlace window;
  std::optional<primaries::TrainedRange> seen = {};  // of the files of all windows so far, where they are showers
};

/// Whose state it is. Runs whose job computes the same have the same: so have their states, bit by bit.
struct Lineage {
  std::string id;         // empty in checkpoints of an older linac
  std::string branch_of;  // the run whose checkpoint this one began from; empty: none
};

struct TrainState {
  std::vector<Network> networks;
  int64_t epoch =
      0;  // position: the next step is `step` of `epoch`; step == steps an epoch means its end is still to be worked
  int64_t step = 0;
  int64_t global_step = 0;
  int rollbacks = 0;
  std::optional<InputPlace> input;  // of the last step, where the order is a windowed one
  Measures epoch_sums;              // of the steps of this epoch so far
  std::vector<EpochRecord> history;
  ExchangeState exchange;   // behind the last update
  double best_value = 0;    // of what checkpoint.best_by names
  int64_t best_epoch = -1;  // -1: none yet
  Lineage lineage;
};

/// The bytes of a checkpoint (base/weights/tensor_file.h). `extra` is kept under "run".
std::string encode(const TrainState& state, const nlohmann::json& extra);

/// The same bytes in pieces, in their order, without a copy of the networks.
void tell_encoded(const TrainState& state, const nlohmann::json& extra,
                  const std::function<void(std::span<const std::byte>)>& take);

/// All of a state but the values of its networks and of exchange.shared, and back: a data error naming `where` if that
/// is no such text. Those of exchange.shared have their names and sizes then, and exchange.own is empty.
std::string position_text(const TrainState& state);
void set_position(const std::string& text, const std::string& where, TrainState& state);
/// These values, in an order that is the same for all states of a model and optimiser.
std::vector<std::span<float>> values_of(std::vector<Network>& networks);
std::vector<std::span<const float>> values_of(const std::vector<Network>& networks);
std::vector<std::span<float>> values_of(ExchangeState::Values& values);

/// The epoch that a checkpoint is the end of; nothing of one in the midst of an epoch. Data error as decode().
std::optional<EpochRecord> epoch_end_in(std::string_view bytes, const std::string& where);
/// Whether they are of the same epoch with the same measures, that is of the same state.
bool same_epoch(const EpochRecord& one, const EpochRecord& other);

/// That `extra`. Data error as decode().
nlohmann::json notes_of(std::string_view bytes, const std::string& where);

/// Fills `state`, which must have been made for the same model and optimiser. Throws a data error naming `where` if the
/// bytes are damaged or belong to another model.
void decode(std::string_view bytes, const std::string& where, TrainState& state);

}  // namespace linac::train
