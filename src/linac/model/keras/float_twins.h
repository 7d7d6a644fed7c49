#pragma once
// Quantized layers of QKeras (github.com/google/qkeras) and HGQ (github.com/calad0i/HGQ2), read as the float layers
// that they round: the same weights, and values cut where their quantizers end, without the rounding. Pure,
// thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// The node that the quantized layer is without rounding, known by is_float_twin(); nothing for other classes. User
/// error where rounding is the point (binary, ternary, powers of two), or where a value depends on those beside it.
std::optional<graph::Node> float_twin(const std::string& class_name, const nlohmann::json& config);

bool is_float_twin(const graph::Node& node);
/// "d1 (QDense, 6 bits)" of each.
std::vector<std::string> float_twins(const graph::Graph& graph);

}  // namespace linac::keras
