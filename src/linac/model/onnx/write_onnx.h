#pragma once
// Models in the ONNX format, which onnxruntime and the fast simulations of experiments evaluate: what a graph computes
// in inference, with a free batch axis. Inputs and outputs have the names and axes of the Keras model, so an .onnx file
// takes the arrays of the .keras file; all inputs are float32. Thread-safe functions.

#include <filesystem>
#include <map>
#include <string>

#include "linac/model/graph/graph.h"
#include "linac/model/onnx/model.h"

namespace linac::onnx {

/// Entries of the model's metadata_props, which runtimes hand out.
using Metadata = std::map<std::string, std::string>;

/// The graph in ONNX's operators; one output for each node that is one, also if it is named twice. User error naming
/// the layer that cannot be expressed. Sizes that the graph leaves open (model/graph/open_sizes.h) are free in the
/// model where its operators do not depend on them, else those that the graph has.
Model to_onnx(const graph::Graph& graph, const graph::WeightValues& weights, Metadata metadata);

/// Whether an input has a free size besides the batch.
bool has_free_sizes(const Model& model);

/// The same as a file, replacing `path` as a whole or not at all; equal models are equal files. Environment error if it
/// cannot be written.
void write_onnx(const graph::Graph& graph, const graph::WeightValues& weights, const std::filesystem::path& path,
                const Metadata& metadata);

}  // namespace linac::onnx
