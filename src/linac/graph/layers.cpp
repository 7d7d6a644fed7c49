#include "linac/graph/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/nearest.h"
#include "linac/graph/passes/chain_convolutions.h"

namespace linac::graph {
namespace {

// Of one attribute: its product with an extent of a bounded shape does not overflow.
constexpr int64_t kAttributeMax = int64_t{1} << 22;

[[noreturn]] void refuse(const Node& node, const std::string& why) {
  throw user_error(fmt::format("[graph] layer '{}' ({}): {}", node.name, node.op, why));
}

int64_t integer(const Node& node, const std::string& attribute) {
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end() || !found->is_number_integer())
    refuse(node, fmt::format("'{}' must be an integer", attribute));
  const auto value = found->get<int64_t>();
  if (value < 1 || value > kAttributeMax)
    refuse(node, fmt::format("'{}' must be in 1 to {}", attribute, kAttributeMax));
  return value;
}

std::string text(const Node& node, const std::string& attribute, const std::string& otherwise) {
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end() || found->is_null()) return otherwise;
  if (found->is_string()) return found->get<std::string>();
  // Keras also writes initialisers as objects: {"class_name": "HeUniform", ...}; the reader turns those into names.
  refuse(node, fmt::format("'{}' must be a name", attribute));
}

void need_rank(const Node& node, const Shape& input, size_t rank) {
  if (input.size() != rank) refuse(node, fmt::format("needs an input of {} axes, got {}", rank, to_string(input)));
}

void need_default(const Node& node, const std::string& attribute, const nlohmann::json& only) {
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end() || found->is_null() || *found == only) return;
  refuse(node, fmt::format("'{}' = {} is not supported (only {})", attribute, found->dump(), only.dump()));
}

bool use_bias(const Node& node) {
  return node.attributes.value("use_bias", true);
}

void check_activation(const Node& node) {
  static const std::vector<std::string> known{"linear", "relu", "sigmoid", "tanh"};
  const std::string name = text(node, "activation", "linear");
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    refuse(node, fmt::format("activation '{}' is not supported (only {})", name, fmt::join(known, ", ")));
  }
}

void add_kernel_and_bias(Node& node, Shape kernel, int64_t outputs) {
  node.weights.push_back({"kernel", std::move(kernel), text(node, "kernel_initializer", "glorot_uniform"), true});
  if (use_bias(node)) node.weights.push_back({"bias", {outputs}, text(node, "bias_initializer", "zeros"), true});
}

void infer_input(Node& node, const std::vector<Shape>&) {
  const auto found = node.attributes.find("shape");
  if (found == node.attributes.end() || !found->is_array()) refuse(node, "'shape' must be a list");
  node.output = found->get<Shape>();
}

void infer_dense(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 1);
  check_activation(node);
  const int64_t units = integer(node, "units");
  node.output = {units};
  add_kernel_and_bias(node, {inputs[0][0], units}, units);
}

double flop_dense(const Node& node, const Shape& input) {
  return 2.0 * static_cast<double>(input[0]) * static_cast<double>(node.output[0]);
}

void infer_conv3d(Node& node, const std::vector<Shape>& inputs) {
  const Shape& in = inputs[0];
  need_rank(node, in, 4);
  check_activation(node);
  need_default(node, "strides", nlohmann::json::array({1, 1, 1}));
  need_default(node, "dilation_rate", nlohmann::json::array({1, 1, 1}));
  need_default(node, "groups", 1);
  need_default(node, "data_format", "channels_last");
  const Extent3 kernel = extent3(node, "kernel_size");
  const int64_t filters = integer(node, "filters");
  const std::string padding = text(node, "padding", "valid");
  if (padding != "valid" && padding != "same")
    refuse(node, fmt::format("padding '{}' is neither valid nor same", padding));
  node.output = in;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (padding == "valid") node.output[axis] = in[axis] - kernel[axis] + 1;
  }
  node.output[3] = filters;
  add_kernel_and_bias(node, {kernel[0], kernel[1], kernel[2], in[3], filters}, filters);
}

double flop_conv3d(const Node& node, const Shape& input) {
  const Extent3 kernel = extent3(node, "kernel_size");
  double taps = 1;
  for (const int64_t extent : kernel) taps *= static_cast<double>(extent);
  return 2.0 * static_cast<double>(elements(node.output)) * static_cast<double>(input[3]) * taps;
}

// linac's own: UpSampling3D and the convolution behind it as one node, made by passes/fold_upsample.
void infer_upsample_conv3d(Node& node, const std::vector<Shape>& inputs) {
  const Extent3 size = extent3(node, "size");
  std::vector<Shape> enlarged{inputs[0]};
  for (size_t axis = 0; axis < 3; ++axis) enlarged[0][axis] *= size[axis];
  infer_conv3d(node, enlarged);
}

