#pragma once
// What a job makes of its events before a model sees them, and what of that belongs to the model. Computed columns and
// the order and length of lists are part of what its inputs mean: linac.json has them, and predict and evaluate apply
// them. Which events were selected, and into which part of a split they fell, belongs to the training: linac.json has
// it, and it is applied where somebody asks. Thread-safe functions.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "linac/base/job/job.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/transform/transform.h"

namespace linac::trained {

/// Of the training's events (Part::kTrain where there is a split). `columns`: all that it reads; without
/// data.split.key they are the key, but for those that may hold texts.
data::Transform transform_of(const job::Job& job, std::span<const data::ColumnRequest> columns);

/// The same for the events that train alone: of those, these that data.train_filter selects.
data::Transform of_training_alone(const job::Job& job, data::Transform transform);

/// The column that a setting for weights names. A formula names one that is called like itself, which the transform
/// gets.
std::string weight_column(const std::string& setting);
void define_weight(const std::string& setting, data::Transform& transform);

/// Of a model's notes; empty if they have none.
data::Transform transform_in(const nlohmann::json& notes);

}  // namespace linac::trained
