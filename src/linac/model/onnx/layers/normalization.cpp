#include <cmath>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

float epsilon_of(const LayerCall& call, double otherwise = 1e-3) {
  return static_cast<float>(graph::number(call.node, "epsilon", otherwise));
}

/// The sizes of `axes` (the batch counted), 1 elsewhere behind the batch: a shape that multiplies x.
Shape broadcast_shape(const Shape& shape, const Shape& axes) {
  Shape result(shape.size(), 1);
  for (const int64_t axis : axes) result[static_cast<size_t>(axis) - 1] = shape[static_cast<size_t>(axis) - 1];
  return result;
}

/// The weight with that shape, by name so that layers that share it share the constant.
std::string weight_as(const LayerCall& call, size_t i, const Shape& shape) {
  return call.emit.weight(call.weights[i].name + "/broadcast", shape, call.weights[i].values);
}

/// x times gamma plus beta, as far as the layer has them, with that shape.
std::string scale_and_center(const LayerCall& call, std::string x, const Shape& shape) {
  size_t next = 0;
  if (graph::flag(call.node, "scale", true)) x = call.emit.op("Mul", {x, weight_as(call, next++, shape)});
  if (graph::flag(call.node, "center", true)) x = call.emit.op("Add", {x, weight_as(call, next, shape)});
  return x;
}

/// Mean 0 and variance 1 along the axes.
std::string standardized(Emitter& emit, const std::string& x, const Shape& axes, float epsilon) {
  const std::string centered = emit.op("Sub", {x, emit.reduce("ReduceMean", x, axes, true)});
  const std::string variance = emit.reduce("ReduceMean", emit.op("Mul", {centered, centered}), axes, true);
  return emit.op("Div", {centered, emit.op("Sqrt", {emit.op("Add", {variance, emit.scalar(epsilon)})})});
}

/// What batch normalisation does to each channel in inference, as a factor and what is added.
struct Line {
  std::vector<float> factor, offset;
};

Line line_of(const LayerCall& call) {
  const bool scale = graph::flag(call.node, "scale", true), center = graph::flag(call.node, "center", true);
  const size_t mean = (scale ? 1 : 0) + (center ? 1 : 0);
  const double epsilon = epsilon_of(call);
  Line line;
  for (size_t i = 0; i < call.weights[mean].values.size(); ++i) {
    const double factor =
        (scale ? call.weights[0].values[i] : 1.0) / std::sqrt(call.weights[mean + 1].values[i] + epsilon);
    const double beta = center ? call.weights[scale ? 1 : 0].values[i] : 0.0;
    line.factor.push_back(static_cast<float>(factor));
    line.offset.push_back(static_cast<float>(beta - factor * call.weights[mean].values[i]));
  }
  return line;
}

// Behind a convolution as ONNX's operator, which runtimes join with the convolution; elsewhere as what it does.
Value batch_normalization(const LayerCall& call) {
  Emitter& emit = call.emit;
  const Value x = emit.as(Type::kFloat, call.inputs[0]);
  const int64_t axis = axes_with_batch(call.node, x.shape.size())[0];
  const Line line = line_of(call);
  const Shape channels{static_cast<int64_t>(line.factor.size())};
  if (x.axis(axis) == 1 && x.rank() > 2) {
    const std::vector<float> zeros(line.factor.size(), 0), ones(line.factor.size(), 1);
    return call.result(emit.op("BatchNormalization",
                               {x.name, emit.floats(channels, line.factor), emit.floats(channels, line.offset),
                                emit.floats(channels, zeros), emit.floats(channels, ones)},
                               {{"epsilon", 0.0F}}),
                       x.layout);
  }
  const Shape shape = broadcast_shape(x.shape, {axis});
  const std::string scaled = emit.op("Mul", {call.x(), emit.floats(shape, line.factor)});
  return call.result(emit.op("Add", {scaled, emit.floats(shape, line.offset)}));
}

