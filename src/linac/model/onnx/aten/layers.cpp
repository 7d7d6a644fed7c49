#include <cmath>
#include <utility>

#include "linac/model/onnx/aten/call.h"

namespace linac::onnx::aten {
namespace {

std::string add_bias(const Call& call, const std::string& x) {
  return call.has("bias") ? call.emit.op("Add", {x, call.tensor("bias").name}) : x;
}

// x W^T + b
void linear(const Call& call) {
  const std::string weight = call.emit.transpose(call.tensor("weight").name, {1, 0});
  call.result(add_bias(call, call.emit.op("MatMul", {call.tensor("input").name, weight})));
}

template <const char* Second>
void product(const Call& call) {
  call.result(call.emit.op("MatMul", {call.tensor("self").name, call.tensor(Second).name}));
}

void addmm(const Call& call) {
  if (call.real("beta", 1) != 1 || call.real("alpha", 1) != 1) call.refuse("'beta' or 'alpha' is not 1");
  const std::string product = call.emit.op("MatMul", {call.tensor("mat1").name, call.tensor("mat2").name});
  call.result(call.emit.op("Add", {product, call.tensor("self").name}));
}

// As ONNX has them: all begins, then all ends.
Shape both_ends(const Shape& padding) {
  Shape pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

void convolution(const Call& call) {
  if (call.flag("transposed"))
    call.refuse("is a transposed convolution, which linac does not write of PyTorch's models");
  const Tensor x = call.tensor("input");
  const auto cells = static_cast<size_t>(x.rank()) - 2;
  const Shape ones(cells, 1), zeros(cells, 0);
  std::vector<Attribute> attributes{{"strides", call.integers("stride", ones, cells)},
                                    {"dilations", call.integers("dilation", ones, cells)},
                                    {"group", call.integer("groups", 1)}};
  if (call.is_text("padding")) {
    const bool same = call.text("padding", "valid") == "same";
    attributes.push_back({"auto_pad", std::string(same ? "SAME_UPPER" : "VALID")});
  } else {
    attributes.push_back({"pads", both_ends(call.integers("padding", zeros, cells))});
  }
  Emitter::Names inputs{x.name, call.tensor("weight").name};
  if (call.has("bias")) inputs.push_back(call.tensor("bias").name);
  call.result(call.emit.op("Conv", inputs, std::move(attributes)));
}

// A constant in place of a weight that the layer goes without.
std::string weight_or(const Call& call, const std::string& argument, int64_t size, float otherwise) {
  if (call.has(argument)) return call.tensor(argument).name;
  return call.emit.floats({size}, std::vector<float>(static_cast<size_t>(size), otherwise));
}

void batch_norm(const Call& call) {
  const Tensor x = call.tensor("input");
  const auto* const channels = x.rank() > 1 ? std::get_if<int64_t>(&x.shape[1]) : nullptr;
  if (channels == nullptr) call.refuse("normalises an axis of no fixed extent");
  if (!call.has("running_mean") || !call.has("running_var"))
    call.refuse("has no running statistics, so its result depends on the other events");
  call.result(call.emit.op("BatchNormalization",
                           {x.name, weight_or(call, "weight", *channels, 1), weight_or(call, "bias", *channels, 0),
                            call.tensor("running_mean").name, call.tensor("running_var").name},
                           {{"epsilon", static_cast<float>(call.real("eps", 1e-5))}}));
}

void layer_norm(const Call& call) {
  const Shape shape = call.integers("normalized_shape", {});
  const int64_t size = graph::elements(shape);
  const auto weight = [&](const char* argument, float otherwise) {
    if (call.has(argument)) return call.tensor(argument).name;
    return call.emit.floats(shape, std::vector<float>(static_cast<size_t>(size), otherwise));
  };
  call.result(call.emit.op(
      "LayerNormalization", {call.tensor("input").name, weight("weight", 1), weight("bias", 0)},
      {{"axis", -static_cast<int64_t>(shape.size())}, {"epsilon", static_cast<float>(call.real("eps", 1e-5))}}));
}

std::vector<Attribute> window(const Call& call, size_t cells) {
  const Shape kernel = call.integers("kernel_size", {}, cells);
  if (kernel.size() != cells || call.tensor("self").rank() != static_cast<int64_t>(cells) + 2)
    call.refuse("pools another number of axes than linac writes");
  return {{"kernel_shape", kernel},
          {"strides", call.integers("stride", kernel, cells)},
          {"pads", both_ends(call.integers("padding", Shape(cells, 0), cells))},
          {"ceil_mode", int64_t{call.flag("ceil_mode")}}};
}

template <size_t Cells>
void max_pool(const Call& call) {
  auto attributes = window(call, Cells);
  attributes.push_back({"dilations", call.integers("dilation", Shape(Cells, 1), Cells)});
  call.result(call.emit.op("MaxPool", {call.tensor("self").name}, std::move(attributes)));
}

template <size_t Cells>
void average_pool(const Call& call) {
  if (call.has("divisor_override")) call.refuse("has a 'divisor_override'");
  auto attributes = window(call, Cells);
  attributes.push_back({"count_include_pad", int64_t{call.flag("count_include_pad", true)}});
  call.result(call.emit.op("AveragePool", {call.tensor("self").name}, std::move(attributes)));
}

template <size_t Cells, const char* Reduce>
void pool_to_one(const Call& call) {
  const Tensor x = call.tensor("self");
  for (const int64_t extent : call.integers("output_size", {}))
    if (extent != 1) call.refuse("is written for an output_size of 1 alone");
  Shape axes;
  for (int64_t axis = x.rank() - static_cast<int64_t>(Cells); axis < x.rank(); ++axis) axes.push_back(axis);
  call.result(call.emit.reduce(Reduce, x.name, axes, true));
}

void embedding(const Call& call) {
  const Tensor words = call.tensor("indices");
  call.result(call.emit.op("Gather", {call.tensor("weight").name, words.name}, {{"axis", int64_t{0}}}));
}

// softmax(q k^T / sqrt(width) + mask) v
void attention(const Call& call) {
  Emitter& emit = call.emit;
  const Tensor query = call.tensor("query"), key = call.tensor("key");
  if (call.flag("is_causal") || call.flag("enable_gqa")) call.refuse("is causal or groups its heads");
  const auto* const width = std::get_if<int64_t>(&query.shape.back());
  if (width == nullptr) call.refuse("has no fixed width");
  Shape swapped;
  for (int64_t i = 0; i < key.rank(); ++i) swapped.push_back(i);
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  const double scale = call.real("scale", 1 / std::sqrt(static_cast<double>(*width)));
  std::string scores = emit.op("MatMul", {query.name, emit.transpose(key.name, swapped)});
  scores = emit.op("Mul", {scores, emit.scalar(scale)});
  if (call.has("attn_mask")) {
    const Tensor mask = call.tensor("attn_mask");
    scores = mask.type == Type::kBool ? emit.op("Where", {mask.name, scores, emit.scalar(-HUGE_VAL)})
                                      : emit.op("Add", {scores, mask.name});
  }
  const std::string shares = emit.op("Softmax", {scores}, {{"axis", int64_t{-1}}});
  call.result(emit.op("MatMul", {shares, call.tensor("value").name}));
}

// Not in evaluation.
template <const char* Argument>
void dropout(const Call& call) {
  call.result(call.tensor(Argument).name);
}

constexpr char kMat2[] = "mat2", kOther[] = "other", kMean[] = "ReduceMean", kMax[] = "ReduceMax", kInput[] = "input";

}  // namespace

std::vector<NamedFunction> layers() {
  return {
      {"linear.default", linear},
      {"mm.default", product<kMat2>},
      {"bmm.default", product<kMat2>},
      {"matmul.default", product<kOther>},
      {"addmm.default", addmm},
      {"conv1d.default", convolution},
      {"conv2d.default", convolution},
      {"conv3d.default", convolution},
      {"conv1d.padding", convolution},
      {"conv2d.padding", convolution},
      {"conv3d.padding", convolution},
      {"convolution.default", convolution},
      {"batch_norm.default", batch_norm},
      {"_native_batch_norm_legit_no_training.default", batch_norm},
      {"_native_batch_norm_legit_functional.default", batch_norm},
      {"layer_norm.default", layer_norm},
      {"native_layer_norm.default", layer_norm},
      {"max_pool1d.default", max_pool<1>},
      {"max_pool2d.default", max_pool<2>},
      {"max_pool3d.default", max_pool<3>},
      {"max_pool2d_with_indices.default", max_pool<2>},
      {"max_pool3d_with_indices.default", max_pool<3>},
      {"avg_pool1d.default", average_pool<1>},
      {"avg_pool2d.default", average_pool<2>},
      {"avg_pool3d.default", average_pool<3>},
      {"adaptive_avg_pool1d.default", pool_to_one<1, kMean>},
      {"adaptive_avg_pool2d.default", pool_to_one<2, kMean>},
      {"adaptive_avg_pool3d.default", pool_to_one<3, kMean>},
      {"adaptive_max_pool1d.default", pool_to_one<1, kMax>},
      {"adaptive_max_pool2d.default", pool_to_one<2, kMax>},
      {"embedding.default", embedding},
      {"scaled_dot_product_attention.default", attention},
      {"dropout.default", dropout<kInput>},
      {"alpha_dropout.default", dropout<kInput>},
      {"feature_dropout.default", dropout<kInput>},
      {"feature_alpha_dropout.default", dropout<kInput>},
  };
}

}  // namespace linac::onnx::aten
