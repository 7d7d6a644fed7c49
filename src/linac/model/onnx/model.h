#pragma once
// A model in the ONNX format, as far as linac writes it (onnx.ai, "Open Neural Network Exchange Intermediate
// Representation Specification"): plain values, and their bytes. Pure, thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::onnx {

using graph::Shape;

/// The version of the operators. The newest that runtimes of 2022 know (onnxruntime 1.12), which programs of
/// experiments still have; it is the first with LayerNormalization, and nothing that linac writes needs a later one.
constexpr int64_t kOperatorSet = 17;

/// Numbers of TensorProto.DataType.
enum class Type : uint8_t { kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9 };

struct Attribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>> value;

  bool operator==(const Attribute&) const = default;
};

struct Node {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  // names of tensors; "" is one that is left out
  std::vector<Attribute> attributes;

  bool operator==(const Node&) const = default;
};

/// A tensor of constants; `bytes` are its values as they lie in memory, the last axis first.
struct Constant {
  std::string name;
  Type type;
  Shape shape;
  std::string bytes;

  bool operator==(const Constant&) const = default;
};

/// An input or output of the model: `shape` is one event's, in front of it is the free axis of the batch. A size of
/// kFreeSize may be any.
constexpr int64_t kFreeSize = -1;
struct Port {
  std::string name;
  Type type;
  Shape shape;
};

struct Model {
  std::string name;
  std::vector<Node> nodes;  // in topological order
  std::vector<Constant> constants;
  std::vector<Port> inputs, outputs;
  std::map<std::string, std::string> metadata;
};

/// The bytes of an .onnx file. User error beyond 2 GiB, which protocol buffers cannot hold.
std::string encode(const Model& model);

}  // namespace linac::onnx
