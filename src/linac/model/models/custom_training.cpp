#include "linac/model/models/custom_training.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/model/nn/gradient.h"
#include "linac/model/nn/tensor_view.h"
#include "linac/model/nn/torch_random.h"
#include "linac/model/nn/torch_weights.h"
#include "linac/model/plugin/instances.h"
#include "linac/model/plugin/library.h"

namespace linac::models {

struct CustomTraining::Parts {
  std::shared_ptr<const plugin::Library> library;
  plugin::Instances<plugin::Loop> instances;
  std::vector<Network> networks;
  std::vector<plugin::Update> calls;  // as the plug-in knows them
  std::vector<Update> updates;
  std::vector<std::string> measures;
  graph::Graph columns;

  Parts(std::shared_ptr<const plugin::Library> opened, uint64_t seed)
      : library(std::move(opened)), instances([this, seed] {
          const nn::TorchRandomTurn turn({.seed = seed, .stream = Stream::kInit});
          return library->make_loop();
        }) {
    const auto loop = instances.lease();
    library->guarded(library->class_name(), [&] {
      std::vector<nn::ForeignInput> inputs;
      for (const plugin::Column& column : loop->columns()) inputs.push_back({column.name, column.shape});
      columns = nn::foreign_graph("columns", inputs, {});
      for (const auto& [name, module] : loop->networks()) {
        const auto weights = nn::weights_of(*module);
        graph::Graph graph = nn::foreign_graph(name, {}, weights);
        graph::Parameters parameters = nn::foreign_parameters(graph, weights);
        networks.push_back({std::move(graph), std::move(parameters)});
      }
      calls = loop->updates();
      measures = loop->measures();
    });
    if (columns.inputs.empty()) library->refuse("columns() names none: what should it learn from?");
    if (calls.empty()) library->refuse("updates() names none: what is a step?");
    for (const plugin::Update& call : calls) updates.push_back({call.name, network_of(call), call.losses});
  }

  size_t network_of(const plugin::Update& call) const {
    if (call.name.empty() || call.losses.empty()) library->refuse("updates(): each wants a name and at least one loss");
    std::vector<std::string> names;
    for (const Network& network : networks) names.push_back(network.graph.name);
    const auto found = std::find(names.begin(), names.end(), call.network);
    if (found == names.end()) {
      library->refuse(fmt::format("update '{}' changes network '{}', which is not there (networks: {})", call.name,
                                  call.network, fmt::join(names, ", ")));
    }
    return static_cast<size_t>(found - names.begin());
  }

  // An instance with the weights in it: in training the networks other than `updated` want no gradient.
  struct Running {
    std::shared_ptr<plugin::Loop> loop;
    std::vector<std::shared_ptr<torch::nn::Module>> modules;
    std::vector<std::vector<at::Tensor>> filled;
  };

  Running running(const Weights& weights, std::optional<size_t> updated) const {
    Running run{.loop = instances.lease(), .modules = {}, .filled = {}};
    for (const auto& [name, module] : run.loop->networks()) run.modules.push_back(module);
    LINAC_CHECK(run.modules.size() == networks.size() && weights.size() == networks.size());
    for (size_t i = 0; i < networks.size(); ++i) {
      run.modules[i]->train(updated.has_value());
      run.filled.push_back(nn::fill(*run.modules[i], networks[i].graph, *weights[i],
                                    updated == i ? nn::Gradients::kWanted : nn::Gradients::kNone));
    }
    return run;
  }

  plugin::Batch batch_of(int64_t events, const std::vector<std::span<const float>>& values) const {
    plugin::Batch batch{.events = events, .columns = {}};
    for (size_t i = 0; i < values.size(); ++i) {
      const graph::Shape& event = columns.nodes[static_cast<size_t>(columns.inputs[i])].output;
      batch.columns.push_back(nn::tensor_view(values[i], nn::batch_shape(events, event)));
    }
    return batch;
  }

  void need_scalars(const std::vector<at::Tensor>& values, const std::vector<std::string>& names,
                    const std::string& call) const {
    if (values.size() != names.size()) {
      library->refuse(fmt::format("{} returns {} values for {}", call, values.size(), fmt::join(names, ", ")));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].defined() || values[i].numel() != 1)
        library->refuse(fmt::format("{}: '{}' is not one number", call, names[i]));
    }
  }
};

CustomTraining::CustomTraining(std::shared_ptr<const plugin::Library> library, uint64_t seed)
    : parts_(std::make_unique<const Parts>(std::move(library), seed)) {}

CustomTraining::~CustomTraining() = default;

const std::vector<CustomTraining::Network>& CustomTraining::networks() const {
  return parts_->networks;
}

const std::vector<CustomTraining::Update>& CustomTraining::updates() const {
  return parts_->updates;
}

const std::vector<std::string>& CustomTraining::measures() const {
  return parts_->measures;
}

const graph::Graph& CustomTraining::columns() const {
  return parts_->columns;
}

Contribution CustomTraining::update(size_t index, const Weights& weights, int64_t events,
                                    const std::vector<std::span<const float>>& columns, const RngKey& key,
                                    double share) const {
  const Update& update = updates()[index];
  const Network& network = networks()[update.network];
  const auto run = parts_->running(weights, update.network);
  const std::string call = fmt::format("losses() of update '{}'", update.name);
  RngKey numbers = key;
  numbers.stream = Stream::kDropout;
  numbers.lane = static_cast<uint32_t>(index);
  std::vector<at::Tensor> losses;
  Contribution contribution;
  {
    const nn::TorchRandomTurn turn(numbers);
    parts_->library->guarded(
        call, [&] { losses = run.loop->losses(parts_->calls[index], parts_->batch_of(events, columns)); });
    parts_->need_scalars(losses, update.losses, call);
    contribution.statistics =
        nn::changes_since(*run.modules[update.network], network.graph, network.parameters, run.filled[update.network]);
  }
  for (const at::Tensor& loss : losses) contribution.losses.push_back(static_cast<float>(share) * loss.item<float>());
  nn::Weights trained;
  const auto& list = network.graph.nodes[0].weights;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].trainable) trained.trainable.push_back(run.filled[update.network][i]);
  if (!losses[0].requires_grad())
    parts_->library->refuse(fmt::format("{}: '{}' does not depend on the weights of network '{}'", call,
                                        update.losses[0], network.graph.name));
  parts_->library->guarded("the gradient of " + call, [&] {
    contribution.gradient = nn::flat_gradient(share * losses[0], trained, network.parameters.trainable_layout);
  });
  contribution.judge();
  return contribution;
}

std::vector<float> CustomTraining::test(const Weights& weights, int64_t events,
                                        const std::vector<std::span<const float>>& columns, const RngKey& key,
                                        double share) const {
  const auto run = parts_->running(weights, std::nullopt);
  RngKey numbers = key;
  numbers.stream = Stream::kSample;
  std::vector<at::Tensor> values;
  {
    const nn::TorchRandomTurn turn(numbers);
    parts_->library->guarded("test()", [&] { values = run.loop->test(parts_->batch_of(events, columns)); });
  }
  parts_->need_scalars(values, measures(), "test()");
  std::vector<float> shares;
  for (const at::Tensor& value : values) shares.push_back(static_cast<float>(share) * value.item<float>());
  return shares;
}

void CustomTraining::hand_over(const Weights& weights, const std::filesystem::path& folder, const RngKey& key) const {
  const auto run = parts_->running(weights, std::nullopt);
  const nn::TorchRandomTurn turn(key);
  parts_->library->guarded("hand_over()", [&] { run.loop->hand_over(folder); });
}

}  // namespace linac::models