Value layer_normalization(const LayerCall& call) {
  const Shape& in = call.inputs[0].shape;
  const Shape axes = axes_with_batch(call.node, in.size());
  const bool scaled = graph::flag(call.node, "scale", true), centered = graph::flag(call.node, "center", true);
  const int64_t first = axes.front(), last = static_cast<int64_t>(in.size());
  if (!scaled || axes.back() != last || last - first + 1 != static_cast<int64_t>(axes.size())) {
    return call.result(
        scale_and_center(call, standardized(call.emit, call.x(), axes, epsilon_of(call)), broadcast_shape(in, axes)));
  }
  Emitter::Names inputs{call.x(), call.weight(0)};
  if (centered) inputs.push_back(call.weight(1));
  return call.result(
      call.emit.op("LayerNormalization", std::move(inputs), {{"axis", first}, {"epsilon", epsilon_of(call)}}));
}

Value rms_normalization(const LayerCall& call) {
  Emitter& emit = call.emit;
  const std::string x = call.x();
  const Shape axes = axes_with_batch(call.node, call.inputs[0].shape.size());
  const std::string square = emit.reduce("ReduceMean", emit.op("Mul", {x, x}), axes, true);
  const std::string size = emit.op("Sqrt", {emit.op("Add", {square, emit.scalar(epsilon_of(call, 1e-6))})});
  return call.result(
      emit.op("Mul", {emit.op("Div", {x, size}), weight_as(call, 0, broadcast_shape(call.inputs[0].shape, axes))}));
}

// Channels in groups, each normalised over its channels and all cells of an event.
Value group_normalization(const LayerCall& call) {
  const Shape& in = call.inputs[0].shape;
  const nlohmann::json groups = call.node.attributes.value("groups", nlohmann::json(32));
  const int64_t channels = in.back(), count = groups == -1 ? channels : groups.get<int64_t>();
  const std::string grouped = call.emit.reshape(call.x(), {0, -1, count, channels / count});
  const std::string normal = standardized(call.emit, grouped, {1, 3}, epsilon_of(call));
  return call.result(scale_and_center(call, call.emit.reshape(normal, behind_batch(in)), {channels}));
}

Value unit_normalization(const LayerCall& call) {
  return call.result(unit(call.emit, call.x(), axes_with_batch(call.node, call.inputs[0].shape.size())));
}

// By statistics of the data it was adapted to.
Value normalization(const LayerCall& call) {
  Emitter& emit = call.emit;
  const Shape axes = axes_with_batch(call.node, call.inputs[0].shape.size()),
              shape = broadcast_shape(call.inputs[0].shape, axes);
  const auto statistic = [&](const char* name, size_t weight) {
    std::vector<float> values;
    if (!call.weights.empty())
      values.assign(call.weights[weight].values.begin(), call.weights[weight].values.end());
    else if (const nlohmann::json& given = call.node.attributes.at(name); given.is_number())
      values.assign(static_cast<size_t>(graph::elements(shape)), given.get<float>());
    else
      values = given.get<std::vector<float>>();
    return values;
  };
  std::vector<float> deviation = statistic("variance", 1);
  for (float& value : deviation) value = std::max(std::sqrt(value), 1e-7F);
  const std::string mean = emit.floats(shape, statistic("mean", 0)), width = emit.floats(shape, deviation);
  if (graph::flag(call.node, "invert", false))
    return call.result(emit.op("Add", {mean, emit.op("Mul", {call.x(), width})}));
  return call.result(emit.op("Div", {emit.op("Sub", {call.x(), mean}), width}));
}

}  // namespace

std::string unit(Emitter& emit, const std::string& x, const Shape& axes) {
  const std::string square = emit.reduce("ReduceSum", emit.op("Mul", {x, x}), axes, true);
  return emit.op("Div", {x, emit.op("Sqrt", {emit.op("Max", {square, emit.scalar(1e-12)})})});
}

std::vector<NamedLayer> normalization_layers() {
  return {{"BatchNormalization", batch_normalization}, {"LayerNormalization", layer_normalization},
          {"RMSNormalization", rms_normalization},     {"GroupNormalization", group_normalization},
          {"UnitNormalization", unit_normalization},   {"Normalization", normalization}};
}

}  // namespace linac::onnx
