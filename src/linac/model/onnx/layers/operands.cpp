#include "linac/model/onnx/layers/operands.h"

#include <algorithm>

namespace linac::onnx {
namespace {

using nlohmann::json;

Type type_of(const json& constant) {
  if (constant.is_number_float()) return Type::kFloat;
  return constant.is_boolean() ? Type::kBool : Type::kInt32;
}

double number_of(const json& constant) {
  if (constant.is_boolean()) return constant.get<bool>() ? 1 : 0;
  return constant.get<double>();
}

}  // namespace

Type wider(Type a, Type b) {
  constexpr Type kOrder[] = {Type::kBool, Type::kInt32, Type::kInt64, Type::kFloat};
  return std::ranges::find(kOrder, a) >= std::ranges::find(kOrder, b) ? a : b;
}

Type widest(const std::vector<Value>& values) {
  Type type = Type::kBool;
  for (const Value& value : values) type = wider(type, value.type);
  return type;
}

Operands operands(const LayerCall& call, Type least, size_t first) {
  json arguments = call.node.attributes.value("arguments", json::array());
  if (arguments.empty()) arguments = json(std::vector<json>(call.inputs.size()));  // nothing but tensors
  std::vector<const Value*> tensors(arguments.size(), nullptr);                    // null: a constant
  const bool channels_first =
      std::ranges::all_of(call.inputs, [](const Value& x) { return x.layout == Layout::kChannelsFirst; });
  Operands result{{}, least, channels_first ? Layout::kChannelsFirst : Layout::kChannelsLast};
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_null()) tensors[i] = &call.inputs.at(next++);
    if (i >= first) result.type = wider(result.type, tensors[i] != nullptr ? tensors[i]->type : type_of(arguments[i]));
  }
  Emitter& emit = call.emit;
  for (size_t i = first; i < arguments.size(); ++i) {
    result.names.push_back(tensors[i] != nullptr ? emit.in(result.layout, emit.as(result.type, *tensors[i]))
                                                 : emit.scalar(number_of(arguments[i]), result.type));
  }
  return result;
}

}  // namespace linac::onnx
