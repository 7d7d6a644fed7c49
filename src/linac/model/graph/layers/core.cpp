#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/open_sizes.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

void infer_input(Node& node, const std::vector<Shape>&) {
  const auto found = node.attributes.find("shape");
  if (found == node.attributes.end() || !found->is_array()) refuse(node, "'shape' must be a list");
  node.output = found->get<Shape>();
}

// The file has the batch axis, linac has not: [null, 51, 51, 25, 1] -> [51, 51, 25, 1]. Other sizes may be open too
// (model/graph/open_sizes.h).
void adapt_input(Node& node, const json& config) {
  const char* const key = config.contains("batch_shape") ? "batch_shape" : "batch_input_shape";
  const auto shape = config.find(key);
  if (shape == config.end() || !shape->is_array() || shape->empty())
    refuse(node, "'batch_shape' must be a list of sizes");
  json sizes = json::array(), open = json::array();
  for (size_t i = 1; i < shape->size(); ++i) {
    const json& size = (*shape)[i];
    if (!size.is_null() && !size.is_number_integer())
      refuse(node, fmt::format("'batch_shape' {} must be a list of sizes", shape->dump()));
    if (size.is_null()) open.push_back(i - 1);
    sizes.push_back(size.is_null() ? json(kProvisionalSize) : size);
  }
  node.attributes["shape"] = std::move(sizes);
  if (!open.empty()) node.attributes["open"] = std::move(open);
}

// The last axis, whatever is before it.
void infer_dense(Node& node, const std::vector<Shape>& inputs) {
  if (inputs[0].empty()) refuse(node, "needs an input of at least one axis");
  check_activation(node);
  const int64_t units = integer(node, "units");
  node.output = inputs[0];
  node.output.back() = units;
  add_kernel_and_bias(node, {inputs[0].back(), units}, {units});
}

double flop_dense(const Node& node, const Shape& input) {
  return 2.0 * static_cast<double>(input.back()) * static_cast<double>(elements(node.output));
}

/// "abc,cd->abd" as three lists of letters.
struct Einsum {
  std::string input, kernel, output;
};

Einsum parse_equation(const Node& node) {
  std::string equation = text(node, "equation", "");
  std::erase(equation, ' ');
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow || equation.find('.') != equation.npos)
    refuse(node, fmt::format("equation '{}' is not of the form 'ab,bc->ac' without an ellipsis", equation));
  return {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1), equation.substr(arrow + 2)};
}

void infer_einsum_dense(Node& node, const std::vector<Shape>& inputs) {
  check_activation(node);
  const Einsum einsum = parse_equation(node);
  if (einsum.input.size() != inputs[0].size() + 1 || einsum.output.empty() || einsum.output[0] != einsum.input[0])
    refuse(node,
           fmt::format("its equation does not fit the input {} with a batch axis in front", to_string(inputs[0])));
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < inputs[0].size(); ++i) sizes[einsum.input[i + 1]] = inputs[0][i];
  json shape = node.attributes.value("output_shape", json());
  if (!shape.is_array()) shape = json::array({shape});
  if (shape.size() + 1 != einsum.output.size())
    refuse(node, "'output_shape' has another number of axes than its equation");
  for (size_t i = 0; i < shape.size(); ++i) {
    const char letter = einsum.output[i + 1];
    if (shape[i].is_null()) {
      if (!sizes.contains(letter)) refuse(node, fmt::format("'output_shape' leaves '{}' open", letter));
      continue;
    }
    const int64_t size = shape[i].is_number_integer() ? shape[i].get<int64_t>() : 0;
    if (size < 1 || size > kAttributeMax || (sizes.contains(letter) && sizes[letter] != size))
      refuse(node, fmt::format("'output_shape' {} does not fit", shape.dump()));
    sizes[letter] = size;
  }
  const auto shape_of = [&](const std::string& letters, size_t from) {
    Shape result;
    for (size_t i = from; i < letters.size(); ++i) {
      if (!sizes.contains(letters[i]))
        refuse(node, fmt::format("the size of '{}' in its equation is unknown", letters[i]));
      result.push_back(sizes[letters[i]]);
    }
    return result;
  };
  node.output = shape_of(einsum.output, 1);
  node.weights.push_back(
      {"kernel", shape_of(einsum.kernel, 0), text(node, "kernel_initializer", "glorot_uniform"), true});
  const std::string bias_axes = text(node, "bias_axes", "");
  if (bias_axes.empty()) return;
  // The bias has the output's axes from the first of its own on; the others among them are 1.
  Shape bias;
  for (size_t i = 1; i < einsum.output.size(); ++i) {
    const bool own = bias_axes.find(einsum.output[i]) != std::string::npos;
    if (own || !bias.empty()) bias.push_back(own ? sizes[einsum.output[i]] : 1);
  }
  node.weights.push_back({"bias", bias, text(node, "bias_initializer", "zeros"), true});
}

