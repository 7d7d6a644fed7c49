#include "linac/model/graph/layers/array_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/model/graph/brief.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/layers/merge.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

/// x[key] as Keras writes it: a number, a slice, "...", null for a new axis, or a list of those.
struct Key {
  std::vector<AxisCut> cuts;
  Shape output;
};

bool is_of_class(const json& entry, const char* class_name) {
  return entry.is_object() && entry.value("class_name", json()) == class_name;
}

/// Nothing where the slice leaves it open.
std::optional<int64_t> bound(const Node& node, const json& slice, const char* name) {
  const json config = slice.value("config", json::object());
  const json value = config.is_object() ? config.value(name, json()) : json();
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer() || value < -kAttributeMax || value > kAttributeMax)
    refuse(node, fmt::format("cannot take the slice {}", brief(slice)));
  return value.get<int64_t>();
}

bool takes_all(const Node& node, const json& entry) {
  return is_of_class(entry, "__slice__") && bound(node, entry, "start").value_or(0) == 0 &&
         !bound(node, entry, "stop") && bound(node, entry, "step").value_or(1) == 1;
}

// As Python's slice.indices.
AxisCut cut_of(const Node& node, const json& slice, int64_t extent) {
  const int64_t step = bound(node, slice, "step").value_or(1);
  if (step == 0) refuse(node, "a slice with step 0");
  const int64_t lower = step > 0 ? 0 : -1, upper = step > 0 ? extent : extent - 1;
  const auto place = [&](const char* name, int64_t otherwise) {
    const std::optional<int64_t> given = bound(node, slice, name);
    return given ? std::clamp(*given < 0 ? *given + extent : *given, lower, upper) : otherwise;
  };
  const int64_t start = place("start", step > 0 ? lower : upper), stop = place("stop", step > 0 ? upper : lower);
  const int64_t way = step > 0 ? stop - start : start - stop, stride = std::abs(step);
  return {start, way <= 0 ? 0 : (way + stride - 1) / stride, step};
}

/// The entries of the key, one an axis with the batch, and null for each new one.
std::vector<json> entries_of(const Node& node, size_t axes) {
  const json arguments = node.attributes.value("arguments", json::array());
  if (!arguments.is_array() || arguments.size() != 2 || !arguments[0].is_null())
    refuse(node, "needs a tensor and a key");
  const json given = arguments[1].is_array() ? arguments[1] : json::array({arguments[1]});
  static const json all = {{"class_name", "__slice__"}};
  std::vector<json> entries;
  size_t taken = 0, open = 0;
  for (const json& entry : given) {
    if (is_of_class(entry, "__ellipsis__"))
      ++open;
    else if (!entry.is_null())
      ++taken;
  }
  if (open > 1 || taken > axes) refuse(node, fmt::format("the key {} does not fit {} axes", brief(given), axes));
  const auto add_rest = [&] { entries.insert(entries.end(), axes - taken, all); };
  for (const json& entry : given) {
    if (is_of_class(entry, "__ellipsis__"))
      add_rest();
    else
      entries.push_back(entry);
  }
  if (open == 0) add_rest();
  return entries;
}

AxisCut one_cell(const Node& node, const json& entry, int64_t extent) {
  if (entry < -extent || entry >= extent) refuse(node, fmt::format("{} is not one of {} cells", brief(entry), extent));
  const auto index = entry.get<int64_t>();
  return {index < 0 ? index + extent : index, 1, 1};
}

Key read_key(const Node& node, const Shape& input) {
  const std::vector<json> entries = entries_of(node, input.size() + 1);
  if (entries.empty() || !takes_all(node, entries[0])) refuse(node, "takes some events only; begin with x[:, ...]");
  Key key;
  for (size_t i = 1; i < entries.size(); ++i) {
    const json& entry = entries[i];
    if (entry.is_null()) {
      key.output.push_back(1);
      continue;
    }
    const int64_t extent = input[key.cuts.size()];
    if (is_of_class(entry, "__slice__")) {
      key.cuts.push_back(cut_of(node, entry, extent));
      key.output.push_back(key.cuts.back().count);
    } else if (entry.is_number_integer()) {
      key.cuts.push_back(one_cell(node, entry, extent));
    } else {
      refuse(node, fmt::format("cannot take {} of an axis", brief(entry)));
    }
  }
  return key;
}

void infer_get_item(Node& node, const std::vector<Shape>& inputs) {
  node.output = read_key(node, inputs[0]).output;
}

void infer_reshape(Node& node, const std::vector<Shape>& inputs) {
  const json shape = node.attributes.value("newshape", json());
  const bool fits = shape.is_array() && !shape.empty() && shape[0] == -1 &&
                    std::all_of(shape.begin() + 1, shape.end(),
                                [](const json& size) { return size.is_number_integer() && size >= 1; });
  node.output = fits ? Shape(shape.begin() + 1, shape.end()) : Shape{};
  if (!fits || !is_bounded(node.output) || elements(node.output) != elements(inputs[0]))
    refuse(node, fmt::format("cannot make {} of {}; give -1 for the batch and the other sizes as numbers", brief(shape),
                             to_string(inputs[0])));
}

void infer_stack(Node& node, const std::vector<Shape>& inputs) {
  if (std::any_of(inputs.begin(), inputs.end(), [&](const Shape& shape) { return shape != inputs[0]; }))
    refuse(node, "stacks tensors of different shapes");
  const size_t axis = axis_of(node, node.attributes.value("axis", json(0)), inputs[0].size() + 1);
  node.output = inputs[0];
  node.output.insert(node.output.begin() + static_cast<int64_t>(axis), static_cast<int64_t>(inputs.size()));
}

