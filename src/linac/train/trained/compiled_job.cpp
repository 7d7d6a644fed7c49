#include "linac/train/trained/compiled_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/target_values.h"
#include "linac/base/optimizer/table.h"
#include "linac/model/keras/changed_layers.h"
#include "linac/model/models/metrics.h"
#include "linac/model/models/own_losses.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/target_units.h"
#include "linac/train/trained/twins.h"

namespace linac::trained {
namespace {

using nlohmann::json;

// Those for which 0 means none, which Keras calls null.
template <class Settings, class Visit>
void visit_optional_settings(Settings& settings, const Visit& visit) {
  visit("weight_decay", settings.weight_decay);
  visit("global_clipnorm", settings.global_clipnorm);
  visit("clipvalue", settings.clipvalue);
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw user_error(fmt::format(
      "[keras] {}: was compiled with {}; say what to use instead: train.optimizer.name and its settings", file, what));
}

// Keras keeps the rate as float32 and writes it with digits that nobody chose: the shortest number with these bits.
double as_written(double rate) {
  const auto single = static_cast<float>(rate);
  if (static_cast<double>(single) != rate) return rate;
  const std::string shortest = fmt::format("{}", single);
  double written = rate;
  std::from_chars(shortest.data(), shortest.data() + shortest.size(), written);
  return written;
}

optimizer::Settings compiled(const keras::CompiledOptimizer& from, const optimizer::Settings& job,
                             const std::string& file) {
  if (optimizer::find(from.name) == nullptr) refuse(file, fmt::format("the optimizer {}", from.name));
  optimizer::Settings settings;
  settings.name = from.name;
  const auto need_off = [&](const char* key) {
    const json value = from.config.value(key, json());
    const bool off = value.is_null() || value == false || value == 0;
    if (!off) refuse(file, fmt::format("{} ({} = {})", from.name, key, value.dump()));
  };
  for (const char* key : {"clipnorm", "use_ema", "loss_scale_factor", "gradient_accumulation_steps", "decay"})
    need_off(key);
  const auto read = [&](const char* key, auto& value) {
    const json given = from.config.value(key, json());
    if (given.is_null()) return;
    const bool fits = std::is_same_v<std::decay_t<decltype(value)>, bool> ? given.is_boolean() : given.is_number();
    if (!fits) refuse(file, fmt::format("{} ({} = {})", from.name, key, given.dump()));
    value = given.get<std::decay_t<decltype(value)>>();
  };
  optimizer::visit_own_settings(settings, read);
  visit_optional_settings(settings, read);
  if (job.lr > 0) {
    settings.lr = job.lr;
  } else if (from.config.value("learning_rate", json()).is_object()) {
    throw user_error(fmt::format(
        "[keras] {}: was compiled with a learning rate that changes; give train.optimizer.lr, and train.schedule",
        file));
  } else {
    read("learning_rate", settings.lr);
    settings.lr = as_written(settings.lr);
  }
  return settings;
}

// As a job names them. What linac does not have is said and left out.
std::vector<std::string> metrics_of_job(const keras::KerasModel& model, const std::vector<std::string>& losses,
                                        const char* key, const std::string& file) {
  std::vector<std::string> names;
  const keras::MetricNames compiled = keras::compiled_metrics(model.compile, key, model.graph);
  for (size_t i = 0; i < compiled.size(); ++i) {
    const std::string& output = model.graph.nodes[static_cast<size_t>(model.graph.outputs[i])].name;
    for (const std::string& metric : compiled[i]) {
      if (losses.size() == compiled.size() && losses[i] == job::kNoLoss)
        log::warn(fmt::format("{}: the metric {} of output '{}', which has no loss and so no target, is left out", file,
                              metric, output));
      else if (models::is_metric(metric))
        names.push_back(compiled.size() > 1 ? output + "_" + metric : metric);
      else
        log::warn(fmt::format("{}: the metric {} is not there and left out", file, metric));
    }
  }
  return names;
}

/// The variables of each weight that follow one another in Keras's file: slots of the optimiser, in groups.
std::vector<std::vector<size_t>> slot_groups(const optimizer::Settings& settings, size_t slots) {
  const bool pairs = optimizer::find(settings.name)->keras_pairs && slots >= 2;
  std::vector<std::vector<size_t>> groups;
  if (pairs) groups.push_back({0, 1});
  for (size_t i = pairs ? 2 : 0; i < slots; ++i) groups.push_back({i});
  return groups;
}

// Calls visit(variable, slot, place of the weight) in Keras's order.
template <class Visit>
void visit_variables(const optimizer::Settings& settings, const graph::Graph& graph, const std::vector<int>& order,
                     const Network& network, const Visit& visit) {
  for (const auto& group : slot_groups(settings, network.optimizer.slots().size())) {
    for (const int index : order) {
      const graph::Node& node = graph.nodes[static_cast<size_t>(index)];
      for (const graph::Weight& weight : node.weights) {
        if (!weight.trainable) continue;
        for (const size_t slot : group)
          visit(slot, network.parameters.trainable_layout.find(node.name + "/" + weight.name));
      }
    }
  }
}

}  // namespace

KerasFile read_model(const job::Job& job, const std::filesystem::path& file) {
  const auto& settings = job.model.as<job::KerasSettings>();
  KerasFile read{keras::read_keras(file)};
  need_no_twins(read.model.graph, file);
  try {
    keras::ChangedModel changed = keras::with_layer_settings(std::move(read.model), settings.layers, job.train.seed);
    read.model = std::move(changed.model);
    read.drawn = std::move(changed.drawn);
  } catch (const Error& error) {
    throw user_error(fmt::format("[keras] model.layers does not fit {}: {}", file.string(), error.what()));
  }
  to_units_of_training(job, read.model);
  return read;
}

CompiledJob with_compiled(job::Job given) {
  CompiledJob whole{std::move(given), nullptr};
  job::Job& job = whole.job;
  if (!job.model.is<job::KerasSettings>()) return whole;
  job::Fit& fit = job.train.fit;
  if (!fit.loss.empty() && !job.train.optimizer.name.empty()) return whole;
  const std::string file = model_of_job(job.model.as<job::KerasSettings>().file);
  const auto read = std::make_shared<KerasFile>(read_model(job, file));
  whole.file = read;
  const keras::KerasModel& model = read->model;
  if (fit.loss.empty()) {
    fit.loss = models::with_own_losses(model.graph, keras::compiled_losses(model.compile, model.graph));
    const keras::LossSettings settings = keras::compiled_loss_settings(model.compile, model.graph);
    fit.from_logits = fit.from_logits || settings.from_logits;
    if (fit.label_smoothing == 0) fit.label_smoothing = settings.label_smoothing;
    if (fit.loss.empty() && models::computes_own_loss(model.graph)) fit.loss = {job::kOutputLoss};
    if (fit.loss.empty()) {
      throw user_error(fmt::format("[fit] {}: was saved without a loss (model.compile); set train.fit.loss", file));
    }
    if (fit.label_smoothing > 0 && std::ranges::none_of(fit.loss, job::takes_label_smoothing))
      throw user_error(fmt::format("[fit] {}: {}", file, job::kNoSmoothing));
    for (const std::string& remark : keras::remarks_on_losses(model.compile))
      log::warn(fmt::format("[keras] {}: {}", file, remark));
    if (fit.loss_weights.empty()) fit.loss_weights = keras::compiled_loss_weights(model.compile, model.graph);
    if (fit.metrics.empty() && fit.weighted_metrics.empty()) {
      fit.metrics = metrics_of_job(model, fit.loss, "metrics", file);
      fit.weighted_metrics = metrics_of_job(model, fit.loss, "weighted_metrics", file);
    }
  }
  optimizer::Settings& optimizer = job.train.optimizer;
  if (!optimizer.name.empty()) return whole;
  if (const auto found = keras::compiled_optimizer(model.compile)) {
    optimizer = compiled(*found, optimizer, file);
    graph::Parameters parameters = graph::Parameters::of(model.graph);
    const Network network = fresh_network("model", model.graph, std::move(parameters), optimizer);
    auto variables = keras_optimizer_variables(optimizer, model.graph, model.order, network);
    // State of an optimizer belongs to the weights that it was kept for.
    optimizer.restore = read->drawn.empty() && keras::read_keras_optimizer(file, variables);
    if (optimizer.restore) read->optimizer = std::move(variables);
  } else {
    optimizer::Settings otherwise;
    if (optimizer.lr > 0) otherwise.lr = optimizer.lr;
    optimizer = otherwise;
  }
  return whole;
}

std::optional<keras::WrittenOptimizer> keras_optimizer(optimizer::Settings settings) {
  const optimizer::Kind* const kind = optimizer::find(settings.name);
  if (kind->keras_class == nullptr) return std::nullopt;
  json config{{"name", settings.name}, {"learning_rate", settings.lr}};
  optimizer::visit_own_settings(settings, [&](const char* key, const auto& value) { config[key] = value; });
  visit_optional_settings(settings, [&](const char* key, double value) {
    // AdamW takes no null for its decay.
    const bool needed = kind->keras_needs_decay && std::string(key) == "weight_decay";
    config[key] = value != 0 || needed ? json(value) : json();
  });
  return keras::WrittenOptimizer{kind->keras_class, config};
}

std::vector<keras::OptimizerVariable> keras_optimizer_variables(const optimizer::Settings& settings,
                                                                const graph::Graph& graph,
                                                                const std::vector<int>& order, const Network& network) {
  std::vector<keras::OptimizerVariable> variables;
  variables.push_back({"iteration", {}, {static_cast<float>(network.optimizer.updates())}});
  variables.push_back({"learning_rate", {}, {static_cast<float>(settings.lr)}});
  visit_variables(settings, graph, order, network, [&](size_t slot, const graph::Slot& place) {
    const optimizer::Optimizer::Slot& kept = network.optimizer.slots()[slot];
    const auto values =
        std::span(kept.values).subspan(static_cast<size_t>(place.offset), static_cast<size_t>(place.size));
    variables.push_back({kept.name, place.shape, {values.begin(), values.end()}});
  });
  if (const auto product = optimizer::find(settings.name)->keras_product; product != nullptr)
    variables.push_back({"product", {}, {static_cast<float>(product(settings, network.optimizer.updates()))}});
  return variables;
}

void restore_optimizer(const std::string& file, const optimizer::Settings& settings, const graph::Graph& graph,
                       const std::vector<int>& order, std::vector<keras::OptimizerVariable> read, Network& network) {
  const bool was_read = !read.empty();
  std::vector<keras::OptimizerVariable> variables = std::move(read);
  if (!was_read) variables = keras_optimizer_variables(settings, graph, order, network);
  const bool there = was_read || keras::read_keras_optimizer(file, variables);
  if (!there) {
    throw user_error(fmt::format(
        "[keras] {}: holds no state of an optimizer; set train.optimizer.restore=false to start with a fresh one",
        file));
  }
  network.optimizer.set_updates(static_cast<int64_t>(variables[0].values[0]));
  size_t next = 2;
  visit_variables(settings, graph, order, network, [&](size_t slot, const graph::Slot& place) {
    std::copy(variables[next].values.begin(), variables[next].values.end(),
              network.optimizer.slots()[slot].values.begin() + place.offset);
    ++next;
  });
}

}  // namespace linac::trained
