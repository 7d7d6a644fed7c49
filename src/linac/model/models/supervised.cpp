#include "linac/model/models/supervised.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/target_values.h"
#include "linac/model/graph/masks.h"
#include "linac/model/graph/weight_rules.h"
#include "linac/model/models/logits.h"
#include "linac/model/models/own_losses.h"
#include "linac/model/models/runnable.h"
#include "linac/model/nn/gradient.h"
#include "linac/model/nn/losses.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models {
namespace {

const graph::Node& output_of(const graph::Graph& graph, size_t i) {
  return graph.nodes[static_cast<size_t>(graph.outputs[i])];
}

bool is_categorical(const std::string& loss) {
  return loss.starts_with("categorical_") || nn::is_sparse(loss);
}

int64_t classes_of(const graph::Node& output) {
  return std::max<int64_t>(2, output.output.empty() ? 1 : output.output.back());
}

SupervisedSettings checked(SupervisedSettings settings, const graph::Graph& graph) {
  const size_t outputs = graph.outputs.size();
  settings.losses = losses_of_outputs(graph, settings.losses);
  for (size_t i = 0; i < outputs; ++i) {
    const std::string& loss = settings.losses[i];
    const graph::Node& node = output_of(graph, i);
    const bool one_value = node.output.empty() || node.output.back() == 1;
    if (is_categorical(loss) && one_value) {
      throw user_error(fmt::format("[fit] {} wants several classes but output '{}' is {}; use binary_crossentropy",
                                   loss, node.name, graph::to_string(node.output)));
    }
  }
  if (!settings.class_weights.empty() && !job::has_target(settings.losses[0]))
    throw user_error(fmt::format("[fit] class weights are for the first output, '{}', which has no target",
                                 output_of(graph, 0).name));
  if (settings.loss_weights.empty()) settings.loss_weights.assign(outputs, 1);
  if (settings.loss_weights.size() != outputs) {
    throw user_error(fmt::format("[fit] train.fit.loss_weights has {} for {}",
                                 plural(static_cast<int64_t>(settings.loss_weights.size()), "number"),
                                 plural(static_cast<int64_t>(outputs), "output")));
  }
  const int64_t classes = classes_of(output_of(graph, 0));
  if (!settings.class_weights.empty() && static_cast<int64_t>(settings.class_weights.size()) != classes) {
    throw user_error(fmt::format("[fit] {} class weights for the {} classes of output '{}'",
                                 settings.class_weights.size(), classes, output_of(graph, 0).name));
  }
  return settings;
}

/// An output of a layer that adds to the loss.
struct PenalizedOutput {
  int node;
  graph::ActivityPenalty penalty;
};

std::vector<PenalizedOutput> penalized_outputs(const graph::Graph& graph) {
  std::vector<PenalizedOutput> penalized;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto penalty = graph::activity_penalty(graph.nodes[i]))
      penalized.push_back({static_cast<int>(i), *penalty});
  return penalized;
}

graph::Graph with_more(graph::Graph graph, const std::vector<PenalizedOutput>& more) {
  for (const PenalizedOutput& output : more) graph.outputs.push_back(output.node);
  return graph;
}

}  // namespace

struct Supervised::Parts {
  graph::Graph graph;  // as Keras knows it
  SupervisedSettings settings;
  std::vector<PenalizedOutput> activities;  // what `network` gives behind the graph's outputs
  Runnable network;
  std::vector<Target> targets;
  std::vector<std::string> measures{"loss"};
  size_t losses_named = 1;  // of the measures
  std::vector<Metric> metrics;
  std::vector<bool> from_logits;      // by output: whether its loss applies softmax or sigmoid
  std::vector<bool> masked;           // by output: whether a mask says which of its steps count
  bool weighs_steps = false;          // or events, by LabelledEvents::weights
  std::vector<bool> weight_sums;      // by output: whether a weighted metric is to be divided by it
  std::vector<std::string> divisors;  // the last of `measures`: what metrics are divided by
  bool penalized = false;             // some weight adds to the loss
  bool foreign = false;               // somebody else's code, which may go wrong in its own ways

