#include "linac/model/onnx/model.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/protowire.h"
#include "linac/base/base/version.h"

namespace linac::onnx {
namespace {

using proto::append_bytes;
using proto::append_float;
using proto::append_varint;

constexpr uint64_t kFormatVersion = 8;  // of the file format, which came with operator set 17
constexpr size_t kBytesMax = size_t{1} << 31;

// Field numbers and the numbers of AttributeProto.AttributeType are those of onnx.proto.
struct AttributeEncoder {
  std::string& out;

  void type(uint64_t number) const { append_varint(out, 20, number); }
  void operator()(float value) const {
    append_float(out, 2, value);
    type(1);
  }
  void operator()(int64_t value) const {
    append_varint(out, 3, static_cast<uint64_t>(value));
    type(2);
  }
  void operator()(const std::string& value) const {
    append_bytes(out, 4, value);
    type(3);
  }
  void operator()(const std::vector<float>& values) const {
    proto::append_packed_floats(out, 7, values);
    type(6);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto::append_packed_varints(out, 8, values);
    type(7);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) append_bytes(out, 9, value);
    type(8);
  }
};

std::string encode(const Attribute& attribute) {
  std::string out;
  append_bytes(out, 1, attribute.name);
  std::visit(AttributeEncoder{out}, attribute.value);
  return out;
}

std::string encode(const Node& node) {
  std::string out;
  for (const std::string& input : node.inputs) append_bytes(out, 1, input);
  for (const std::string& output : node.outputs) append_bytes(out, 2, output);
  append_bytes(out, 3, node.name);
  append_bytes(out, 4, node.op);
  for (const Attribute& attribute : node.attributes) append_bytes(out, 5, encode(attribute));
  return out;
}

std::string encode(const Constant& constant) {
  std::string out;
  if (!constant.shape.empty()) proto::append_packed_varints(out, 1, constant.shape);
  append_varint(out, 2, static_cast<uint64_t>(constant.type));
  append_bytes(out, 8, constant.name);
  append_bytes(out, 9, constant.bytes);
  return out;
}

std::string encode(const Port& port) {
  std::string shape, dimension, tensor, type, out;
  append_bytes(dimension, 2, "batch");
  append_bytes(shape, 1, dimension);
  for (const int64_t extent : port.shape) {
    dimension.clear();
    if (extent != kFreeSize) append_varint(dimension, 1, static_cast<uint64_t>(extent));
    append_bytes(shape, 1, dimension);
  }
  append_varint(tensor, 1, static_cast<uint64_t>(port.type));
  append_bytes(tensor, 2, shape);
  append_bytes(type, 1, tensor);
  append_bytes(out, 1, port.name);
  append_bytes(out, 2, type);
  return out;
}

std::string encode_graph(const Model& model) {
  std::string out;
  for (const Node& node : model.nodes) append_bytes(out, 1, encode(node));
  append_bytes(out, 2, model.name);
  for (const Constant& constant : model.constants) append_bytes(out, 5, encode(constant));
  for (const Port& input : model.inputs) append_bytes(out, 11, encode(input));
  for (const Port& output : model.outputs) append_bytes(out, 12, encode(output));
  return out;
}

}  // namespace

std::string encode(const Model& model) {
  std::string out, operators;
  append_varint(out, 1, kFormatVersion);
  append_bytes(out, 2, "linac");
  append_bytes(out, 3, kVersion);
  append_bytes(out, 7, encode_graph(model));
  append_bytes(operators, 1, "");  // the domain of the standard
  append_varint(operators, 2, kOperatorSet);
  append_bytes(out, 8, operators);
  for (const auto& [key, value] : model.metadata) {
    std::string entry;
    append_bytes(entry, 1, key);
    append_bytes(entry, 2, value);
    append_bytes(out, 14, entry);
  }
  if (out.size() >= kBytesMax) {
    throw user_error(fmt::format("[onnx] model '{}' has {} bytes, and an ONNX file holds less than {}", model.name,
                                 out.size(), kBytesMax));
  }
  return out;
}

}  // namespace linac::onnx
