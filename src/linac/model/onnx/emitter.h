#pragma once
// Writes an ONNX graph down node by node: unique names, constants that are stored once, images in either order of their
// axes. An Emitter is used by one thread.
//
// Axes: N events, C channels. Keras has an image as (N, cells..., C), ONNX's convolutions want (N, C, cells...). A
// value stays in the order in which it was computed until a reader wants the other, so a chain of convolutions is
// transposed at its two ends only.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "linac/model/onnx/model.h"

namespace linac::onnx {

enum class Layout : uint8_t { kChannelsLast, kChannelsFirst };

/// What a layer hands on: a tensor of the ONNX graph. `shape` is one event's in Keras's axes, whatever the layout.
struct Value {
  std::string name;
  Shape shape;
  Type type = Type::kFloat;
  Layout layout = Layout::kChannelsLast;

  bool defined() const { return !name.empty(); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()) + 1; }  // with the batch
  /// Where the tensor has Keras's axis (0 is the batch).
  int64_t axis(int64_t keras_axis) const;
};

class Emitter {
 public:
  using Names = std::vector<std::string>;

  explicit Emitter(std::string name) { model_.name = std::move(name); }

  /// What follows belongs to this layer: its name is in theirs.
  void begin(const std::string& layer) { layer_ = layer; }

  /// An input of the model.
  Value input(const std::string& name, const Shape& shape, Type type = Type::kFloat);
  /// Adds a node and returns its output, or its outputs.
  std::string op(const std::string& type, Names inputs, std::vector<Attribute> attributes = {});
  Names op(const std::string& type, Names inputs, std::vector<Attribute> attributes, size_t outputs);
  /// Names what the model hands out, one output a value, and gives the model away without what no output needs.
  Model finish(const Names& names, const std::vector<Value>& values);

  /// Constants. Equal ones are stored once; a weight is known by its name.
  std::string scalar(double value, Type type = Type::kFloat);
  std::string ints(const Shape& values);
  std::string floats(const Shape& shape, std::span<const float> values);
  std::string weight(const std::string& name, const Shape& shape, std::span<const float> values);
  /// Of any type, as they lie in memory, the last axis first.
  std::string numbers(const std::string& name, Type type, const Shape& shape, std::string bytes);

  /// The value's tensor in that order of axes.
  std::string in(Layout layout, const Value& value);
  std::string cast(const std::string& x, Type from, Type to);
  /// The value as numbers.
  Value as(Type type, const Value& value);

  /// Nodes whose axes are an attribute in one and a constant input in another.
  std::string reduce(const std::string& type, const std::string& x, const Shape& axes, bool keep);
  std::string reshape(const std::string& x, const Shape& shape);  // 0: as it was, -1: what remains
  std::string transpose(const std::string& x, const Shape& axes);
  std::string unsqueeze(const std::string& x, const Shape& axes);
  std::string squeeze(const std::string& x, const Shape& axes);
  /// Of truth values: whether one along the axes is true, or all are.
  std::string any(const std::string& x, const Shape& axes, bool keep);
  std::string all(const std::string& x, const Shape& axes, bool keep);

 private:
  std::string unique(const std::string& wanted);
  std::string constant(const std::string& name, Type type, const Shape& shape, std::string bytes);
  void rename(const std::string& from, const std::string& to);
  void remove_unread();

  Model model_;
  std::string layer_;
  std::map<std::string, int> taken_;                            // names, and how often each was wanted
  std::map<std::string, std::string> constants_;                // by content
  std::map<std::string, std::string> weights_;                  // by name
  std::map<std::pair<std::string, Layout>, std::string> laid_;  // tensors that are there in both orders
};

}  // namespace linac::onnx
