#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/layers/window.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

Window window_of(const Node& node, const Shape& in, size_t axes) {
  need_rank(node, in, axes + 1);
  need_channels_last(node);
  check_activation(node);
  return conv_window(node, axes);
}

bool pads_causally(const Node& node, size_t axes) {
  return axes == 1 && text(node, "padding", "valid") == "causal";
}

int64_t window_positions(const Node& node, const Window& window, int64_t in, size_t axis, size_t axes) {
  return window.positions(axis, in, pads_causally(node, axes) || pads_same(node));
}

Shape with_channels(const Window& window, int64_t in, int64_t out) {
  Shape shape = window.size;
  shape.insert(shape.end(), {in, out});
  return shape;
}

template <size_t Axes>
void infer_conv(Node& node, const std::vector<Shape>& inputs) {
  const Shape& in = inputs[0];
  const Window window = window_of(node, in, Axes);
  const int64_t filters = integer(node, "filters"), groups = integer(node, "groups", 1);
  if (in.back() % groups != 0 || filters % groups != 0)
    refuse(node, fmt::format("{} groups do not divide {} channels and {} filters", groups, in.back(), filters));
  node.output = in;
  for (size_t axis = 0; axis < Axes; ++axis) node.output[axis] = window_positions(node, window, in[axis], axis, Axes);
  node.output.back() = filters;
  add_kernel_and_bias(node, with_channels(window, in.back() / groups, filters), {filters});
}

template <size_t Axes>
void infer_conv_transpose(Node& node, const std::vector<Shape>& inputs) {
  const Shape& in = inputs[0];
  const Window window = window_of(node, in, Axes);
  const int64_t filters = integer(node, "filters");
  const bool same = pads_same(node);
  const auto extra = node.attributes.find("output_padding");
  const bool padded = extra != node.attributes.end() && !extra->is_null();
  node.output = in;
  for (size_t axis = 0; axis < Axes; ++axis) {
    const int64_t stride = window.strides[axis], reach = window.reach(axis);
    if (padded) {
      const int64_t more = margins(node, "output_padding", Axes)[axis][0];
      if (more >= stride) refuse(node, "'output_padding' must be less than 'strides'");
      node.output[axis] = (in[axis] - 1) * stride + reach - (same ? reach / 2 * 2 : 0) + more;
    } else {
      node.output[axis] = in[axis] * stride + (same ? 0 : std::max<int64_t>(reach - stride, 0));
    }
  }
  node.output.back() = filters;
  add_kernel_and_bias(node, with_channels(window, filters, in.back()), {filters});
}

template <size_t Axes>
void infer_depthwise(Node& node, const std::vector<Shape>& inputs) {
  const Shape& in = inputs[0];
  const Window window = window_of(node, in, Axes);
  const int64_t multiplier = integer(node, "depth_multiplier", 1);
  node.output = in;
  for (size_t axis = 0; axis < Axes; ++axis) node.output[axis] = window_positions(node, window, in[axis], axis, Axes);
  node.output.back() = in.back() * multiplier;
  node.weights.push_back({"kernel", with_channels(window, in.back(), multiplier),
                          text(node, "depthwise_initializer", "glorot_uniform"), true});
  if (flag(node, "use_bias", true))
    node.weights.push_back({"bias", {node.output.back()}, text(node, "bias_initializer", "zeros"), true});
}

template <size_t Axes>
void infer_separable(Node& node, const std::vector<Shape>& inputs) {
  infer_depthwise<Axes>(node, inputs);
  const int64_t between = node.output.back(), filters = integer(node, "filters");
  node.weights.resize(1);
  node.weights[0].name = "depthwise_kernel";
  Shape pointwise(Axes, 1);
  pointwise.insert(pointwise.end(), {between, filters});
  node.weights.push_back({"pointwise_kernel", pointwise, text(node, "pointwise_initializer", "glorot_uniform"), true});
  if (flag(node, "use_bias", true))
    node.weights.push_back({"bias", {filters}, text(node, "bias_initializer", "zeros"), true});
  node.output.back() = filters;
}

double kernel_cells(const Node& node) {
  const Shape& kernel = node.weights.empty() ? node.output : node.weights[0].shape;
  return static_cast<double>(std::accumulate(kernel.begin(), kernel.end() - 2, int64_t{1}, std::multiplies<>()));
}

