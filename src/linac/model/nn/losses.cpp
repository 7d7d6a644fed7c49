#include "linac/model/nn/losses.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "linac/base/base/error.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/target_values.h"

namespace linac::nn {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras's backend epsilon
constexpr int64_t kTopK = 5;       // Keras's default

using Loss = at::Tensor (*)(const at::Tensor& p, const at::Tensor& t, const LossOptions& options);

// (N, ...) -> (N). `steps`: (N, steps...), what the first axes are multiplied by; undefined: 1.
at::Tensor mean_of_event(const at::Tensor& values, const at::Tensor& steps = {}) {
  const int64_t events = values.size(0);
  if (!steps.defined()) return values.reshape({events, -1}).mean(1);
  if (steps.dim() > values.dim()) {
    throw user_error(fmt::format("[fit] a mask of {} axes does not fit the losses of an output, which have {}",
                                 steps.dim(), values.dim()));
  }
  return product_of_steps(values, steps).reshape({events, -1}).mean(1);
}

at::Tensor clipped(const at::Tensor& probability) {
  return at::clamp(probability, kEpsilon, 1 - kEpsilon);
}

at::Tensor log_probabilities(const at::Tensor& p, const LossOptions& options) {
  if (options.from_logits) return at::log_softmax(p, -1);
  return at::log(clipped(p / p.sum(-1, /*keepdim=*/true)));
}

at::Tensor categorical_crossentropy(const at::Tensor& p, const at::Tensor& t, const LossOptions& options) {
  const double smoothing = options.label_smoothing;
  const at::Tensor target = smoothing > 0 ? t * (1 - smoothing) + smoothing / static_cast<double>(t.size(-1)) : t;
  return -(target * log_probabilities(p, options)).sum(-1);
}

at::Tensor sparse_categorical_crossentropy(const at::Tensor& p, const at::Tensor& t, const LossOptions& options) {
  return -log_probabilities(p, options).gather(-1, t.to(at::kLong).unsqueeze(-1)).squeeze(-1);
}

at::Tensor categorical_focal_crossentropy(const at::Tensor& p, const at::Tensor& t, const LossOptions& options) {
  constexpr double kAlpha = 0.25, kGamma = 2;
  const double smoothing = options.label_smoothing;
  const at::Tensor target = smoothing > 0 ? t * (1 - smoothing) + smoothing / static_cast<double>(t.size(-1)) : t;
  const at::Tensor logarithm = log_probabilities(p, options);
  return -(kAlpha * at::pow(1 - at::exp(logarithm), kGamma) * target * logarithm).sum(-1);
}

at::Tensor binary_terms(const at::Tensor& p, const at::Tensor& target, const LossOptions& options) {
  if (options.from_logits) return at::binary_cross_entropy_with_logits(p, target, {}, {}, at::Reduction::None);
  const at::Tensor probability = clipped(p);
  return -(target * at::log(probability) + (1 - target) * at::log(1 - probability));
}

at::Tensor smoothed(const at::Tensor& t, const LossOptions& options) {
  return options.label_smoothing > 0 ? t * (1 - options.label_smoothing) + 0.5 * options.label_smoothing : t;
}

at::Tensor binary_crossentropy(const at::Tensor& p, const at::Tensor& t, const LossOptions& options) {
  return binary_terms(p, smoothed(t, options), options);
}

at::Tensor binary_focal_crossentropy(const at::Tensor& p, const at::Tensor& t, const LossOptions& options) {
  constexpr double kGamma = 2;
  const at::Tensor target = smoothed(t, options), probability = options.from_logits ? at::sigmoid(p) : p;
  const at::Tensor hit = target * probability + (1 - target) * (1 - probability);
  return at::pow(1 - hit, kGamma) * binary_terms(p, target, options);
}

at::Tensor mean_squared_error(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return at::square(p - t);
}

at::Tensor mean_absolute_error(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return at::abs(p - t);
}

at::Tensor mean_absolute_percentage_error(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return 100 * at::abs((t - p) / at::clamp_min(at::abs(t), kEpsilon));
}

at::Tensor mean_squared_logarithmic_error(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return at::square(at::log1p(at::clamp_min(p, kEpsilon)) - at::log1p(at::clamp_min(t, kEpsilon)));
}

at::Tensor huber(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return at::huber_loss(p, t, at::Reduction::None, /*delta=*/1.0);
}

at::Tensor log_cosh(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  const at::Tensor error = p - t;
  return error + at::softplus(-2 * error) - std::log(2.0);
}

at::Tensor kl_divergence(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  const at::Tensor target = at::clamp(t, kEpsilon, 1.0), probability = at::clamp(p, kEpsilon, 1.0);
  return (target * at::log(target / probability)).sum(-1);
}

at::Tensor poisson(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return p - t * at::log(p + kEpsilon);
}

// Keras takes labels of 0 and 1 as -1 and 1 where a batch has no others.
at::Tensor signs(const at::Tensor& t) {
  return ((t == 0).logical_or(t == 1)).all().item<bool>() ? 2 * t - 1 : t;
}

at::Tensor hinge(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return at::clamp_min(1 - signs(t) * p, 0);
}

at::Tensor squared_hinge(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  return at::square(at::clamp_min(1 - signs(t) * p, 0));
}

at::Tensor cosine_similarity(const at::Tensor& p, const at::Tensor& t, const LossOptions&) {
  const auto unit = [](const at::Tensor& x) {
    return x / at::sqrt(at::clamp_min(at::square(x).sum(-1, /*keepdim=*/true), kEpsilon));
  };
  return -(unit(t) * unit(p)).sum(-1);
}

const std::map<std::string, Loss>& table() {
  static const std::map<std::string, Loss> losses{
      {"binary_crossentropy", binary_crossentropy},
      {"binary_focal_crossentropy", binary_focal_crossentropy},
      {"categorical_crossentropy", categorical_crossentropy},
      {"categorical_focal_crossentropy", categorical_focal_crossentropy},
      {"cosine_similarity", cosine_similarity},
      {"hinge", hinge},
      {"huber", huber},
      {"kl_divergence", kl_divergence},
      {"log_cosh", log_cosh},
      {"mean_absolute_error", mean_absolute_error},
      {"mean_absolute_percentage_error", mean_absolute_percentage_error},
      {"mean_squared_error", mean_squared_error},
      {"mean_squared_logarithmic_error", mean_squared_logarithmic_error},
      {"poisson", poisson},
      {"sparse_categorical_crossentropy", sparse_categorical_crossentropy},
      {"squared_hinge", squared_hinge},
  };
  return losses;
}

// (N): how many values of an event are positive, counted by the weights of their steps (undefined: 1), in what is
// predicted, in truth, and in both.
struct Positives {
  at::Tensor predicted, wanted, hits;
};

Positives positives(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights) {
  const at::Tensor predicted = prediction > 0.5, wanted = target != 0;
  const auto count = [&](const at::Tensor& is) {
    return product_of_steps(is.to(at::kFloat), weights).reshape({is.size(0), -1}).sum(1);
  };
  return {count(predicted), count(wanted), count(predicted.logical_and(wanted))};
}

using Ratio = EventMetric (*)(const Positives& positives);

const std::map<std::string, Ratio>& ratios() {
  static const std::map<std::string, Ratio> table{
      {"precision",
       [](const Positives& p) {
         return EventMetric{p.hits, p.predicted};
       }},
      {"recall",
       [](const Positives& p) {
         return EventMetric{p.hits, p.wanted};
       }},
      {"f1_score",
       [](const Positives& p) {
         return EventMetric{2 * p.hits, p.predicted + p.wanted};
       }},
  };
  return table;
}

}  // namespace