void infer_swap(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  const size_t a = axis_of(node, node.attributes.value("axis1", json()), inputs[0].size()),
               b = axis_of(node, node.attributes.value("axis2", json()), inputs[0].size());
  std::swap(node.output[a], node.output[b]);
}

// Of every cell of the second input one of the first along the axis; the other axes go together as numpy's.
void infer_take_along(Node& node, const std::vector<Shape>& inputs) {
  if (inputs.size() != 2 || inputs[0].size() != inputs[1].size())
    refuse(node, "wants a tensor and indices with as many axes");
  const size_t axis = axis_of(node, node.attributes.value("axis", json()), inputs[0].size());
  Shape taken_from = inputs[0];
  taken_from[axis] = inputs[1][axis];
  node.output = broadcast(node, taken_from, inputs[1]);
}

void infer_one_hot(Node& node, const std::vector<Shape>& inputs) {
  const int64_t classes = integer(node, "num_classes");
  if (classes < 1 || classes > kAttributeMax) refuse(node, fmt::format("num_classes = {}", classes));
  node.output = inputs[0];
  node.output.push_back(classes);
  if (axis_of(node, node.attributes.value("axis", json(-1)), node.output.size()) + 1 != node.output.size())
    refuse(node, "only the last axis is supported");
}

void infer_softmax(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  if (axes_of(node, "axis", inputs[0].size(), -1).size() != 1) refuse(node, "only one axis is supported");
}

/// The sizes of an einsum's letters, that of the batch being 1.
std::map<char, int64_t> einsum_sizes(const Node& node, const std::vector<Shape>& inputs, std::string& output) {
  std::string equation = text(node, "subscripts", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  const auto refuse_it = [&](const char* why) { refuse(node, fmt::format("einsum '{}': {}", equation, why)); };
  if (arrow == std::string::npos || equation.find('.') != std::string::npos)
    refuse_it("only the form 'ab,bc->ac' without an ellipsis is supported");
  output = equation.substr(arrow + 2);
  if (output.empty()) refuse_it("the batch must come first in what comes out");
  std::map<char, int64_t> sizes{{output[0], 1}};
  size_t begin = 0;
  for (const Shape& shape : inputs) {
    const size_t end = std::min(equation.find(',', begin), arrow);
    const std::string letters = begin <= arrow ? equation.substr(begin, end - begin) : "";
    begin = end + 1;
    if (letters.size() != shape.size() + 1) refuse_it("an input has another number of axes");
    // Of the batch, or of a weight: one, which stands for itself.
    if (letters[0] != output[0] && !sizes.emplace(letters[0], 1).second) refuse_it("the batch must come first");
    for (size_t i = 0; i < shape.size(); ++i) {
      const char letter = letters[i + 1];
      if (letter == output[0] || sizes.emplace(letter, shape[i]).first->second != shape[i])
        refuse_it("an axis has two sizes, or is the batch");
    }
  }
  if (begin != arrow + 1) refuse_it("another number of inputs");
  return sizes;
}

void infer_einsum(Node& node, const std::vector<Shape>& inputs) {
  std::string output;
  const auto sizes = einsum_sizes(node, inputs, output);
  node.output.clear();
  for (size_t i = 1; i < output.size(); ++i) {
    if (!sizes.contains(output[i])) refuse(node, fmt::format("einsum: '{}' is in no input", output[i]));
    node.output.push_back(sizes.at(output[i]));
  }
}

// Each value of the first input, times the axes of the output that it has not.
double flop_einsum(const Node& node, const Shape& input) {
  std::string equation = text(node, "subscripts", "");
  std::erase(equation, ' ');
  const std::string first = equation.substr(0, equation.find_first_of(",-")),
                    output = equation.substr(equation.find('>') + 1);
  double products = 2 * static_cast<double>(elements(input));
  for (size_t i = 1; i < output.size(); ++i)
    if (first.find(output[i]) == std::string::npos) products *= static_cast<double>(node.output[i - 1]);
  return products;
}

}  // namespace

std::vector<AxisCut> axis_cuts(const Node& node, const Shape& input) {
  return read_key(node, input).cuts;
}

std::vector<LayerKind> array_operations() {
  return {
      {"ops.GetItem", 1, infer_get_item, flop_none},
      {"ops.Reshape", 1, infer_reshape, flop_none, {{"newshape", kKept, nullptr}}},
      {"ops.Stack", kOneOrMore, infer_stack, flop_none, {{"axis", kKept, 0}}},
      {"ops.Swapaxes", 1, infer_swap, flop_none, {{"axis1", kKept, nullptr}, {"axis2", kKept, nullptr}}},
      {"ops.Softmax", 1, infer_softmax, flop_per_element, {{"axis", kKept, -1}}},
      {"ops.TakeAlongAxis", kOneOrMore, infer_take_along, flop_none, {{"axis", kKept, nullptr}}},
      {"ops.OneHot",
       1,
       infer_one_hot,
       flop_none,
       {{"num_classes", kKept, nullptr},
        {"axis", kKept, -1},
        {"dtype", kIgnored, nullptr},
        {"sparse", kDefaultOnly, false}}},
      {"ops.Einsum", kOneOrMore, infer_einsum, flop_einsum, {{"subscripts", kKept, nullptr}}},
  };
}

}  // namespace linac::graph
