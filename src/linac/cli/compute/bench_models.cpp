#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/base/base/thread_pool.h"
#include "linac/base/optimizer/optimizer.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/model/keras/archive.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/models/predictor.h"
#include "linac/model/models/supervised.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWarmUps = 3, kLeastRuns = 5;

struct ModelBenchOptions {
  std::vector<std::string> files;
  int64_t batch = 64;
  int threads = 1;
  double seconds = 2;
  std::string kernels = "linac", device = "cpu";
  bool json = false;
};

/// A made-up batch that fits a model: normal numbers, indices for embeddings, and steps of zeros behind an event's
/// length where the model masks them.
class MadeUpEvents {
 public:
  MadeUpEvents(const models::Supervised& model, int64_t events) : events_(events) {
    for (const int input : model.graph().inputs) inputs_.push_back(input_of(model.graph(), input));
    for (const auto& target : model.targets())
      targets_.push_back(target_of(target.shape, model.losses()[target.output]));
  }

  const std::vector<std::vector<float>>& inputs() const { return inputs_; }
  models::LabelledEvents view() const {
    models::LabelledEvents view;
    view.events = events_;
    view.inputs.assign(inputs_.begin(), inputs_.end());
    view.targets.assign(targets_.begin(), targets_.end());
    return view;
  }

 private:
  std::vector<float> normal(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    fill_normal({.seed = 1, .stream = Stream::kSample, .lane = lane_++}, values);
    return values;
  }

  std::vector<float> input_of(const graph::Graph& graph, int input) {
    const graph::Shape& shape = graph.nodes[static_cast<size_t>(input)].output;
    const int64_t floats = graph::elements(shape);
    std::vector<float> values = normal(events_ * floats);
    for (const graph::Node& reader : graph.nodes) {
      if (std::find(reader.inputs.begin(), reader.inputs.end(), input) == reader.inputs.end()) continue;
      if (reader.op == "Embedding") {
        const auto words = reader.attributes.at("input_dim").get<int64_t>();
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int64_t>(i) % words);
      } else if (reader.op == "Masking" && shape.size() == 2) {
        const float hidden = reader.attributes.value("mask_value", 0.0F);
        for (int64_t event = 0; event < events_; ++event) {
          const auto end = values.begin() + (event + 1) * floats;
          std::fill(end - (shape[0] - length(event, shape[0])) * shape[1], end, hidden);
        }
      }
    }
    return values;
  }

  /// From a quarter of the steps to all of them, in an order that has no pattern; bench/peers/model_step.py has it too.
  static int64_t length(int64_t event, int64_t steps) {
    const int64_t least = std::max<int64_t>(1, steps / 4);
    return least + event * 7919 % (steps - least + 1);
  }

  std::vector<float> target_of(const graph::Shape& shape, const std::string& loss) {
    std::vector<float> values = normal(events_ * graph::elements(shape));
    if (loss == "binary_crossentropy") {
      for (float& value : values) value = value > 0 ? 1 : 0;
    } else if (loss == "categorical_crossentropy") {
      const size_t classes = static_cast<size_t>(shape.back());
      for (size_t i = 0; i < values.size(); ++i) values[i] = i % classes == i / classes % classes ? 1 : 0;
    }
    return values;
  }

  const int64_t events_;
  uint32_t lane_ = 1;
  std::vector<std::vector<float>> inputs_, targets_;
};

std::string loss_of(const graph::Node& output) {
  const std::string activation = output.attributes.value("activation", "");
  if (activation == "sigmoid") return "binary_crossentropy";
  const bool classes = activation == "softmax" || output.op == "Softmax";
  return classes && output.output.back() > 1 ? "categorical_crossentropy" : "mean_squared_error";
}

std::vector<std::string> losses_of(const graph::Graph& graph) {
  std::vector<std::string> losses;
  for (const int output : graph.outputs) losses.push_back(loss_of(graph.nodes[static_cast<size_t>(output)]));
  return losses;
}

models::SupervisedSettings settings_of(const graph::Graph& graph) {
  models::SupervisedSettings settings;
  settings.losses = losses_of(graph);
  return settings;
}

/// A model that trains itself on one batch, as a job with one replica would: gradients, Adam, running statistics.
class TrainedModel {
 public:
  TrainedModel(const keras::KerasModel& file, int64_t batch, const models::Numerics& numerics)
      : model_(file.graph, settings_of(file.graph), numerics),
        parameters_(graph::from_weight_values(file.graph, file.weights)),
        update_(graph::statistics_update(file.graph, parameters_)),
        optimizer_({.name = "adam"}, parameters_.trainable.size()),
        events_(model_, batch) {}

