#include "linac/models/supervised.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/nearest.h"
#include "linac/models/runnable.h"
#include "linac/nn/gradient.h"
#include "linac/nn/losses.h"
#include "linac/nn/tensor_view.h"

namespace linac::models {
namespace {

const graph::Node& output_of(const graph::Graph& graph, size_t i) {
  return graph.nodes[static_cast<size_t>(graph.outputs[i])];
}

void need_known(const std::string& name, const std::vector<std::string>& known, const std::string& what) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const auto near = nearest(name, known);
  throw user_error(fmt::format("[fit] {} '{}' is not there{} (known: {})", what, name,
                               near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", ")));
}

bool is_categorical(const std::string& loss) {
  return loss.starts_with("categorical_") || nn::is_sparse(loss);
}

SupervisedSettings checked(SupervisedSettings settings, const graph::Graph& graph) {
  const size_t outputs = graph.outputs.size();
  if (settings.losses.size() == 1 && outputs > 1) settings.losses.resize(outputs, settings.losses[0]);
  if (settings.losses.size() != outputs) {
    throw user_error(fmt::format("[fit] {} losses for the {} outputs of '{}'; give train.fit.loss one for each output",
                                 settings.losses.size(), outputs, graph.name));
  }
  for (size_t i = 0; i < outputs; ++i) {
    std::string& loss = settings.losses[i];
    loss = nn::full_name(loss);
    need_known(loss, nn::loss_names(), "loss");
    const graph::Node& node = output_of(graph, i);
    const bool one_value = node.output.empty() || node.output.back() == 1;
    if (is_categorical(loss) && one_value) {
      throw user_error(fmt::format("[fit] {} wants several classes but output '{}' is {}; use binary_crossentropy",
                                   loss, node.name, graph::to_string(node.output)));
    }
  }
  if (settings.loss_weights.empty()) settings.loss_weights.assign(outputs, 1);
  if (settings.loss_weights.size() != outputs) {
    throw user_error(fmt::format("[fit] {} loss_weights for {} outputs", settings.loss_weights.size(), outputs));
  }
  for (std::string& metric : settings.metrics) {
    metric = nn::full_name(metric);
    need_known(metric, nn::metric_names(), "metric");
  }
  const graph::Shape& first = output_of(graph, 0).output;
  const int64_t classes = std::max<int64_t>(2, first.empty() ? 1 : first.back());
  if (!settings.class_weights.empty() && static_cast<int64_t>(settings.class_weights.size()) != classes) {
    throw user_error(fmt::format("[fit] {} class weights for the {} classes of output '{}'",
                                 settings.class_weights.size(), classes, output_of(graph, 0).name));
  }
  return settings;
}

}  // namespace

bool is_metric(const std::string& name) {
  const auto known = nn::metric_names();
  return std::find(known.begin(), known.end(), nn::full_name(name)) != known.end();
}

struct Supervised::Parts {
  graph::Graph graph;  // as Keras knows it
  SupervisedSettings settings;
  Runnable network;
  std::vector<graph::Shape> target_shapes;
  std::vector<std::string> measures{"loss"};
  bool auc = false;
  bool penalized = false;  // some weight adds to the loss

