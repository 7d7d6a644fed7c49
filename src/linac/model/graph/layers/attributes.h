#pragma once
// Reading the attributes of a node, which come from files: each function checks what it returns and throws a user error
// that names the layer. Pure, thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Of one attribute: its product with an extent of a bounded shape does not overflow.
constexpr int64_t kAttributeMax = int64_t{1} << 22;

[[noreturn]] void refuse(const Node& node, const std::string& why);

/// In 1 to kAttributeMax; `otherwise` where absent, an error if that is empty.
int64_t integer(const Node& node, const std::string& attribute, std::optional<int64_t> otherwise = {});
double number(const Node& node, const std::string& attribute, double otherwise);
bool flag(const Node& node, const std::string& attribute, bool otherwise);
std::string text(const Node& node, const std::string& attribute, const std::string& otherwise);
/// As many extents as `axes`, from an integer or a list, each in 1 to kAttributeMax.
std::vector<int64_t> extents(const Node& node, const std::string& attribute, size_t axes,
                             std::optional<int64_t> otherwise = {});
/// Cells before and behind each of `axes` axes, in 0 to kAttributeMax, from an integer, a list of integers or of pairs;
/// for one axis also from one pair.
std::vector<std::array<int64_t, 2>> margins(const Node& node, const std::string& attribute, size_t axes);
/// Axes of a shape without the batch axis, from Keras's numbers, which count it (-1 is the last, 1 the first of the
/// shape); sorted.
std::vector<size_t> axes_of(const Node& node, const std::string& attribute, size_t rank, int64_t otherwise);
size_t axis_of(const Node& node, const nlohmann::json& axis, size_t rank);

void need_rank(const Node& node, const Shape& input, size_t rank);
/// "channels_last" or nothing.
void need_channels_last(const Node& node);
/// "valid" or "same"
bool pads_same(const Node& node);

/// The names that nn knows: "relu", "tanh", ...
const std::vector<std::string>& activation_names();
void check_activation(const Node& node, const std::string& attribute = "activation",
                      const std::string& otherwise = "linear");

/// A kernel of that shape, and a bias unless use_bias is off.
void add_kernel_and_bias(Node& node, Shape kernel, Shape bias);

}  // namespace linac::graph