double flop_upsample_conv3d(const Node& node, const Shape& input) {
  const Extent3 kernel = extent3(node, "kernel_size"), size = extent3(node, "size");
  double products = 1;  // of an output cell and an input cell that it sees
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t taps = 0;
    for (int64_t cell = 0; cell < node.output[axis]; ++cell)
      taps += (cell % size[axis] + kernel[axis] - 1) / size[axis] + 1;
    products *= static_cast<double>(taps);
  }
  return 2.0 * products * static_cast<double>(input[3] * node.output[3]);
}

// linac's own: convolutions and what stands between them as one node, made by passes/chain_convolutions.
void infer_chain(Node& node, const std::vector<Shape>& inputs) {
  for (const Node& layer : chain_layers(node, inputs[0])) {
    for (const Weight& weight : layer.weights) {
      node.weights.push_back(weight);
      node.weights.back().name = layer.name + "/" + weight.name;
    }
    node.output = layer.output;
  }
}

double flop_chain(const Node& node, const Shape& input) {
  double total = 0;
  Shape shape = input;
  for (const Node& layer : chain_layers(node, input)) {
    total += layer_kind(layer).flop(layer, shape);
    shape = layer.output;
  }
  return total;
}

void infer_same(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
}

void infer_activation(Node& node, const std::vector<Shape>& inputs) {
  check_activation(node);
  node.output = inputs[0];
}

void infer_batch_norm(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  const auto axis = node.attributes.find("axis");
  if (axis != node.attributes.end() && *axis != -1 && *axis != 4) refuse(node, "only the last axis can be normalised");
  node.output = inputs[0];
  const Shape channels{inputs[0].back()};
  if (node.attributes.value("scale", true)) node.weights.push_back({"gamma", channels, "ones", true});
  if (node.attributes.value("center", true)) node.weights.push_back({"beta", channels, "zeros", true});
  node.weights.push_back({"moving_mean", channels, "zeros", false});
  node.weights.push_back({"moving_variance", channels, "ones", false});
}

void infer_dropout(Node& node, const std::vector<Shape>& inputs) {
  const double rate = node.attributes.value("rate", -1.0);
  if (rate < 0 || rate >= 1) refuse(node, "'rate' must be in [0, 1)");
  node.output = inputs[0];
}

void infer_up_sampling(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  const Extent3 size = extent3(node, "size");
  node.output = inputs[0];
  for (size_t axis = 0; axis < 3; ++axis) node.output[axis] *= size[axis];
}

void infer_zero_padding(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  const auto padding = zero_padding(node);
  node.output = inputs[0];
  for (size_t axis = 0; axis < 3; ++axis) node.output[axis] += padding[axis][0] + padding[axis][1];
}

void infer_average_pooling(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  const Extent3 size = extent3(node, "pool_size");
  need_default(node, "padding", "valid");
  const auto strides = node.attributes.find("strides");
  if (strides != node.attributes.end() && !strides->is_null() && extent3(node, "strides") != size) {
    refuse(node, "'strides' must equal 'pool_size'");
  }
  node.output = inputs[0];
  for (size_t axis = 0; axis < 3; ++axis) node.output[axis] /= size[axis];
}

void infer_reshape(Node& node, const std::vector<Shape>& inputs) {
  const auto found = node.attributes.find("target_shape");
  if (found == node.attributes.end() || !found->is_array()) refuse(node, "'target_shape' must be a list");
  node.output = found->get<Shape>();
  const auto open = std::find(node.output.begin(), node.output.end(), -1);
  if (open != node.output.end()) {  // the one extent that follows from the others
    *open = 1;
    if (is_bounded(node.output)) *open = elements(inputs[0]) / elements(node.output);
  }
  if (!is_bounded(node.output) || elements(node.output) != elements(inputs[0])) {
    refuse(node, fmt::format("cannot make {} of {}", to_string(node.output), to_string(inputs[0])));
  }
}

void infer_flatten(Node& node, const std::vector<Shape>& inputs) {
  node.output = {elements(inputs[0])};
}

void infer_concatenate(Node& node, const std::vector<Shape>& inputs) {
  if (inputs.empty()) refuse(node, "needs an input");
  node.output = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape expected = inputs[0];
    expected.back() = inputs[i].back();
    if (inputs[i] != expected)
      refuse(node, fmt::format("cannot join {} to {}", to_string(inputs[i]), to_string(inputs[0])));
    node.output.back() += inputs[i].back();
  }
}

