#include "linac/model/graph/split/reach.h"

#include <algorithm>
#include <set>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/window.h"

namespace linac::graph {
namespace {

using Kind = Reach::Kind;
using Rule = std::optional<Reach> (*)(const Node& node, const Shape& input);

// Of whole numbers, towards below and above.
int64_t floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}
int64_t ceil_div(int64_t a, int64_t b) {
  return -floor_div(-a, b);
}

/// Cells that the layer's padding puts before each axis.
std::vector<int64_t> padding_before(const Node& node, const Window& window, const Shape& input) {
  std::vector<int64_t> before;
  const std::string padding = text(node, "padding", "valid");
  for (size_t axis = 0; axis < window.size.size(); ++axis) {
    before.push_back(padding == "causal" ? window.reach(axis) - 1
                     : padding == "same" ? window.same_padding(axis, input[axis], node.output[axis]) / 2
                                         : 0);
  }
  return before;
}

std::optional<Reach> window_reach(const Node& node, const Shape& input, const Window& window, bool lowest) {
  return Reach{.kind = Kind::kWindow,
               .needed =
                   [window, before = padding_before(node, window, input)](size_t axis, const Cells& output) {
                     const int64_t stride = window.strides[axis];
                     return Cells{output.begin * stride - before[axis],
                                  (output.end - 1) * stride - before[axis] + window.reach(axis)};
                   },
               .lowest_outside = lowest};
}

std::optional<Reach> convolution(const Node& node, const Shape& input) {
  return window_reach(node, input, conv_window(node, input.size() - 1), false);
}

std::optional<Reach> pooling(const Node& node, const Shape& input) {
  return window_reach(node, input, pool_window(node, input.size() - 1), node.op.starts_with("Max"));
}

// Output cell i * stride + k * dilation - cut is what input cell i adds to by cell k of the kernel.
std::optional<Reach> transposed(const Node& node, const Shape& input) {
  const Window window = conv_window(node, input.size() - 1);
  std::vector<int64_t> cut;
  for (size_t axis = 0; axis + 1 < input.size(); ++axis) {
    const int64_t surplus = (input[axis] - 1) * window.strides[axis] + window.reach(axis) - node.output[axis];
    cut.push_back(pads_same(node) && surplus > 0 ? surplus / 2 : 0);
  }
  return Reach{
      .kind = Kind::kSpread,
      .needed =
          [window, cut](size_t axis, const Cells& output) {
            const int64_t stride = window.strides[axis];
            return Cells{std::min(ceil_div(output.begin + cut[axis] - window.reach(axis) + 1, stride),
                                  floor_div(output.begin + cut[axis], stride)),
                         floor_div(output.end - 1 + cut[axis], stride) + 1};
          },
      .first_output = [window, cut](size_t axis, int64_t cell) { return cell * window.strides[axis] - cut[axis]; }};
}

std::optional<Reach> up_sampling(const Node& node, const Shape& input) {
  if (text(node, "interpolation", "nearest") != "nearest") return std::nullopt;
  const auto size = extents(node, "size", input.size() - 1, 2);
  return Reach{.kind = Kind::kSpread,
               .needed =
                   [size](size_t axis, const Cells& output) {
                     return Cells{output.begin / size[axis], ceil_div(output.end, size[axis])};
                   },
               .first_output = [size](size_t axis, int64_t cell) { return cell * size[axis]; }};
}

std::optional<Reach> moved_by(const Node& node, const Shape& input) {
  const bool padding = node.op.starts_with("Zero");
  const auto cells = margins(node, padding ? "padding" : "cropping", input.size() - 1);
  return Reach{.kind = Kind::kMoved, .needed = [cells, padding](size_t axis, const Cells& output) {
                 const int64_t by = padding ? -cells[axis][0] : cells[axis][0];
                 return Cells{output.begin + by, output.end + by};
               }};
}

std::optional<Reach> cell(const Node&, const Shape&) {
  return Reach{.kind = Kind::kCell};
}

/// Whether the node's axis is the channels.
bool is_of_channels(const Node& node, const Shape& input) {
  return axes_of(node, "axis", input.size(), -1) == std::vector<size_t>{input.size() - 1};
}

std::optional<Reach> along_channels(const Node& node, const Shape& input) {
  return is_of_channels(node, input) ? cell(node, input) : std::nullopt;
}

std::optional<Reach> batch_normalization(const Node& node, const Shape& input) {
  if (!is_of_channels(node, input)) return std::nullopt;
  return Reach{.kind = Kind::kStatistics};
}

std::optional<Reach> draw(const Node&, const Shape&) {
  return Reach{.kind = Kind::kDraw};
}

// One number a channel, or some along the cells.
std::optional<Reach> prelu(const Node& node, const Shape& input) {
  const Shape& alpha = node.weights.at(0).shape;
  for (size_t axis = 0; axis + 1 < input.size(); ++axis)
    if (alpha[axis] != 1) return std::nullopt;
  return cell(node, input);
}

std::optional<Reach> global_average(const Node&, const Shape&) {
  return Reach{.kind = Kind::kSum};
}
std::optional<Reach> global_max(const Node&, const Shape&) {
  return Reach{.kind = Kind::kMax};
}

struct NamedRule {
  const char* prefix;  // of the class's name: the number of axes follows
  Rule rule;
};

// Classes of one to three axes.
constexpr NamedRule kOfAxes[] = {{"Conv", convolution},
                                 {"DepthwiseConv", convolution},
                                 {"SeparableConv", convolution},
                                 {"MaxPooling", pooling},
                                 {"AveragePooling", pooling},
                                 {"UpSampling", up_sampling},
                                 {"ZeroPadding", moved_by},
                                 {"Cropping", moved_by},
                                 {"GlobalAveragePooling", global_average},
                                 {"GlobalMaxPooling", global_max},
                                 {"SpatialDropout", cell}};

Rule rule_of(const std::string& op) {
  static const std::set<std::string> cells{"Activation",
                                           "ReLU",
                                           "LeakyReLU",
                                           "ELU",
                                           "Rescaling",
                                           "Add",
                                           "Subtract",
                                           "Multiply",
                                           "Average",
                                           "Maximum",
                                           "Minimum",
                                           "Dense",
                                           "ActivityRegularization",
                                           "ops.Add",
                                           "ops.Subtract",
                                           "ops.Multiply",
                                           "ops.Divide",
                                           "ops.Negative",
                                           "ops.Square",
                                           "ops.Absolute",
                                           "ops.Relu",
                                           "ops.Exp",
                                           "ops.Tanh",
                                           "ops.Sigmoid",
                                           "ops.Silu",
                                           "ops.Clip",
                                           "ops.Maximum",
                                           "ops.Minimum",
                                           "ops.Sqrt",
                                           "ops.LeakyRelu",
                                           "ops.TrueDivide"};
  static const std::set<std::string> channels{"Softmax",           "LayerNormalization", "RMSNormalization",
                                              "UnitNormalization", "Normalization",      "Concatenate"};
  static const std::set<std::string> draws{"Dropout", "GaussianDropout", "AlphaDropout", "GaussianNoise"};
  if (cells.contains(op)) return cell;
  if (channels.contains(op)) return along_channels;
  if (draws.contains(op)) return draw;
  if (op == "BatchNormalization") return batch_normalization;
  if (op == "PReLU") return prelu;
  for (const NamedRule& of : kOfAxes) {
    for (const char* axes : {"1D", "2D", "3D"}) {
      if (op == std::string(of.prefix) + axes) return of.rule;
      if (op == std::string("Conv") + axes + "Transpose") return transposed;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Reach> reach_of(const Node& node, const std::vector<Shape>& inputs) {
  const Rule rule = rule_of(node.op);
  if (rule == nullptr || node.mask >= 0 || !node.more.empty()) return std::nullopt;
  const auto reach = rule(node, inputs[0]);
  if (!reach || reach->kind != Kind::kCell) return reach;
  // One axis of the result must be one of each input's, or a single cell of it.
  const bool alike = std::ranges::all_of(inputs, [&](const Shape& input) {
    return input.size() == node.output.size() &&
           std::equal(input.begin(), input.end() - 1, node.output.begin(),
                      [](int64_t in, int64_t out) { return in == out || in == 1; });
  });
  return alike ? reach : std::nullopt;
}

}  // namespace linac::graph
