#include "linac/model/onnx/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "linac/base/base/error.h"

namespace linac::onnx {
namespace {

template <class T>
std::string bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

template <class T>
std::string bytes_of(T value) {
  return bytes_of(std::span<const T>(&value, 1));
}

/// (N, cells..., C) -> (N, C, cells...), and back.
Shape order_of(Layout layout, int64_t rank) {
  Shape axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (layout == Layout::kChannelsFirst)
    std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
  else
    std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return axes;
}

}  // namespace

int64_t Value::axis(int64_t keras_axis) const {
  if (layout == Layout::kChannelsLast || keras_axis == 0) return keras_axis;
  return keras_axis == rank() - 1 ? 1 : keras_axis + 1;
}

std::string Emitter::unique(const std::string& wanted) {
  std::string name = wanted;
  while (taken_.contains(name)) name = fmt::format("{}_{}", wanted, ++taken_[wanted]);
  taken_[name] = 1;
  return name;
}

Value Emitter::input(const std::string& name, const Shape& shape, Type type) {
  LINAC_CHECK(unique(name) == name);
  model_.inputs.push_back({name, type, shape});
  return {name, shape, type};
}

Emitter::Names Emitter::op(const std::string& type, Names inputs, std::vector<Attribute> attributes, size_t outputs) {
  const std::string name = unique(layer_ + "/" + type);
  Names results{name};
  while (results.size() < outputs) results.push_back(unique(name + "/more"));
  model_.nodes.push_back({type, name, std::move(inputs), results, std::move(attributes)});
  return results;
}

std::string Emitter::op(const std::string& type, Names inputs, std::vector<Attribute> attributes) {
  return op(type, std::move(inputs), std::move(attributes), 1)[0];
}

std::string Emitter::constant(const std::string& name, Type type, const Shape& shape, std::string bytes) {
  model_.constants.push_back({unique(name), type, shape, std::move(bytes)});
  return model_.constants.back().name;
}

std::string Emitter::scalar(double value, Type type) {
  std::string bytes = type == Type::kFloat   ? bytes_of(static_cast<float>(value))
                      : type == Type::kInt32 ? bytes_of(static_cast<int32_t>(value))
                      : type == Type::kInt64 ? bytes_of(static_cast<int64_t>(value))
                                             : bytes_of(static_cast<uint8_t>(value != 0));
  std::string& name = constants_[fmt::format("{}/scalar/{}", static_cast<int>(type), bytes)];
  if (name.empty()) name = constant("constants/1", type, {}, std::move(bytes));
  return name;
}

std::string Emitter::ints(const Shape& values) {
  const auto extent = static_cast<int64_t>(values.size());
  std::string bytes = bytes_of(std::span<const int64_t>(values));
  std::string& name = constants_["ints/" + bytes];
  if (name.empty()) name = constant("constants/1", Type::kInt64, {extent}, std::move(bytes));
  return name;
}

std::string Emitter::floats(const Shape& shape, std::span<const float> values) {
  LINAC_CHECK(graph::elements(shape) == static_cast<int64_t>(values.size()));
  std::string bytes = bytes_of(values);
  std::string& name = constants_[graph::to_string(shape) + bytes];
  if (name.empty()) name = constant("constants/1", Type::kFloat, shape, std::move(bytes));
  return name;
}

std::string Emitter::weight(const std::string& wanted, const Shape& shape, std::span<const float> values) {
  LINAC_CHECK(graph::elements(shape) == static_cast<int64_t>(values.size()));
  std::string& name = weights_[wanted];
  if (name.empty()) name = constant(wanted, Type::kFloat, shape, bytes_of(values));
  return name;
}

std::string Emitter::numbers(const std::string& wanted, Type type, const Shape& shape, std::string bytes) {
  std::string& name = weights_[wanted];
  if (name.empty()) name = constant(wanted, type, shape, std::move(bytes));
  return name;
}

std::string Emitter::in(Layout layout, const Value& value) {
  if (value.layout == layout || value.shape.size() < 2) return value.name;
  std::string& name = laid_[{value.name, layout}];
  if (name.empty()) name = transpose(value.name, order_of(layout, value.rank()));
  return name;
}

std::string Emitter::cast(const std::string& x, Type from, Type to) {
  return from == to ? x : op("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
}

Value Emitter::as(Type type, const Value& value) {
  return {cast(value.name, value.type, type), value.shape, type, value.layout};
}

std::string Emitter::reduce(const std::string& type, const std::string& x, const Shape& axes, bool keep) {
  const Attribute keepdims{"keepdims", int64_t{keep}};
  if (type == "ReduceSum") return op(type, {x, ints(axes)}, {keepdims});
  return op(type, {x}, {keepdims, {"axes", axes}});
}

std::string Emitter::reshape(const std::string& x, const Shape& shape) {
  return op("Reshape", {x, ints(shape)});
}

std::string Emitter::transpose(const std::string& x, const Shape& axes) {
  return std::is_sorted(axes.begin(), axes.end()) ? x : op("Transpose", {x}, {{"perm", axes}});
}

std::string Emitter::unsqueeze(const std::string& x, const Shape& axes) {
  return axes.empty() ? x : op("Unsqueeze", {x, ints(axes)});
}

std::string Emitter::squeeze(const std::string& x, const Shape& axes) {
  return op("Squeeze", {x, ints(axes)});
}

std::string Emitter::any(const std::string& x, const Shape& axes, bool keep) {
  return cast(reduce("ReduceMax", cast(x, Type::kBool, Type::kInt32), axes, keep), Type::kInt32, Type::kBool);
}

std::string Emitter::all(const std::string& x, const Shape& axes, bool keep) {
  return cast(reduce("ReduceMin", cast(x, Type::kBool, Type::kInt32), axes, keep), Type::kInt32, Type::kBool);
}

void Emitter::rename(const std::string& from, const std::string& to) {
  for (Node& node : model_.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(node.outputs.begin(), node.outputs.end(), from, to);
  }
}

// Masks that nobody asks for, and the constants of such nodes.
void Emitter::remove_unread() {
  std::set<std::string> read;
  for (const Port& output : model_.outputs) read.insert(output.name);
  std::vector<Node> kept;
  for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) {
    const auto is_read = [&](const std::string& name) { return read.contains(name); };
    if (std::none_of(node->outputs.begin(), node->outputs.end(), is_read)) continue;
    read.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  model_.nodes = std::move(kept);
  std::erase_if(model_.constants, [&](const Constant& constant) { return !read.contains(constant.name); });
}

Model Emitter::finish(const Names& names, const std::vector<Value>& values) {
  begin("outputs");
  Names tensors;
  for (const Value& value : values) {
    std::string tensor = in(Layout::kChannelsLast, value);
    const auto makes = [&](const Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), tensor) != node.outputs.end();
    };
    const bool own = std::any_of(model_.nodes.begin(), model_.nodes.end(), makes) &&
                     std::find(tensors.begin(), tensors.end(), tensor) == tensors.end();
    tensors.push_back(own ? tensor : op("Identity", {tensor}));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = unique(names[i]);
    rename(tensors[i], name);
    model_.outputs.push_back({name, values[i].type, values[i].shape});
  }
  remove_unread();
  return std::move(model_);
}

}  // namespace linac::onnx