// linac's own analytic heads of the 3DGAN: one number an event from an image of one channel.
void infer_scalar_of_image(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  if (inputs[0][3] != 1) refuse(node, "needs an image of one channel");
  if (node.attributes.value("power", 0.0) <= 0) refuse(node, "'power' must be positive");
  node.output = {1};
}

double flop_none(const Node&, const Shape&) {
  return 0;
}
double flop_per_element(const Node& node, const Shape&) {
  return static_cast<double>(elements(node.output));
}

const std::vector<LayerKind>& table() {
  static const std::vector<LayerKind> kinds{
      {"InputLayer", 0, infer_input, flop_none},
      {"Dense", 1, infer_dense, flop_dense},
      {"Conv3D", 1, infer_conv3d, flop_conv3d},
      {"UpsampleConv3D", 1, infer_upsample_conv3d, flop_upsample_conv3d},
      {"ConvolutionChain", 1, infer_chain, flop_chain},
      {"Activation", 1, infer_activation, flop_per_element},
      {"LeakyReLU", 1, infer_same, flop_per_element},
      {"BatchNormalization", 1, infer_batch_norm, flop_per_element},
      {"Dropout", 1, infer_dropout, flop_per_element},
      {"UpSampling3D", 1, infer_up_sampling, flop_none},
      {"ZeroPadding3D", 1, infer_zero_padding, flop_none},
      {"AveragePooling3D", 1, infer_average_pooling, flop_per_element},
      {"Reshape", 1, infer_reshape, flop_none},
      {"Flatten", 1, infer_flatten, flop_none},
      {"Concatenate", -1, infer_concatenate, flop_none},
      {"ShowerAngle", 1, infer_scalar_of_image, flop_per_element},
      {"ShowerSum", 1, infer_scalar_of_image, flop_per_element},
  };
  return kinds;
}

}  // namespace

const LayerKind& layer_kind(const Node& node) {
  for (const LayerKind& kind : table()) {
    if (kind.op == node.op) return kind;
  }
  const auto near = nearest(node.op, layer_names());
  refuse(node, fmt::format("this layer class is not known{} (known: {})", near ? ", did you mean " + *near + "?" : "",
                           fmt::join(layer_names(), ", ")));
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : table()) names.push_back(kind.op);
  return names;
}

Extent3 extent3(const Node& node, const std::string& attribute) {
  const auto found = node.attributes.find(attribute);
  if (found != node.attributes.end()) {
    if (found->is_number_integer()) {
      const int64_t extent = integer(node, attribute);
      return {extent, extent, extent};
    }
    if (found->is_array() && found->size() == 3 && std::all_of(found->begin(), found->end(), [](const auto& v) {
          return v.is_number_integer() && v.template get<int64_t>() > 0 && v.template get<int64_t>() <= kAttributeMax;
        })) {
      return {(*found)[0].get<int64_t>(), (*found)[1].get<int64_t>(), (*found)[2].get<int64_t>()};
    }
  }
  refuse(node, fmt::format("'{}' must be an integer or three, from 1 to {}", attribute, kAttributeMax));
}

std::array<std::array<int64_t, 2>, 3> zero_padding(const Node& node) {
  const auto found = node.attributes.find("padding");
  if (found == node.attributes.end()) refuse(node, "'padding' is missing");
  std::array<std::array<int64_t, 2>, 3> padding{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const nlohmann::json& value = found->is_array() ? found->at(axis) : *found;
    const bool pair = value.is_array() && value.size() == 2;
    if (!pair && !value.is_number_integer()) refuse(node, "'padding' must be an integer, three, or three pairs");
    padding[axis] =
        pair ? value.get<std::array<int64_t, 2>>() : std::array<int64_t, 2>{value.get<int64_t>(), value.get<int64_t>()};
    for (const int64_t cells : padding[axis]) {
      if (cells < 0 || cells > kAttributeMax) refuse(node, fmt::format("'padding' must be in 0 to {}", kAttributeMax));
    }
  }
  return padding;
}

std::array<std::array<int64_t, 2>, 3> own_padding(const Node& conv) {
  const bool same = conv.attributes.value("padding", "valid") == "same";
  return same ? same_padding(extent3(conv, "kernel_size")) : std::array<std::array<int64_t, 2>, 3>{};
}

std::array<std::array<int64_t, 2>, 3> same_padding(const Extent3& kernel) {
  std::array<std::array<int64_t, 2>, 3> padding{};
  for (size_t axis = 0; axis < 3; ++axis) padding[axis] = {(kernel[axis] - 1) / 2, kernel[axis] / 2};
  return padding;
}

}  // namespace linac::graph
