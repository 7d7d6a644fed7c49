#pragma once
// Targets that a job scales (data.targets with scaling): a training sees them scaled, and what it leaves tells the
// units of the files. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/data/event_table.h"
#include "linac/model/graph/output_units.h"
#include "linac/model/keras/archive.h"

namespace linac::trained {

/// What undoes the scaling of each target, one an output.
std::vector<graph::OutputUnits> units_of(const std::vector<data::ColumnRequest>& targets);
/// The same of a model with so many outputs, by its notes (trained_model.h).
std::vector<graph::OutputUnits> units_in(const nlohmann::json& notes, size_t outputs);

/// The outputs whose targets the job scales give scaled values, as they were trained on, where the file was written
/// with what undoes it.
void to_units_of_training(const job::Job& job, keras::KerasModel& model);

/// User error for a scaled target whose loss wants something else than its value of the output: probabilities of
/// classes, a side of zero. `losses`: one an output, by their full names.
void need_value_losses(const std::vector<data::ColumnRequest>& targets, const std::vector<std::string>& losses,
                       bool from_logits);

}  // namespace linac::trained