  Parts(graph::Graph made, SupervisedSettings wanted, Runnable runnable)
      : graph(std::move(made)), settings(checked(std::move(wanted), graph)), network(std::move(runnable)) {
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const graph::Node& node = output_of(graph, i);
      target_shapes.push_back(node.output);
      if (nn::is_sparse(settings.losses[i])) target_shapes.back().pop_back();
      if (graph.outputs.size() > 1) measures.push_back("loss_" + node.name);
    }
    for (const graph::Node& node : graph.nodes)
      for (const graph::Weight& weight : node.weights) penalized = penalized || weight.l1 != 0 || weight.l2 != 0;
    for (const std::string& metric : settings.metrics) {
      if (metric == "auc")
        auc = true;
      else
        measures.push_back(metric);
    }
  }

  static at::Tensor view(std::span<const float> values, int64_t events, const graph::Shape& shape) {
    LINAC_CHECK(static_cast<int64_t>(values.size()) == events * graph::elements(shape));
    return nn::tensor_view(values, nn::batch_shape(events, shape));
  }

  std::vector<at::Tensor> run(const nn::Weights& weights, const LabelledEvents& batch,
                              const nn::RunOptions& options) const {
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      inputs.push_back(
          view(batch.inputs.at(i), batch.events, graph.nodes[static_cast<size_t>(graph.inputs[i])].output));
    }
    return network.run(weights, inputs, options);
  }

  std::vector<at::Tensor> targets_of(const LabelledEvents& batch) const {
    std::vector<at::Tensor> targets;
    for (size_t i = 0; i < target_shapes.size(); ++i) {
      const at::Tensor target = view(batch.targets.at(i), batch.events, target_shapes[i]);
      need_classes(target, i);
      targets.push_back(target.to(nn::torch_device(network.device())));
    }
    return targets;
  }

  void need_classes(const at::Tensor& target, size_t i) const {
    if (!nn::is_sparse(settings.losses[i])) return;
    const int64_t classes = output_of(graph, i).output.back();
    if ((target >= 0).logical_and(target < classes).all().item<bool>()) return;
    throw data_error(fmt::format(
        "[fit] the target of output '{}' holds {}, not a class index of 0 to {}", output_of(graph, i).name,
        target.min().item<float>() < 0 ? target.min().item<float>() : target.max().item<float>(), classes - 1));
  }

  // What each event counts, (N); undefined where all count the same.
  at::Tensor weights_of_events(const at::Tensor& target) const {
    if (settings.class_weights.empty()) return {};
    std::vector<float> weights(settings.class_weights.begin(), settings.class_weights.end());
    const at::Tensor table = at::tensor(weights).to(target.device());
    return table.index_select(0, nn::class_of_events(target, nn::is_sparse(settings.losses[0])));
  }

  // The events' share of what the weights add to the loss, to which no event contributes.
  float add_penalty(const graph::Parameters& parameters, int64_t events, double event_weight,
                    std::span<float> gradient) const {
    if (!penalized) return 0;
    const double share = event_weight * static_cast<double>(events);
    return static_cast<float>(graph::add_penalty(graph, parameters, share, gradient));
  }

  /// The first of them is the loss, with its gradient; in the order of `measures`.
  std::vector<at::Tensor> shares(const std::vector<at::Tensor>& outputs, const LabelledEvents& batch,
                                 double event_weight, bool weigh_classes) const {
    const std::vector<at::Tensor> targets = targets_of(batch);
    const at::Tensor weights = batch.weights.empty()
                                   ? at::Tensor()
                                   : view(batch.weights, batch.events, {}).to(nn::torch_device(network.device()));
    const nn::LossOptions options{.label_smoothing = settings.label_smoothing, .from_logits = settings.from_logits};
    std::vector<at::Tensor> all{at::Tensor()};
    at::Tensor total;
    for (size_t i = 0; i < outputs.size(); ++i) {
      at::Tensor events = nn::loss_of_events(settings.losses[i], outputs[i], targets[i], options);
      if (const at::Tensor of_classes = i == 0 && weigh_classes ? weights_of_events(targets[0]) : at::Tensor();
          of_classes.defined())
        events = events * of_classes;
      if (weights.defined()) events = events * weights;
      const at::Tensor loss = event_weight * events.sum(), part = settings.loss_weights[i] * loss;
      total = total.defined() ? total + part : part;
      if (outputs.size() > 1) all.push_back(loss);
    }
    all[0] = total;
    for (const std::string& metric : settings.metrics) {
      if (metric == "auc") continue;
      const at::NoGradGuard no_gradient;
      all.push_back(event_weight *
                    nn::metric_of_events(metric, outputs[0], targets[0], nn::is_sparse(settings.losses[0])).sum());
    }
    return all;
  }
};

Supervised::Supervised(graph::Graph graph, SupervisedSettings settings, const Numerics& numerics)
    : parts_(std::make_unique<const Parts>(graph, std::move(settings), Runnable(graph, numerics))) {}

Supervised::Supervised(const ForeignModel& model, SupervisedSettings settings)
    : parts_(std::make_unique<const Parts>(model.graph(), std::move(settings), Runnable(model))) {}

Supervised::~Supervised() = default;

const graph::Graph& Supervised::graph() const {
  return parts_->graph;
}

std::string Supervised::explain() const {
  return parts_->network.explain(parts_->graph);
}

const std::vector<graph::Shape>& Supervised::target_shapes() const {
  return parts_->target_shapes;
}

const std::vector<std::string>& Supervised::measures() const {
  return parts_->measures;
}

const std::vector<std::string>& Supervised::losses() const {
  return parts_->settings.losses;
}

bool Supervised::wants_auc() const {
  return parts_->auc;
}

Contribution Supervised::step(const graph::Parameters& parameters, const LabelledEvents& batch, const RngKey& key,
                              double event_weight, const graph::GradientReady& ready) const {
  const nn::Weights weights = parts_->network.weights(parameters, nn::Gradients::kWanted);
  Contribution contribution;
  RngKey dropout = key;
  dropout.stream = Stream::kDropout;
  const auto outputs =
      parts_->run(weights, batch,
                  {.mode = nn::Mode::kTraining, .dropout_key = dropout, .batch_statistics = &contribution.statistics});
  const auto shares = parts_->shares(outputs, batch, event_weight, /*weigh_classes=*/true);
  for (const at::Tensor& share : shares) contribution.losses.push_back(share.item<float>());
  // A penalty is added afterwards: then no gradient is final before.
  contribution.gradient = nn::flat_gradient(shares[0], weights, parameters.trainable_layout,
                                            parts_->penalized ? graph::GradientReady{} : ready);
  contribution.losses[0] += parts_->add_penalty(parameters, batch.events, event_weight, contribution.gradient);
  contribution.judge();
  return contribution;
}

Supervised::Tested Supervised::test(const graph::Parameters& parameters, const LabelledEvents& batch,
                                    double event_weight) const {
  const at::NoGradGuard no_gradient;
  const auto outputs = parts_->run(parts_->network.weights(parameters, nn::Gradients::kNone), batch, {});
  Tested tested;
  for (const at::Tensor& share : parts_->shares(outputs, batch, event_weight, false))
    tested.measures.push_back(share.item<float>());
  AlignedFloats unwanted(parts_->penalized ? parameters.trainable.size() : 0);
  tested.measures[0] += parts_->add_penalty(parameters, batch.events, event_weight, unwanted);
  const at::Tensor scores = outputs[0].to(at::kCPU).to(at::kFloat).contiguous();
  tested.scores.assign(scores.const_data_ptr<float>(), scores.const_data_ptr<float>() + scores.numel());
  return tested;
}

}  // namespace linac::models
