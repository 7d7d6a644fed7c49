#pragma once
// Models with quantized layers, which are read as float ones (model/keras/float_twins.h): they predict, and do not
// train. Thread-safe functions.

#include <filesystem>

#include "linac/model/graph/graph.h"

namespace linac::trained {

/// Says in the log what is not rounded.
void warn_of_twins(const graph::Graph& graph, const std::filesystem::path& file);
/// User error if there are any.
void need_no_twins(const graph::Graph& graph, const std::filesystem::path& file);

}  // namespace linac::trained
