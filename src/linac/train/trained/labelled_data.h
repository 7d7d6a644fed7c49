#pragma once
// Which columns of the files a model's inputs and targets read, as a job says it. Pure but for reading files.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/data/event_table.h"
#include "linac/model/graph/graph.h"
#include "linac/model/models/supervised.h"

namespace linac::trained {

/// What reads one column, or several that are joined; their scaling is not said.
data::ColumnRequest request_of(const std::vector<std::string>& columns, const graph::Shape& shape);

/// One request an input, in the model's order: the column that data.inputs names for it, or the one called like the
/// input; padded with what a Masking of another value than 0 hides. User error for a name that the model does not have.
std::vector<data::ColumnRequest> input_columns(const job::Job& job, const graph::Graph& model);

/// Of each input, in the model's order, the shape that data.inputs gives; empty for none.
std::vector<graph::Shape> given_shapes(const job::Job& job, const graph::Graph& model);

/// What the events have beside the inputs, by output.
using Targets = std::vector<models::Supervised::Target>;

/// What pads the lists of rows that such an input reads: what a Masking behind it hides, or zeros.
void set_padding(const graph::Graph& model, std::vector<data::ColumnRequest>& inputs);

/// One request a target: data.targets by the output's name, or one after the other.
std::vector<data::ColumnRequest> target_columns(const job::Job& job, const graph::Graph& model, const Targets& targets);

/// Of each output, whether the job scales its target: the one of its name, or the next one. Names that the model does
/// not have are another's to refuse.
std::vector<bool> scaled_targets(const job::Job& job, const graph::Graph& model);

/// What weighs events by the column or formula `setting`: a number each; where all outputs with a target are sequences
/// of as many steps, and the first of the files has a list there, a number for each of those. Data errors as
/// data::open_table_reader.
data::ColumnRequest weight_request(const std::string& setting, const std::vector<graph::Shape>& outputs,
                                   const std::vector<std::string>& urls, const data::Transform& transform);

/// All that a fit reads: input_columns(), target_columns() and, if the job names one, the weight of the events.
std::vector<data::ColumnRequest> fit_columns(const job::Job& job, const graph::Graph& model, const Targets& targets);

/// What texts mean as target `number`, that of `output`: the classes that the job names for them, or those of the
/// files. Nothing where numbers alone are read: the loss is none of classes, or the target is joined or scaled, or has
/// several places. `target`: its request without that.
std::optional<data::TextClasses> text_classes(const job::Job& job, size_t number, const graph::Node& output,
                                              const std::string& loss, const data::ColumnRequest& target);

/// The names of the classes that an output tells apart, by a model's notes (trained_model.h); empty if they name none,
/// or another number than `wanted`.
std::vector<std::string> classes_in(const nlohmann::json& notes, size_t output, size_t wanted);

/// How many of `events` train where the last `share` of them tests: floor(events * (1 - share)), as Keras counts them.
/// Data error if that leaves no event on a side.
int64_t events_before_split(int64_t events, double share);

/// Events [first, first + events) of a batch of fit_columns(). Borrows the batch.
models::LabelledEvents slice(const models::Supervised& model, const data::TableBatch& batch, int64_t first,
                             int64_t events);

/// Columns with their scaling, for the linac.json of an exported model: whoever has the file can feed it. And back.
nlohmann::json to_json(const std::vector<data::ColumnRequest>& columns);
std::vector<data::ColumnRequest> columns_from_json(const nlohmann::json& json);

}  // namespace linac::trained
