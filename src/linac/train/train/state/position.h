#pragma once
// The metadata of a checkpoint: all of a state but its values, and the notes of who wrote it. They may come from
// another version, a damaged disk or a stranger, so each is looked at before it is believed: what is read here stands
// for a state that a training could have.

#include <nlohmann/json.hpp>
#include <string>

#include "linac/train/train/state/state.h"

namespace linac::train {

/// The metadata: numbers that are none (a measure of no event) are null.
nlohmann::json position_json(const TrainState& state);

/// The way back: all of a state but the values of its networks and `exchange`. Data error naming `where`, after which
/// the state is of no use.
void set_from_meta(const nlohmann::json& meta, const std::string& where, TrainState& state);

}  // namespace linac::train