  Parts(graph::Graph made, SupervisedSettings wanted, const Numerics& numerics)
      : graph(std::move(made)),
        settings(checked(std::move(wanted), graph)),
        activities(penalized_outputs(graph)),
        network(with_more(graph, activities), numerics) {
    prepare();
  }

  Parts(const ForeignModel& model, SupervisedSettings wanted)
      : graph(model.graph()), settings(checked(std::move(wanted), graph)), network(model), foreign(true) {
    prepare();
  }

  void prepare() {
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const graph::Node& node = output_of(graph, i);
      const std::string& loss = settings.losses[i];
      if (job::has_target(loss)) targets.push_back({i, node.output});
      if (nn::is_sparse(loss)) targets.back().shape.pop_back();
      if (reports_loss(i)) measures.push_back(measure_of_loss(node.name, loss));
      from_logits.push_back(takes_logits(graph, i, loss, settings.from_logits));
      masked.push_back(graph::has_mask(graph, graph.outputs[i]));
    }
    for (const graph::Node& node : graph.nodes)
      for (const graph::Weight& weight : node.weights) penalized = penalized || weight.l1 != 0 || weight.l2 != 0;
    losses_named = measures.size();
    metrics = metrics_of(graph, settings.losses, settings.metrics, settings.weighted_metrics);
    name_metrics();
  }

  /// Behind the names of the losses.
  void name_metrics() {
    weight_sums.assign(graph.outputs.size(), false);
    divisors.clear();
    for (const Metric& metric : metrics) {
      if (job::is_of_all_scores(metric.name)) continue;
      measures.push_back(metric.measure);
      if (metric.weighted && !is_counted(metric)) weight_sums[metric.output] = true;
    }
    for (const Metric& metric : metrics)
      if (is_counted(metric)) divisors.push_back(divisor_of(metric));
    for (size_t i = 0; i < weight_sums.size(); ++i)
      if (weight_sums[i]) divisors.push_back(weight_of(i));
    measures.insert(measures.end(), divisors.begin(), divisors.end());
  }

  /// Beside the loss of all.
  bool reports_loss(size_t output) const {
    const auto none = std::count(settings.losses.begin(), settings.losses.end(), job::kNoLoss);
    return settings.losses.size() - static_cast<size_t>(none) > 1 && settings.losses[output] != job::kNoLoss;
  }

  /// Whether it is divided by what it counted itself.
  bool is_counted(const Metric& metric) const {
    return !job::is_of_all_scores(metric.name) &&
           (nn::is_ratio(metric.name) || masked[metric.output] || (metric.weighted && weighs_steps));
  }

  std::string weight_of(size_t output) const { return "weight/" + output_of(graph, output).name; }
  /// Empty: it is a mean over the events.
  std::string divisor_of(const Metric& metric) const {
    if (is_counted(metric)) return "count/" + metric.measure;
    return metric.weighted ? weight_of(metric.output) : "";
  }

  static at::Tensor view(std::span<const float> values, int64_t events, const graph::Shape& shape) {
    LINAC_CHECK(static_cast<int64_t>(values.size()) == events * graph::elements(shape));
    return nn::tensor_view(values, nn::batch_shape(events, shape));
  }

  /// What the network gives, and which steps of it count: masks of the graph's own outputs, undefined where all do.
  struct Outputs {
    std::vector<at::Tensor> values, masks;
  };

  Outputs run(const nn::Weights& weights, const LabelledEvents& batch, nn::RunOptions options) const {
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      inputs.push_back(
          view(batch.inputs.at(i), batch.events, graph.nodes[static_cast<size_t>(graph.inputs[i])].output));
    }
    Outputs outputs;
    options.output_masks = &outputs.masks;
    outputs.values = network.run(weights, inputs, options);
    outputs.masks.resize(graph.outputs.size());
    return outputs;
  }

  /// The mask of an output that has one. Where its values come to no mask, all steps count.
  at::Tensor mask_of(const Outputs& outputs, size_t i) const {
    if (!masked[i] || outputs.masks[i].defined()) return outputs.masks[i];
    const at::Tensor& values = outputs.values[i];
    return at::ones({values.size(0)}, values.options().dtype(at::kBool));
  }

  // By output; undefined of those without.
  std::vector<at::Tensor> targets_of(const LabelledEvents& batch) const {
    std::vector<at::Tensor> of_outputs(graph.outputs.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      const at::Tensor target = view(batch.targets.at(i), batch.events, targets[i].shape);
      need_classes(target, targets[i].output);
      of_outputs[targets[i].output] = target.to(nn::torch_device(network.device()));
    }
    return of_outputs;
  }

  void need_classes(const at::Tensor& target, size_t i) const {
    if (!nn::is_sparse(settings.losses[i])) return;
    const int64_t classes = output_of(graph, i).output.back();
    if ((target >= 0).logical_and(target < classes).all().item<bool>()) return;
    throw data_error(fmt::format(
        "[fit] the target of output '{}' holds {}, not a class index of 0 to {}", output_of(graph, i).name,
        target.min().item<float>() < 0 ? target.min().item<float>() : target.max().item<float>(), classes - 1));
  }

  // (N), or (N, steps); undefined where all count the same.
  at::Tensor weights_of(const LabelledEvents& batch) const {
    if (batch.weights.empty()) return {};
    const auto each = static_cast<int64_t>(batch.weights.size()) / batch.events;
    return view(batch.weights, batch.events, weighs_steps ? graph::Shape{each} : graph::Shape{})
        .to(nn::torch_device(network.device()));
  }

  // What each event counts by its class, (N); undefined where all count the same.
  at::Tensor weights_of_classes(const at::Tensor& target) const {
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

  /// Weights of which each part has the whole gradient count once: as the first part's.
  bool is_left_to_the_first(size_t slot) const { return network.whole_weights().at(slot); }

  graph::GradientReady share_of(const graph::PartLink* part, const graph::GradientReady& ready,
                                const graph::Layout& layout) const {
    if (part == nullptr || part->part() == 0 || !ready) return ready;
    return [this, &ready, &layout](int64_t offset, std::span<const float> values) {
      const auto slot = std::ranges::find(layout.slots, offset, &graph::Slot::offset) - layout.slots.begin();
      if (!is_left_to_the_first(static_cast<size_t>(slot))) return ready(offset, values);
      ready(offset, std::vector<float>(values.size(), 0.0F));
    };
  }

  /// What all parts have alike: losses, statistics, and those gradients.
  void leave_to_the_first(const graph::Layout& layout, Contribution& contribution) const {
    std::ranges::fill(contribution.losses, 0.0F);
    std::ranges::fill(contribution.statistics, 0.0F);
    for (size_t slot = 0; slot < layout.slots.size(); ++slot) {
      const graph::Slot& place = layout.slots[slot];
      if (is_left_to_the_first(slot)) std::fill_n(contribution.gradient.begin() + place.offset, place.size, 0.0F);
    }
  }

  // What the outputs behind the graph's own add to the loss; undefined if there are none.
  at::Tensor activity_penalty(const std::vector<at::Tensor>& outputs, double event_weight) const {
    at::Tensor sum;
    for (size_t i = 0; i < activities.size(); ++i) {
      const at::Tensor& output = outputs.at(graph.outputs.size() + i);
      const graph::ActivityPenalty& penalty = activities[i].penalty;
      const at::Tensor part =
          event_weight * (penalty.l1 * at::abs(output).sum() + penalty.l2 * at::square(output).sum());
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  }

  /// The first of them is the loss, with its gradient; in the order of `measures`.
  std::vector<at::Tensor> shares(const Outputs& given, const LabelledEvents& batch, double event_weight,
                                 bool weigh_classes) const {
    const std::vector<at::Tensor>& outputs = given.values;
    const std::vector<at::Tensor> wanted = targets_of(batch);
    const at::Tensor weights = weights_of(batch), by_step = weighs_steps ? weights : at::Tensor();
    std::vector<at::Tensor> all{at::Tensor()};
    at::Tensor total;
    std::vector<std::vector<at::Tensor>> factors(graph.outputs.size());  // of the events
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (const at::Tensor of_classes = i == 0 && weigh_classes ? weights_of_classes(wanted[0]) : at::Tensor();
          of_classes.defined())
        factors[i].push_back(of_classes);
      if (weights.defined() && !weighs_steps) factors[i].push_back(weights);
    }
    const auto weighted = [&](at::Tensor events, size_t output) {
      for (const at::Tensor& factor : factors[output]) events = events * factor;
      return events;
    };
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (settings.losses[i] == job::kNoLoss) continue;
      const bool is_metric = settings.losses[i] == job::kOutputMetric;
      const nn::LossOptions options{.label_smoothing = settings.label_smoothing, .from_logits = from_logits[i]};
      const at::Tensor mask = mask_of(given, i),
                       steps = nn::product_of_steps(mask.defined() ? nn::weights_of_mask(mask) : at::Tensor(), by_step);
      const at::Tensor events = nn::loss_of_events(settings.losses[i], outputs[i], wanted[i], options, steps);
      const at::Tensor loss = event_weight * (is_metric ? events : weighted(events, i)).sum();
      if (reports_loss(i)) all.push_back(loss);
      if (is_metric) continue;
      const at::Tensor part = settings.loss_weights[i] * loss;
      total = total.defined() ? total + part : part;
    }
    const at::Tensor penalty = activity_penalty(outputs, event_weight);
    all[0] = penalty.defined() ? total + penalty : total;
    const at::NoGradGuard no_gradient;
    std::vector<at::Tensor> counts;
    for (const Metric& metric : metrics) {
      if (job::is_of_all_scores(metric.name)) continue;
      const size_t i = metric.output;
      const nn::EventMetric events =
          nn::metric_of_events(metric.name, outputs[i], wanted[i], nn::is_sparse(settings.losses[i]), mask_of(given, i),
                               metric.weighted ? by_step : at::Tensor());
      const auto share = [&](const at::Tensor& values) {
        return event_weight * (metric.weighted ? weighted(values, i) : values).sum();
      };
      all.push_back(share(events.values));
      if (events.counts.defined()) counts.push_back(share(events.counts));
    }
    all.insert(all.end(), counts.begin(), counts.end());
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      if (weight_sums[i])
        all.push_back(event_weight * weighted(at::ones({batch.events}, outputs[i].options()), i).sum());
    return all;
  }
};