at::Tensor product_of_steps(at::Tensor one, at::Tensor other) {
  if (!one.defined()) return other;
  if (!other.defined()) return one;
  while (one.dim() < other.dim()) one = one.unsqueeze(-1);
  while (other.dim() < one.dim()) other = other.unsqueeze(-1);
  return one * other;
}

bool is_ratio(const std::string& metric) {
  return ratios().contains(metric);
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const auto& [name, loss] : table()) names.push_back(name);
  names.insert(names.end(), {job::kOutputLoss, job::kOutputMetric, job::kNoLoss});
  return names;
}

std::vector<std::string> metric_names() {
  return job::fit_metrics();
}

std::string full_name(const std::string& name) {
  static const std::map<std::string, std::string> kShort{{"mse", "mean_squared_error"},
                                                         {"mae", "mean_absolute_error"},
                                                         {"mape", "mean_absolute_percentage_error"},
                                                         {"msle", "mean_squared_logarithmic_error"},
                                                         {"bce", "binary_crossentropy"},
                                                         {"kld", "kl_divergence"},
                                                         {"logcosh", "log_cosh"},
                                                         {"acc", "accuracy"},
                                                         {"AUC", "auc"},
                                                         {"categorical_accuracy", "accuracy"},
                                                         {"binary_accuracy", "accuracy"},
                                                         {"sparse_categorical_accuracy", "accuracy"}};
  const auto found = kShort.find(name);
  return found == kShort.end() ? name : found->second;
}

