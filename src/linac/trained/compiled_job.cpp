#include "linac/trained/compiled_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/models/metrics.h"

namespace linac::trained {
namespace {

using nlohmann::json;

// Keras's keys of an optimiser's own settings, beside those that all have.
template <class Settings, class Visit>
void visit_settings(Settings& settings, const Visit& visit) {
  const std::string& name = settings.name;
  const bool adam = name == "adam" || name == "adamw";
  if (name == "sgd" || name == "rmsprop") visit("momentum", settings.momentum);
  if (name == "sgd") visit("nesterov", settings.nesterov);
  if (name == "rmsprop") visit("centered", settings.centered);
  if (name == "rmsprop" || name == "adadelta") visit("rho", settings.rho);
  if (adam || name == "adamax" || name == "nadam" || name == "lion") {
    visit("beta_1", settings.beta_1);
    visit("beta_2", settings.beta_2);
  }
  if (adam) visit("amsgrad", settings.amsgrad);
  if (name != "sgd" && name != "lion") visit("epsilon", settings.epsilon);
  if (name == "adagrad") visit("initial_accumulator_value", settings.initial_accumulator_value);
}

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

spec::Optimizer compiled(const keras::CompiledOptimizer& from, const spec::Optimizer& job, const std::string& file) {
  if (keras::optimizer_class(from.name).empty()) refuse(file, fmt::format("the optimizer {}", from.name));
  spec::Optimizer settings;
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
  visit_settings(settings, read);
  visit_optional_settings(settings, read);
  if (job.lr > 0) {
    settings.lr = job.lr;
  } else if (from.config.value("learning_rate", json()).is_object()) {
    throw user_error(fmt::format(
        "[keras] {}: was compiled with a learning rate that changes; give train.optimizer.lr, and train.schedule",
        file));
  } else {
    read("learning_rate", settings.lr);
  }
  return settings;
}

// As a job names them. What linac does not have is said and left out.
std::vector<std::string> metrics_of_job(const keras::KerasModel& model, const char* key, const std::string& file) {
  std::vector<std::string> names;
  const keras::MetricNames compiled = keras::compiled_metrics(model.compile, key, model.graph);
  for (size_t i = 0; i < compiled.size(); ++i) {
    const std::string& output = model.graph.nodes[static_cast<size_t>(model.graph.outputs[i])].name;
    for (const std::string& metric : compiled[i]) {
      if (models::is_metric(metric))
        names.push_back(compiled.size() > 1 ? output + "_" + metric : metric);
      else
        log::warn(fmt::format("{}: the metric {} is not there and left out", file, metric));
    }
  }
  return names;
}

/// The variables of each weight that follow one another in Keras's file: slots of optimizer::Optimizer, in groups.
std::vector<std::vector<size_t>> slot_groups(const spec::Optimizer& settings, size_t slots) {
  const std::string& name = settings.name;
  if (name == "rmsprop" || slots < 2) {
    std::vector<std::vector<size_t>> one_by_one;
    for (size_t i = 0; i < slots; ++i) one_by_one.push_back({i});
    return one_by_one;
  }
  std::vector<std::vector<size_t>> groups{{0, 1}};
  if (slots > 2) groups.push_back({2});  // amsgrad
  return groups;
}

// Calls visit(variable, slot, place of the weight) in Keras's order.
template <class Visit>
void visit_variables(const spec::Optimizer& settings, const graph::Graph& graph, const std::vector<int>& order,
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

CompiledJob with_compiled(spec::Job given) {
  CompiledJob whole{std::move(given), nullptr};
  spec::Job& job = whole.job;
  if (job.model.kind != "keras") return whole;
  spec::Fit& fit = job.train.fit;
  if (!fit.loss.empty() && !job.train.optimizer.name.empty()) return whole;
  const auto file = std::make_shared<KerasFile>(KerasFile{keras::read_keras(job.model.file)});
  whole.file = file;
  const keras::KerasModel& model = file->model;
  if (fit.loss.empty()) {
    fit.loss = keras::compiled_losses(model.compile, model.graph);
    if (fit.loss.empty()) {
      throw user_error(
          fmt::format("[fit] {}: was saved without a loss (model.compile); set train.fit.loss", job.model.file));
    }
    if (fit.loss_weights.empty()) fit.loss_weights = keras::compiled_loss_weights(model.compile, model.graph);
    if (fit.metrics.empty() && fit.weighted_metrics.empty()) {
      fit.metrics = metrics_of_job(model, "metrics", job.model.file);
      fit.weighted_metrics = metrics_of_job(model, "weighted_metrics", job.model.file);
    }
  }
  spec::Optimizer& optimizer = job.train.optimizer;
  if (!optimizer.name.empty()) return whole;
  if (const auto found = keras::compiled_optimizer(model.compile)) {
    optimizer = compiled(*found, optimizer, job.model.file);
    graph::Parameters parameters = graph::Parameters::of(model.graph);
    const Network network = fresh_network("model", model.graph, std::move(parameters), optimizer);
    auto variables = keras_optimizer_variables(optimizer, model.graph, model.order, network);
    optimizer.restore = keras::read_keras_optimizer(job.model.file, variables);
    if (optimizer.restore) file->optimizer = std::move(variables);
  } else {
    spec::Optimizer otherwise;
    if (optimizer.lr > 0) otherwise.lr = optimizer.lr;
    optimizer = otherwise;
  }
  return whole;
}

keras::CompiledOptimizer keras_optimizer(const spec::Optimizer& settings) {
  json config{{"name", settings.name}, {"learning_rate", settings.lr}};
  visit_settings(settings, [&](const char* key, const auto& value) { config[key] = value; });
  visit_optional_settings(settings, [&](const char* key, double value) {
    // AdamW takes no null for its decay.
    const bool wanted = value != 0 || (settings.name == "adamw" && std::string(key) == "weight_decay");
    config[key] = wanted ? json(value) : json();
  });
  return {settings.name, config};
}

std::vector<keras::OptimizerVariable> keras_optimizer_variables(const spec::Optimizer& settings,
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
  if (settings.name == "nadam")
    variables.push_back(
        {"product", {}, {static_cast<float>(optimizer::nadam_product(settings.beta_1, network.optimizer.updates()))}});
  return variables;
}

void restore_optimizer(const std::string& file, const spec::Optimizer& settings, const graph::Graph& graph,
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
