#include "linac/model/graph/masks.h"

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

Value truth(const std::string& tensor, const Shape& shape) {
  return {tensor, shape, Type::kBool};
}

/// Whether x differs from a number.
std::string differs(const LayerCall& call, double value) {
  return call.emit.op("Not", {call.emit.op("Equal", {call.x(), call.emit.scalar(value)})});
}

/// A step of the sum counts if it does in one of the inputs, and all have a mask.
Value any_of(const LayerCall& call) {
  Value result = call.masks[0];
  for (size_t i = 0; i < call.masks.size(); ++i) {
    if (!call.masks[i].defined()) return {};
    if (i > 0) result.name = call.emit.op("Or", {result.name, call.masks[i].name});
  }
  return result;
}

Value mask_of_concatenation(const LayerCall& call) {
  Emitter& emit = call.emit;
  if (std::none_of(call.masks.begin(), call.masks.end(), [](const Value& mask) { return mask.defined(); })) return {};
  Emitter::Names parts;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Value& mask = call.masks[i];
    const std::string steps =
        mask.defined() ? expand_mask(emit, mask, call.inputs[i].rank()) : emit.scalar(1, Type::kBool);
    parts.push_back(emit.op("Expand", {steps, emit.op("Shape", {call.x(i)})}));
  }
  const std::string joined = emit.op("Concat", parts, {{"axis", joined_axis(call.node)}});
  return truth(emit.any(joined, {static_cast<int64_t>(call.node.output.size())}, false),
               {call.node.output.begin(), call.node.output.end() - 1});
}

Value made_mask(const LayerCall& call) {
  if (call.node.op == "Embedding") return truth(differs(call, 0), call.inputs[0].shape);
  const std::string there = differs(call, call.node.attributes.value("mask_value", 0.0));
  return truth(call.emit.any(there, {2}, false), {call.node.output[0]});
}

}  // namespace

Value output_mask(const LayerCall& call) {
  switch (graph::mask_rule(call.node)) {
    case graph::MaskRule::kDrops:
      return {};
    case graph::MaskRule::kMakes:
      return made_mask(call);
    case graph::MaskRule::kHandsOn: {
      // One with fewer axes than its mask has no steps any more.
      const auto axes = static_cast<int64_t>(call.node.output.size()) + 1;
      return call.mask().defined() && call.mask().rank() <= axes ? call.mask() : Value();
    }
    case graph::MaskRule::kJoins:
      return any_of(call);
    case graph::MaskRule::kConcatenates:
      return mask_of_concatenation(call);
  }
  LINAC_CHECK(false);
}

}  // namespace linac::onnx
