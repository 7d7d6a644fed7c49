#include "linac/model/models/runnable.h"

#include <fmt/format.h>

#include "linac/base/base/trace.h"
#include "linac/model/nn/explain.h"
#include "linac/model/nn/foreign_module.h"

namespace linac::models {

Runnable::Runnable(graph::Graph graph, const Numerics& numerics) {
  executable_.emplace(std::move(graph), numerics.kernels == Kernels::kLinac ? nn::Kernels::kLinac : nn::Kernels::kAten,
                      numerics.precision == Precision::kFp32 ? nn::Precision::kFloat : nn::Precision::kBfloat16,
                      numerics.device == Device::kCpu ? nn::Device::kCpu : nn::Device::kCuda);
}

Runnable::Runnable(const ForeignModel& model) : foreign_(model.module()) {}

Runnable::Runnable(Runnable&&) noexcept = default;
Runnable::~Runnable() = default;

nn::Device Runnable::device() const {
  return executable_ ? executable_->device() : nn::Device::kCpu;
}

nn::Weights Runnable::weights(const graph::Parameters& parameters, nn::Gradients gradients) const {
  return executable_ ? nn::make_weights(executable_->graph(), parameters, gradients, device())
                     : foreign_->weights(parameters, gradients);
}

std::vector<at::Tensor> Runnable::run(const nn::Weights& weights, const std::vector<at::Tensor>& inputs,
                                      const nn::RunOptions& options) const {
  if (executable_) return executable_->run(weights, inputs, options);
  const trace::Span span("forward");
  return foreign_->run(weights, inputs, options);
}

std::string Runnable::explain(const graph::Graph& given) const {
  return executable_ ? nn::explain(given, *executable_) : fmt::format("{}: foreign code, as it is\n", given.name);
}

}  // namespace linac::models