bool is_sparse(const std::string& loss) {
  return loss == "sparse_categorical_crossentropy";
}

at::Tensor weights_of_mask(const at::Tensor& mask) {
  const at::Tensor counts = mask.to(at::kFloat);
  return counts * (static_cast<double>(mask.numel()) / at::clamp_min(counts.sum(), 1));
}

at::Tensor loss_of_events(const std::string& loss, const at::Tensor& prediction, const at::Tensor& target,
                          const LossOptions& options, const at::Tensor& steps) {
  if (loss == job::kOutputLoss || loss == job::kOutputMetric) return mean_of_event(prediction, steps);
  const auto found = table().find(loss);
  LINAC_CHECK(found != table().end());  // a metric of spec's table that is none of nn's: losses_test.cpp finds it
  return mean_of_event(found->second(prediction, target, options), steps);
}

EventMetric metric_of_events(const std::string& metric, const at::Tensor& prediction, const at::Tensor& target,
                             bool sparse, const at::Tensor& mask, const at::Tensor& weights) {
  const bool classes = prediction.size(-1) > 1;
  if (is_ratio(metric)) return ratios().at(metric)(positives(prediction, target, weights));
  const at::Tensor steps = product_of_steps(mask.defined() ? mask.to(at::kFloat) : at::Tensor(), weights),
                   counts = steps.defined() ? mean_of_event(steps) : at::Tensor();
  if (metric == "accuracy" && !classes)
    return {mean_of_event(((prediction > 0.5) == (target > 0.5)).to(at::kFloat), steps), counts};
  if (metric == "accuracy" || metric == "top_k_accuracy") {
    const int64_t k = metric == "accuracy" ? 1 : std::min(kTopK, prediction.size(-1));
    const at::Tensor wanted = sparse ? target.to(at::kLong) : target.argmax(-1);
    const at::Tensor best = std::get<1>(prediction.topk(k, -1));
    return {mean_of_event((best == wanted.unsqueeze(-1)).any(-1).to(at::kFloat), steps), counts};
  }
  const at::Tensor values = loss_of_events(metric, prediction, target, {}, steps);
  return {metric == "cosine_similarity" ? -values : values, counts};  // as Keras: more is better, but for the loss
}

at::Tensor class_of_events(const at::Tensor& target, bool sparse) {
  if (sparse) return target.to(at::kLong).reshape({target.size(0), -1}).select(1, 0);
  if (target.size(-1) == 1) return (target > 0.5).to(at::kLong).reshape({target.size(0), -1}).select(1, 0);
  return target.argmax(-1).reshape({target.size(0), -1}).select(1, 0);
}

}  // namespace linac::nn
