#include "linac/model/models/runnable.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/trace.h"
#include "linac/model/graph/split/explain.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/explain.h"
#include "linac/model/nn/foreign_module.h"
#include "linac/model/nn/turned_values.h"

namespace linac::models {

Runnable::Runnable(graph::Graph graph, const Numerics& numerics) {
  const auto kernels = numerics.kernels == Kernels::kLinac ? nn::Kernels::kLinac : nn::Kernels::kAten;
  const auto add = [&](graph::Graph one) {
    executables_.emplace_back(std::move(one), kernels,
                              numerics.precision == Precision::kFp32 ? nn::Precision::kFloat : nn::Precision::kBfloat16,
                              numerics.device == Device::kCpu ? nn::Device::kCpu : nn::Device::kCuda);
  };
  if (numerics.split.count() == 1) {
    add(std::move(graph));
    return;
  }
  graph::SplitGraph split = graph::split_graph(graph, numerics.split, nn::lanes_of(graph, kernels));
  division_ = graph::explain(graph, numerics.split, split);
  division_in_brief_ = graph::in_brief(graph, numerics.split, split);
  whole_weights_ = std::move(split.whole_weights);
  for (graph::Graph& part : split.parts) add(std::move(part));
}

Runnable::Runnable(const ForeignModel& model) : foreign_(model.module()) {}

Runnable::Runnable(Runnable&&) noexcept = default;
Runnable::~Runnable() = default;

nn::Device Runnable::device() const {
  return foreign_ ? nn::Device::kCpu : executables_.front().device();
}

nn::Weights Runnable::weights(const graph::Parameters& parameters, nn::Gradients gradients) const {
  return foreign_ ? foreign_->weights(parameters, gradients)
                  : nn::make_weights(executables_.front().graph(), parameters, gradients, device());
}

std::vector<at::Tensor> Runnable::run(const nn::Weights& weights, const std::vector<at::Tensor>& inputs,
                                      const nn::RunOptions& options) const {
  if (!foreign_) {
    LINAC_CHECK((options.part != nullptr) == (executables_.size() > 1));
    const int part = options.part != nullptr ? options.part->part() : 0;
    return executables_.at(static_cast<size_t>(part)).run(weights, inputs, options);
  }
  const trace::Span span("forward");
  std::vector<at::Tensor> outputs = foreign_->run(weights, inputs, options);
  nn::TurnedValues(1).see(0, outputs.front());
  return outputs;
}

std::string Runnable::explain(const graph::Graph& given) const {
  if (foreign_) return fmt::format("{}: foreign code, as it is\n", given.name);
  return executables_.size() > 1 ? division_ : nn::explain(given, executables_.front());
}

}  // namespace linac::models