Supervised::Supervised(graph::Graph graph, SupervisedSettings settings, const Numerics& numerics)
    : parts_(std::make_unique<Parts>(std::move(graph), std::move(settings), numerics)) {}

Supervised::Supervised(const ForeignModel& model, SupervisedSettings settings)
    : parts_(std::make_unique<Parts>(model, std::move(settings))) {}

Supervised::~Supervised() = default;

int64_t Supervised::classes_of_first() const {
  return classes_of(output_of(parts_->graph, 0));
}

void Supervised::weigh_classes(std::vector<double> weights) {
  LINAC_CHECK(static_cast<int64_t>(weights.size()) == classes_of_first());
  parts_->settings.class_weights = std::move(weights);
}

void Supervised::weigh_steps() {
  Parts& parts = *parts_;
  LINAC_CHECK(!parts.targets.empty());
  const graph::Shape& steps = output_of(graph(), parts.targets.front().output).output;
  for (size_t i = 0; i < graph().outputs.size(); ++i) {
    const graph::Node& output = output_of(graph(), i);
    if (losses()[i] == job::kNoLoss || (output.output.size() > 1 && output.output.front() == steps.front())) continue;
    throw user_error(
        fmt::format("[fit] output '{}' has not the {} steps that data.event_weight weighs; give a weight of "
                    "each event",
                    output.name, steps.front()));
  }
  parts.measures.resize(parts.losses_named);
  parts.weighs_steps = true;
  parts.name_metrics();
}

