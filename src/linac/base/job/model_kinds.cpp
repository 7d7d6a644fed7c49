#include "linac/base/job/model_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/job/checks.h"
#include "linac/base/job/job.h"
#include "linac/base/job/target_values.h"

namespace linac::job {
namespace {

constexpr int64_t kWidthMax = 65536;  // of a layer

void need_widths(const std::vector<int64_t>& widths, const std::string& where, const std::string& key) {
  for (const int64_t width : widths)
    need(width >= 1 && width <= kWidthMax, where, fmt::format("{} must be 1 to {}", key, kWidthMax));
}

void need_dropout(double rate, const std::string& where) {
  need(rate >= 0 && rate < 1, where, "model.dropout must be in [0, 1)");
}

void need_file(const ModelFile& model, const char* kind, const std::string& where) {
  need(!model.file.empty() || !model.from.empty(), where,
       fmt::format("model.kind = {} wants the file of the model: set model.file, or model.from for one of a catalog",
                   kind));
}

void need_cpu(const Job& job, const std::string& where) {
  need(job.train.device == "cpu", where, fmt::format("model.kind = {} runs on train.device = cpu", job.model.kind()));
}

void need_joined(const DataColumn& column, const std::string& where, const std::string& key) {
  need(column.column.empty() || column.columns.empty(), where,
       fmt::format("{} has both column = {} and columns = [{}]; keep one of them", key, column.column,
                   fmt::join(column.columns, ", ")));
  for (size_t i = 0; i < column.columns.size(); ++i) {
    const std::string& name = column.columns[i];
    need(!name.empty(), where, fmt::format("{}.columns[{}] is empty; write the name of a column", key, i));
    const auto end = column.columns.begin() + static_cast<int64_t>(i);
    need(std::find(column.columns.begin(), end, name) == end, where,
         fmt::format("{}.columns names {} twice; leave one of them out", key, name));
  }
}

void need_columns(const Job& job, const std::string& where) {
  for (const auto& [key, columns] :
       {std::pair("data.inputs", &job.data.inputs), std::pair("data.targets", &job.data.targets)}) {
    for (size_t i = 0; i < columns->size(); ++i) {
      const DataColumn& column = (*columns)[i];
      need_joined(column, where, fmt::format("{}[{}]", key, i));
      const std::string name = fmt::format("{}[{}]", key, i);
      need_one_of(column.scaling, {"none", "standard", "min_max"}, where, name + ".scaling");
      need(column.scaling == "none" || !job.data.scaling.empty(), where,
           fmt::format("{} wants {} scaling; name the JSON file of its constants as data.scaling", name,
                       column.scaling));
    }
  }
  const auto is_scaled = [](const DataColumn& column) { return column.scaling != "none"; };
  const bool used = std::any_of(job.data.inputs.begin(), job.data.inputs.end(), is_scaled) ||
                    std::any_of(job.data.targets.begin(), job.data.targets.end(), is_scaled);
  need(used || job.data.scaling.empty(), where,
       fmt::format("data.scaling = {}, and nothing is scaled: say what, e.g. data.inputs: [{{name: x, scaling: "
                   "standard}}], or leave it out",
                   job.data.scaling));
}

// Where the loss is not said here, the model's file says it.
void need_targets(const Job& job, const std::string& where) {
  const std::vector<std::string>& losses = job.train.fit.loss;
  need(!job.data.targets.empty() || !std::all_of(losses.begin(), losses.end(), has_target) ||
           (losses.empty() && job.model.is<KerasSettings>()),
       where, kNoTargets);
}

void need_no_shapes(const Job& job, const std::string& where) {
  for (const DataColumn& input : job.data.inputs) {
    need(input.shape.empty(), where,
         fmt::format("data.inputs: a shape is for models of files, keras and torchscript; leave that of {} out",
                     input.name));
  }
}

// What is to be known of a training on events with labels, whatever the model.
void need_fit(const Job& job, const std::string& where) {
  const Fit& fit = job.train.fit;
  need(fit.label_smoothing >= 0 && fit.label_smoothing < 1, where, "train.fit.label_smoothing must be in [0, 1)");
  need(fit.label_smoothing == 0 || fit.loss.empty() || std::ranges::any_of(fit.loss, takes_label_smoothing), where,
       kNoSmoothing);
  for (const double weight : fit.loss_weights) need(weight >= 0, where, "train.fit.loss_weights must not be negative");
  for (const double weight : fit.class_weight) need(weight >= 0, where, "train.fit.class_weight must not be negative");
  need_one_of(fit.class_balance, {"none", "weights"}, where, "train.fit.class_balance");
  need(fit.class_balance == "none" || fit.class_weight.empty(), where,
       "train.fit.class_balance makes the weights of the classes, and class_weight gives them; leave one out");
  need(
      fit.class_balance == "none" || job.data.shuffle_window == 0, where,
      "train.fit.class_balance counts the events of all files, and data.shuffle_window reads a few at a time: give the "
      "weights in class_weight");
  const auto counts = [](double weight) { return weight > 0; };
  need(fit.class_weight.empty() || std::any_of(fit.class_weight.begin(), fit.class_weight.end(), counts), where,
       "train.fit.class_weight is 0 for every class, so no event counts");
  need(fit.loss_weights.empty() || std::any_of(fit.loss_weights.begin(), fit.loss_weights.end(), counts), where,
       "train.fit.loss_weights is 0 for every output, so nothing is learned");
  need_columns(job, where);
  need(!job.train.optimizer.restore || job.model.optimizer_in_file(), where,
       "train.optimizer.restore is for model.kind = keras, whose file may hold an optimizer");
  need(job.train.discriminator_first == 0, where,
       fmt::format("train.discriminator_first is for model.kind = 3dgan, not for {}", job.model.kind()));
  need(job.train.batch % job.train.accumulate == 0, where,
       fmt::format("train.batch = {} cannot be cut into train.accumulate = {} equal slices", job.train.batch,
                   job.train.accumulate));
}

void need_own_networks(const ThreeDGanSettings& model, const std::string& where) {
  need(model.latent >= 3, where, "model.latent must be at least 3 (energy, angle, noise)");
  const ThreeDGanSettings built_in;
  need(model.generator_filters.size() == built_in.generator_filters.size(), where,
       fmt::format("model.generator_filters wants {} numbers, one a convolution", built_in.generator_filters.size()));
  need(model.discriminator_filters.size() == built_in.discriminator_filters.size(), where,
       fmt::format("model.discriminator_filters wants {} numbers, one a convolution",
                   built_in.discriminator_filters.size()));
  need_widths({model.generator_channels}, where, "model.generator_channels");
  need_widths(model.generator_filters, where, "model.generator_filters");
  need_widths(model.discriminator_filters, where, "model.discriminator_filters");
  need_dropout(model.dropout, where);
  need(model.leaky_slope >= 0 && model.leaky_slope < 1, where, "model.leaky_slope must be in [0, 1)");
  const bool as_built_in = model.generator_channels == built_in.generator_channels &&
                           model.generator_filters == built_in.generator_filters &&
                           model.discriminator_filters == built_in.discriminator_filters &&
                           model.dropout == built_in.dropout && model.leaky_slope == built_in.leaky_slope &&
                           !model.freeze_norms;
  need(model.generator.empty() || as_built_in, where,
       "model.generator_channels, generator_filters, discriminator_filters, dropout, leaky_slope and freeze_norms are "
       "for "
       "linac's own networks; files of networks have theirs");
  need(!model.freeze_norms || !model.from.empty() || !model.file.empty(), where,
       "model.freeze_norms keeps the statistics that a training has found, and this one starts from none: give "
       "model.from");
}

// What is to be known of a training on showers, whatever the model.
void need_showers(const Job& job, const std::string& where, const char* model) {
  need(job.data.validation_split == 0, where,
       fmt::format("data.validation_split is for models that learn from labelled events: give {} files, as data.test",
                   model));
  const bool transforms = !job.data.filter.empty() || !job.data.train_filter.empty() || !job.data.define.empty() ||
                          !job.data.lists.empty() || job.data.split.divides();
  need(!transforms, where,
       "data.filter, define, lists and split are for models that learn from labelled events; of showers data.threshold "
       "and data.min_sum select");
  need(job.data.scale > 0, where, "data.scale must be positive");
  need(job.data.threshold >= 0 && job.data.min_sum >= 0, where, "data.threshold and data.min_sum must not be negative");
  need(job.train.accumulate == 1, where, fmt::format("train.accumulate is not there for {}: lower train.batch", model));
  need(job.checkpoint.best_by == "loss" || (job.validate.every_epochs == 1 && !job.data.test.empty()), where,
       fmt::format(
           "checkpoint.best_by = {} wants that figure of every epoch: set validate.every_epochs=1 and give data.test",
           job.checkpoint.best_by));
}

}  // namespace

void ThreeDGanSettings::check(const Job& job, const std::string& where) const {
  need_showers(job, where, "a 3dgan");
  const bool own = generator.empty();
  need(own == discriminator.empty(), where,
       fmt::format("model.{} is named without model.{}: give both networks, or none",
                   own ? "discriminator" : "generator", own ? "generator" : "discriminator"));
  need_own_networks(*this, where);
  need(power > 0 && power <= 1, where, "model.power must be in (0, 1]");
  double sum = 0;
  const auto add = [&](const char* name, double weight, const char*) {
    need(weight >= 0 && std::isfinite(weight), where,
         fmt::format("model.loss_weights.{} must be finite and not negative", name));
    sum += weight;
  };
  GanLossWeights(loss_weights).fields(add);
  need(sum > 0, where, "model.loss_weights are all 0: nothing would be learned");
  need(job.data.shuffle_window == 0 || job.train.steps_per_epoch > 0, where,
       "how many showers of a file pass data.min_sum is known when it is read, and data.shuffle_window needs those of "
       "all files for an epoch of all showers: set train.steps_per_epoch");
}

void CellChainSettings::check(const Job& job, const std::string& where) const {
  need_showers(job, where, "a cell_chain");
  need_cpu(job, where);
  need(job.train.precision == "fp32", where, "model.kind = cell_chain trains in train.precision = fp32");
  need(job.train.discriminator_first == 0, where, "train.discriminator_first is for model.kind = 3dgan");
  need(
      job.data.shuffle_window == 0, where,
      "a cell_chain derives its tables from showers of all files, and data.shuffle_window reads a few at a time: leave "
      "it out");
  need(entry.size() == 4 && std::ranges::none_of(entry, &std::string::empty), where,
       "model.entry names four data sets: x and y of the entry in mm, and the shifts of the image along x and y");
  need_widths({hidden}, where, "model.hidden");
  need_widths({layer_hidden}, where, "model.layer_hidden");
  need(classes >= 2 && classes <= 4096, where, "model.classes must be 2 to 4096");
  need(components >= 1 && components <= 256, where, "model.components must be 1 to 256");
  constexpr double kFarthest = 1000;  // cells
  need(core_cells > 0 && core_cells <= ring_cells && ring_cells <= halo_cells && halo_cells <= kFarthest, where,
       fmt::format("model.core_cells, ring_cells and halo_cells must rise from above 0 to at most {}", kFarthest));
  need(memory >= 0 && memory < 1, where, "model.memory must be in [0, 1)");
}

void InclusiveClassifierSettings::check(const Job& job, const std::string& where) const {
  need_targets(job, where);
  need_fit(job, where);
  need_no_shapes(job, where);
  need_one_of(variant, {"gru", "lstm", "hlf", "particles", "transformer"}, where, "model.variant");
  need(particles >= 1 && particles <= 65536, where, "model.particles must be 1 to 65536");
  need_widths({units}, where, "model.units");
  need_widths(dense_units, where, "model.dense_units");
  need_widths(hlf_units, where, "model.hlf_units");
  need_widths({transformer.width, transformer.heads, transformer.inner}, where, "model.transformer: each setting");
  need(transformer.width % transformer.heads == 0, where,
       fmt::format("model.transformer.width = {} cannot be shared by transformer.heads = {}", transformer.width,
                   transformer.heads));
  need_dropout(dropout, where);
}

void KerasSettings::check(const Job& job, const std::string& where) const {
  need_targets(job, where);
  need_fit(job, where);
  need_file(*this, kKind, where);
}

void TorchScriptSettings::check(const Job& job, const std::string& where) const {
  need_targets(job, where);
  need_fit(job, where);
  need_file(*this, kKind, where);
  for (const DataColumn& input : job.data.inputs) {
    need(!input.name.empty() && !input.shape.empty(), where,
         "model.kind = torchscript wants name and shape of each of data.inputs, e.g. {name: x, shape: [14]}");
  }
  need_cpu(job, where);
}

// A loop of its own has no targets.
void CustomSettings::check(const Job& job, const std::string& where) const {
  need_fit(job, where);
  need_file(*this, kKind, where);
  need_no_shapes(job, where);
  need_cpu(job, where);
}

}  // namespace linac::job
