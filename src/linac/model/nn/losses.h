#pragma once
// Losses and metrics of supervised models as Keras 3 defines them (keras.io/api/losses, keras.io/api/metrics). Pure,
// thread-safe.

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace linac::nn {

struct LossOptions {
  double label_smoothing = 0;
  bool from_logits = false;
};

/// The names there are (base/job/metrics.h has the table of the metrics), and Keras's short ones ("mse"). Losses:
/// with what may stand in their place.
std::vector<std::string> loss_names();
std::vector<std::string> metric_names();
/// "mean_squared_error" for "mse"; the name itself otherwise.
std::string full_name(const std::string& name);

/// Whether the target of this loss or metric holds class indices, without the axis of the classes.
bool is_sparse(const std::string& loss);

/// What a mask makes of the steps of a batch in its loss: 0 for those that do not count, for the others as many times
/// more as there are fewer of them. So the mean over the batch is the mean over what counts; 0 if nothing does.
at::Tensor weights_of_mask(const at::Tensor& mask);

/// What steps count by two reasons, (N, steps...), of which each may be undefined: 1.
at::Tensor product_of_steps(at::Tensor one, at::Tensor other);

/// The loss of each event, (N): the mean over what lies behind the events' axis (over all but the class axis for
/// categorical ones). `prediction` (N, shape...), `target` of the same shape, or without the last axis for sparse ones.
/// Of job::kOutputLoss and kOutputMetric the mean of the prediction, whose `target` may be undefined. `steps`: by what
/// the losses of the steps are multiplied before, (N, steps...), the first axes of the output; undefined: 1.
at::Tensor loss_of_events(const std::string& loss, const at::Tensor& prediction, const at::Tensor& target,
                          const LossOptions& options, const at::Tensor& steps = {});

/// A metric event by event, (N). Over all events it is the sum of `values`, or of `values` over that of `counts` where
/// there are such.
struct EventMetric {
  at::Tensor values;
  at::Tensor counts;  // undefined: each event counts 1
};

/// Whether it has counts: "precision", "recall" and "f1_score", of all values of an output together, a value above one
/// half being positive, as Keras's Precision, Recall and F1Score(average="micro", threshold=0.5).
bool is_ratio(const std::string& metric);

/// A ratio, "accuracy" (by the class with the largest value, or above one half where there is one
/// value), "top_k_accuracy" (k = 5), or a loss that is a metric too. `mask` says which steps count, (N, steps...) of
/// bool, and `weights` how much, (N, steps): with either there are counts. A ratio is of all steps, as in Keras, each
/// counting by its weight.
EventMetric metric_of_events(const std::string& metric, const at::Tensor& prediction, const at::Tensor& target,
                             bool sparse, const at::Tensor& mask = {}, const at::Tensor& weights = {});

/// The class of each event, (N) of int64: the index of the largest target, the index itself (sparse), or whether the
/// only value is above one half.
at::Tensor class_of_events(const at::Tensor& target, bool sparse);

}  // namespace linac::nn