  void step() {
    const models::Contribution found = model_.step(parameters_, events_.view(), {.seed = 1, .step = ++steps_},
                                                   1.0 / static_cast<double>(events_.view().events));
    if (!found.finite) throw user_error("[bench] the model's loss or gradient is not finite after some steps");
    optimizer_.step(parameters_.trainable, found.gradient, 1e-4);
    for (size_t i = 0; i < parameters_.statistics.size(); ++i) {
      float& running = parameters_.statistics[i];
      running = update_.kept[i] * running + update_.added[i] * found.statistics[i];
    }
  }
  const std::vector<std::vector<float>>& inputs() const { return events_.inputs(); }
  std::string explain() const { return model_.explain(); }

 private:
  const models::Supervised model_;
  graph::Parameters parameters_;
  const graph::StatisticsUpdate update_;
  optimizer::Optimizer optimizer_;
  const MadeUpEvents events_;
  uint32_t steps_ = 0;
};

Json measured(const ModelBenchOptions& options, const std::function<void()>& work) {
  for (int i = 0; i < kWarmUps; ++i) work();
  std::vector<double> wall, cpu;
  const auto begin = train::PhaseClock::now();
  auto last = begin;
  while (last.wall - begin.wall < options.seconds || wall.size() < kLeastRuns) {
    work();
    const auto now = train::PhaseClock::now();
    wall.push_back(now.wall - last.wall);
    cpu.push_back(now.cpu - last.cpu);
    last = now;
  }
  return {{"runs", wall.size()}, {"wall_s", spread(std::move(wall))}, {"cpu_s", spread(std::move(cpu))}};
}

Json measure_model(const ModelBenchOptions& options, const std::string& file) {
  const keras::KerasModel model = keras::read_keras(file);
  TrainedModel trained(model, options.batch, models::numerics_of(options.kernels, "fp32", options.device));
  const models::Predictor predictor(model);
  const auto batch = options.batch;
  return {{"model", std::filesystem::path(file).stem().string()},
          {"batch", batch},
          {"threads", options.threads},
          {"kernels", options.kernels},
          {"device", options.device},
          {"isa", kernels::to_string(kernels::best_isa())},
          {"weights", graph::count_weights(model.graph, true)},
          {"forward_gflop", 1e-9 * static_cast<double>(batch) * graph::forward_flop(model.graph)},
          {"step", measured(options, [&] { trained.step(); })},
          {"predict", measured(options, [&] { predictor.run(trained.inputs(), batch); })}};
}

void run_model_bench(const ModelBenchOptions& options) {
  models::need_device(models::numerics_of(options.kernels, "fp32", options.device).device);
  Json results = Json::array();
  // As in training: a replica is computed by a thread of the pool.
  ThreadPool pool(1, [&] { models::use_threads(options.threads); });
  if (!options.json)
    fmt::print("{:<24} {:>26} {:>12} {:>26} {:>12}\n", "", "step, ms (least)", "CPU ms", "prediction, ms (least)",
               "CPU ms");
  for (const std::string& file : options.files) {
    pool.run(1, [&](int) { results.push_back(measure_model(options, file)); });
    if (options.json) continue;
    const Json& found = results.back();
    const auto of = [&](const char* part, const char* clock, const char* which) {
      return 1e3 * found[part][clock][which].get<double>();
    };
    const auto both = [&](const char* part) {
      return fmt::format("{:.3f} ({:.3f})", of(part, "wall_s", "median"), of(part, "wall_s", "min"));
    };
    fmt::print("{:<24} {:>26} {:>12.3f} {:>26} {:>12.3f}\n", found["model"].get<std::string>(), both("step"),
               of("step", "cpu_s", "median"), both("predict"), of("predict", "cpu_s", "median"));
  }
  if (options.json) fmt::print("{}\n", results.dump(2));
}

}  // namespace

void add_model_bench(CLI::App& bench) {
  auto options = std::make_shared<ModelBenchOptions>();
  auto* verb = bench.add_subcommand(
      "models",
      "A training step of Keras models on a made-up batch, with Adam, and a prediction. The loss follows from the "
      "output's activation: crossentropies for sigmoid and softmax, the squared error otherwise");
  verb->add_option("files", options->files, ".keras files; bench/models.py makes usual ones")->required();
  verb->add_option("--batch", options->batch, "events a step")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  verb->add_option("--threads", options->threads, "threads that compute the replica")->check(CLI::Range(1, 1024));
  verb->add_option("--seconds", options->seconds, "of each measurement, after a few runs that are not measured")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  verb->add_option("--kernels", options->kernels, "linac or aten, for the step")
      ->check(CLI::IsMember({"linac", "aten"}));
  verb->add_option("--device", options->device, "cpu or cuda, for the step")->check(CLI::IsMember({"cpu", "cuda"}));
  verb->add_flag("--json", options->json, "as JSON: wall_s and cpu_s of a run with median, min and max");
  verb->footer("Example: linac bench models my.keras --batch 128 --threads 2");
  verb->callback([options] { run_model_bench(*options); });
}

}  // namespace linac::cli