double flop_conv(const Node& node, const Shape& input) {
  const auto groups = static_cast<double>(integer(node, "groups", 1));
  double taps = 1;
  for (const int64_t extent : extents(node, "kernel_size", input.size() - 1)) taps *= static_cast<double>(extent);
  return 2.0 * static_cast<double>(elements(node.output)) * static_cast<double>(input.back()) / groups * taps;
}

double flop_conv_transpose(const Node& node, const Shape& input) {
  return 2.0 * static_cast<double>(elements(input)) * static_cast<double>(node.output.back()) * kernel_cells(node);
}

double flop_depthwise(const Node& node, const Shape&) {
  return 2.0 * static_cast<double>(elements(node.output)) * kernel_cells(node);
}

double flop_separable(const Node& node, const Shape& input) {
  const double positions = static_cast<double>(elements(node.output)) / static_cast<double>(node.output.back());
  const double between = static_cast<double>(input.back() * integer(node, "depth_multiplier", 1));
  return 2.0 * positions * between * (kernel_cells(node) + static_cast<double>(node.output.back()));
}

std::vector<Setting> with(std::vector<Setting> settings, const std::vector<Setting>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

}  // namespace

std::vector<LayerKind> convolution_layers() {
  const auto common = [](const json& ones) {
    return std::vector<Setting>{{"kernel_size", kKept, nullptr}, {"strides", kKept, ones},
                                {"padding", kKept, "valid"},     {"data_format", kKept, "channels_last"},
                                {"dilation_rate", kKept, ones},  {"activation", kActivation, "linear"},
                                {"use_bias", kKept, true},       {"bias_initializer", kInitializer, "zeros"}};
  };
  const std::vector<Setting> plain{
      {"filters", kKept, nullptr}, {"groups", kKept, 1}, {"kernel_initializer", kInitializer, "glorot_uniform"}};
  const std::vector<Setting> transposed{{"filters", kKept, nullptr},
                                        {"output_padding", kKept, nullptr},
                                        {"kernel_initializer", kInitializer, "glorot_uniform"}};
  // Of the settings that a depthwise layer inherits, these mean nothing.
  const std::vector<Setting> depthwise{{"depth_multiplier", kKept, 1},
                                       {"depthwise_initializer", kInitializer, "glorot_uniform"},
                                       {"filters", kIgnored, nullptr},
                                       {"groups", kIgnored, 1},
                                       {"kernel_initializer", kIgnored, nullptr},
                                       {"rank", kIgnored, nullptr}};
  const std::vector<Setting> separable{{"filters", kKept, nullptr},
                                       {"depth_multiplier", kKept, 1},
                                       {"depthwise_initializer", kInitializer, "glorot_uniform"},
                                       {"pointwise_initializer", kInitializer, "glorot_uniform"},
                                       {"groups", kIgnored, 1},
                                       {"kernel_initializer", kIgnored, nullptr},
                                       {"rank", kIgnored, nullptr}};
  const json one = {1}, two = {1, 1}, three = {1, 1, 1};
  return {
      {"Conv1D", 1, infer_conv<1>, flop_conv, with(plain, common(one))},
      {"Conv2D", 1, infer_conv<2>, flop_conv, with(plain, common(two))},
      {"Conv3D", 1, infer_conv<3>, flop_conv, with(plain, common(three))},
      {"Conv1DTranspose", 1, infer_conv_transpose<1>, flop_conv_transpose, with(transposed, common(one))},
      {"Conv2DTranspose", 1, infer_conv_transpose<2>, flop_conv_transpose, with(transposed, common(two))},
      {"Conv3DTranspose", 1, infer_conv_transpose<3>, flop_conv_transpose, with(transposed, common(three))},
      {"DepthwiseConv1D", 1, infer_depthwise<1>, flop_depthwise, with(depthwise, common(one))},
      {"DepthwiseConv2D", 1, infer_depthwise<2>, flop_depthwise, with(depthwise, common(two))},
      {"SeparableConv1D", 1, infer_separable<1>, flop_separable, with(separable, common(one))},
      {"SeparableConv2D", 1, infer_separable<2>, flop_separable, with(separable, common(two))},
  };
}

}  // namespace linac::graph