const graph::Graph& Supervised::graph() const {
  return parts_->graph;
}

std::string Supervised::explain() const {
  return parts_->network.explain(parts_->graph);
}

std::string Supervised::division() const {
  return parts_->network.division();
}

const std::vector<Supervised::Target>& Supervised::targets() const {
  return parts_->targets;
}

const std::vector<std::string>& Supervised::measures() const {
  return parts_->measures;
}

const std::vector<std::string>& Supervised::losses() const {
  return parts_->settings.losses;
}

void Supervised::divide_by_weights(std::map<std::string, double>& measures) const {
  for (const Metric& metric : parts_->metrics) {
    const auto value = measures.find(metric.measure), divisor = measures.find(parts_->divisor_of(metric));
    if (value == measures.end() || divisor == measures.end()) continue;
    value->second = divisor->second == 0 ? 0 : value->second / divisor->second;
  }
  for (const std::string& divisor : parts_->divisors) measures.erase(divisor);
}

std::vector<std::string> Supervised::reported() const {
  std::vector<std::string> names = parts_->measures;
  names.resize(names.size() - parts_->divisors.size());
  return names;
}

const std::vector<Metric>& Supervised::metrics() const {
  return parts_->metrics;
}

std::vector<Metric> Supervised::of_all_scores() const {
  std::vector<Metric> found;
  for (const Metric& metric : parts_->metrics)
    if (job::is_of_all_scores(metric.name)) found.push_back(metric);
  return found;
}

