#include "linac/model/nn/plugin_module.h"

#include "linac/model/nn/torch_random.h"
#include "linac/model/nn/torch_weights.h"

namespace linac::nn {

PluginModule::PluginModule(std::shared_ptr<const plugin::Library> library, uint64_t seed)
    : library_(std::move(library)), instances_([this, seed] {
        const TorchRandomTurn turn({.seed = seed, .stream = Stream::kInit});
        return library_->make_model();
      }) {
  const auto model = instances_.lease();
  std::vector<ForeignInput> inputs;
  library_->guarded("inputs()", [&] {
    for (const plugin::Column& column : model->inputs()) inputs.push_back({column.name, column.shape});
  });
  describe(library_->class_name(), inputs, weights_of(*model));
  find_outputs();
}

Weights PluginModule::weights(const graph::Parameters& parameters, Gradients gradients) const {
  auto model = instances_.lease();
  Weights weights;
  weights.nodes.resize(graph().nodes.size());
  std::vector<at::Tensor>& filled = weights.nodes[graph().inputs.size()];
  filled = fill(*model, graph(), parameters, gradients);
  for (size_t i = 0; i < filled.size(); ++i)
    if (weight_list()[i].trainable) weights.trainable.push_back(filled[i]);
  weights.holder = std::move(model);
  return weights;
}

std::vector<at::Tensor> PluginModule::run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                                          const RunOptions& options) const {
  auto& model = *static_cast<plugin::Model*>(weights.holder.get());
  std::vector<at::Tensor> outputs;
  const auto forward = [&] { library_->guarded("forward()", [&] { outputs = model.forward(inputs); }); };
  model.train(options.mode == Mode::kTraining);
  if (options.mode == Mode::kInference) {
    forward();
    return outputs;
  }
  const TorchRandomTurn turn(options.dropout_key);
  forward();
  if (options.batch_statistics != nullptr) {
    *options.batch_statistics = changes_since(model, graph(), parameters(), weights.nodes[graph().inputs.size()]);
  }
  return outputs;
}

}  // namespace linac::nn