double flop_einsum(const Node& node, const Shape& input) {
  const Einsum einsum = parse_equation(node);
  double products = static_cast<double>(elements(input));
  for (size_t i = 1; i < einsum.output.size(); ++i) {
    if (einsum.input.find(einsum.output[i]) == std::string::npos) products *= static_cast<double>(node.output[i - 1]);
  }
  return 2 * products;
}

void infer_dropout(Node& node, const std::vector<Shape>& inputs) {
  const double rate = number(node, "rate", -1);
  if (rate < 0 || rate >= 1) refuse(node, "'rate' must be in [0, 1)");
  node.output = inputs[0];
}

void infer_noise(Node& node, const std::vector<Shape>& inputs) {
  if (number(node, "stddev", -1) < 0) refuse(node, "'stddev' must not be negative");
  node.output = inputs[0];
}

template <size_t Axes>
void infer_spatial_dropout(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], Axes + 1);
  need_channels_last(node);
  infer_dropout(node, inputs);
}

// A number, or one for each channel.
void infer_rescaling(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  for (const char* attribute : {"scale", "offset"}) {
    const json value = node.attributes.value(attribute, json(0));
    const bool list = value.is_array() && !inputs[0].empty() && value.size() == static_cast<size_t>(inputs[0].back()) &&
                      std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_number(); });
    if (!value.is_number() && !list)
      refuse(node, fmt::format("'{}' must be a number or one for each channel", attribute));
  }
}

}  // namespace

double flop_none(const Node&, const Shape&) {
  return 0;
}
double flop_per_element(const Node& node, const Shape&) {
  return static_cast<double>(elements(node.output));
}
void infer_same(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
}

std::vector<LayerKind> core_layers() {
  static const json channels_last = "channels_last";
  const std::vector<Setting> dropout{
      {"rate", kKept, nullptr}, {"seed", kIgnored, nullptr}, {"noise_shape", kDefaultOnly, nullptr}};
  const std::vector<Setting> spatial{
      {"rate", kKept, nullptr}, {"seed", kIgnored, nullptr}, {"data_format", kDefaultOnly, channels_last}};
  return {
      {"InputLayer",
       0,
       infer_input,
       flop_none,
       {{"batch_shape", kIgnored, nullptr},
        {"batch_input_shape", kIgnored, nullptr},
        {"dtype", kIgnored, nullptr},
        {"sparse", kDefaultOnly, false},
        {"ragged", kDefaultOnly, false},
        {"optional", kDefaultOnly, false}},
       false,
       adapt_input},
      {"Dense",
       1,
       infer_dense,
       flop_dense,
       {{"units", kKept, nullptr},
        {"activation", kActivation, "linear"},
        {"use_bias", kKept, true},
        {"kernel_initializer", kInitializer, "glorot_uniform"},
        {"bias_initializer", kInitializer, "zeros"}}},
      {"EinsumDense",
       1,
       infer_einsum_dense,
       flop_einsum,
       {{"equation", kKept, nullptr},
        {"output_shape", kKept, nullptr},
        {"activation", kActivation, "linear"},
        {"bias_axes", kKept, nullptr},
        {"kernel_initializer", kInitializer, "glorot_uniform"},
        {"bias_initializer", kInitializer, "zeros"}}},
      {"Dropout", 1, infer_dropout, flop_per_element, dropout},
      {"GaussianDropout", 1, infer_dropout, flop_per_element, dropout},
      {"AlphaDropout", 1, infer_dropout, flop_per_element, dropout},
      {"SpatialDropout1D",
       1,
       infer_spatial_dropout<1>,
       flop_per_element,
       {{"rate", kKept, nullptr}, {"seed", kIgnored, nullptr}}},
      {"SpatialDropout2D", 1, infer_spatial_dropout<2>, flop_per_element, spatial},
      {"SpatialDropout3D", 1, infer_spatial_dropout<3>, flop_per_element, spatial},
      {"GaussianNoise", 1, infer_noise, flop_per_element, {{"stddev", kKept, nullptr}, {"seed", kIgnored, nullptr}}},
      {"ActivityRegularization", 1, infer_same, flop_none, {{"l1", kKept, 0.0}, {"l2", kKept, 0.0}}},
      {"Rescaling", 1, infer_rescaling, flop_per_element, {{"scale", kKept, 1.0}, {"offset", kKept, 0.0}}},
  };
}

}  // namespace linac::graph