// A penalty is added after the backward pass: no gradient is final before.
bool Supervised::tells_gradients() const {
  return !parts_->penalized;
}

Contribution Supervised::step(const graph::Parameters& parameters, const LabelledEvents& batch, const RngKey& key,
                              double event_weight, const graph::GradientReady& ready, graph::PartLink* part) const {
  const nn::Weights weights = parts_->network.weights(parameters, nn::Gradients::kWanted);
  Contribution contribution;
  RngKey dropout = key;
  dropout.stream = Stream::kDropout;
  const auto outputs = parts_->run(weights, batch,
                                   {.mode = nn::Mode::kTraining,
                                    .dropout_key = dropout,
                                    .batch_statistics = &contribution.statistics,
                                    .part = part});
  const auto shares = parts_->shares(outputs, batch, event_weight, /*weigh_classes=*/true);
  for (const at::Tensor& share : shares) contribution.losses.push_back(share.item<float>());
  try {
    contribution.gradient = nn::flat_gradient(
        shares[0], weights, parameters.trainable_layout,
        tells_gradients() ? parts_->share_of(part, ready, parameters.trainable_layout) : graph::GradientReady{},
        &contribution.stayed_finite);
  } catch (const c10::Error& error) {
    if (!parts_->foreign) throw;
    const std::string reason = error.what_without_backtrace();
    throw user_error(fmt::format("[fit] {}: forward() runs, but LibTorch cannot follow it back: {}", graph().name,
                                 reason.substr(0, reason.find('\n'))));
  }
  if (part != nullptr && part->part() > 0)
    parts_->leave_to_the_first(parameters.trainable_layout, contribution);
  else
    contribution.losses[0] += parts_->add_penalty(parameters, batch.events, event_weight, contribution.gradient);
  contribution.judge();
  return contribution;
}

std::optional<NotFinite> Supervised::find_not_finite(const graph::Parameters& parameters, const LabelledEvents& batch,
                                                     const RngKey& key) const {
  RngKey dropout = key;
  dropout.stream = Stream::kDropout;
  return models::find_not_finite(graph(), parameters, batch.inputs, batch.events, dropout);
}

Supervised::Tested Supervised::test(const graph::Parameters& parameters, const LabelledEvents& batch,
                                    double event_weight, graph::PartLink* part) const {
  const at::NoGradGuard no_gradient;
  const Parts::Outputs given =
      parts_->run(parts_->network.weights(parameters, nn::Gradients::kNone), batch, {.part = part});
  const std::vector<at::Tensor>& outputs = given.values;
  Tested tested;
  for (const at::Tensor& share : parts_->shares(given, batch, event_weight, false))
    tested.measures.push_back(share.item<float>());
  AlignedFloats unwanted(parts_->penalized ? parameters.trainable.size() : 0);
  tested.measures[0] += parts_->add_penalty(parameters, batch.events, event_weight, unwanted);
  if (part != nullptr && part->part() > 0) std::ranges::fill(tested.measures, 0.0F);
  tested.scores.resize(graph().outputs.size());
  for (const Metric& metric : of_all_scores()) {
    const at::Tensor scores = outputs[metric.output].to(at::kCPU).to(at::kFloat).contiguous();
    tested.scores[metric.output].assign(scores.const_data_ptr<float>(),
                                        scores.const_data_ptr<float>() + scores.numel());
  }
  return tested;
}

}  // namespace linac::models
