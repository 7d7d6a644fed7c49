#include "linac/nn/script_module.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <algorithm>
#include <mutex>
#include <sstream>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"

namespace linac::nn {
namespace {

using torch::jit::Module;

constexpr const char* kNode = "TorchScript";

/// The submodule that holds "a.b.weight", and "weight".
std::pair<Module, std::string> place_of(Module module, const std::string& name) {
  size_t start = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; start = dot + 1, dot = name.find('.', start))
    module = module.attr(name.substr(start, dot - start)).toModule();
  return {module, name.substr(start)};
}

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> tensors;
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (!element.isTensor()) throw user_error("[torchscript] forward() returns a tuple of more than tensors");
      tensors.push_back(element.toTensor());
    }
  } else if (value.isTensorList()) {
    tensors = value.toTensorVector();
  }
  if (tensors.empty()) throw user_error("[torchscript] forward() returns no tensor; return one, or a tuple of tensors");
  return tensors;
}

uint64_t seed_of(const RngKey& key) {
  uint32_t bits[2];
  fill_bits(key, 0, bits);
  return (static_cast<uint64_t>(bits[0]) << 32) | bits[1];
}

/// One at a time: TorchScript draws from the process's only generator.
std::mutex& generator_turn() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct ScriptModule::Parts {
  std::string path;
  Module module;
  graph::Graph graph;
  graph::Parameters parameters;
  std::vector<std::string> names;  // of the weights, in the order of the node's

  graph::Node& add_node(const std::string& op, const std::string& name, std::vector<int> inputs, graph::Shape shape) {
    graph.nodes.push_back({.name = name,
                           .op = op,
                           .attributes = nlohmann::json::object(),
                           .inputs = std::move(inputs),
                           .output = std::move(shape)});
    return graph.nodes.back();
  }

  void add_inputs(const std::vector<ScriptInput>& inputs) {
    const auto& arguments = module.get_method("forward").function().getSchema().arguments();
    std::vector<std::string> wanted, given;
    for (size_t i = 1; i < arguments.size(); ++i) wanted.push_back(arguments[i].name());  // the first one is self
    for (const ScriptInput& input : inputs) given.push_back(input.name);
    for (const std::string& name : wanted) {
      const auto found = std::find(given.begin(), given.end(), name);
      if (found == given.end() || given.size() != wanted.size()) {
        throw user_error(
            fmt::format("[torchscript] {}: forward() takes ({}), but data.inputs names ({}); give each "
                        "argument's name, column and shape",
                        path, fmt::join(wanted, ", "), fmt::join(given, ", ")));
      }
      graph.inputs.push_back(static_cast<int>(graph.nodes.size()));
      add_node("InputLayer", name, {}, inputs[static_cast<size_t>(found - given.begin())].shape);
    }
  }

  void add_weights() {
    graph::Node& node = add_node(kNode, "module", graph.inputs, {});
    const auto add = [&](const std::string& name, const at::Tensor& tensor, bool trainable) {
      if (tensor.scalar_type() != at::kFloat) return;  // e.g. BatchNorm's count of batches
      node.weights.push_back({name, tensor.sizes().vec(), "zeros", trainable});
      names.push_back(name);
    };
    for (const auto& parameter : module.named_parameters()) add(parameter.name, parameter.value, true);
    for (const auto& buffer : module.named_buffers()) add(buffer.name, buffer.value, false);
    parameters = graph::Parameters::of(graph);
    for (const std::string& name : names) {
      const auto [owner, attribute] = place_of(module, name);
      const at::Tensor values = owner.attr(attribute).toTensor().detach().contiguous();
      std::copy_n(values.const_data_ptr<float>(), values.numel(),
                  parameters.values(std::string("module/") + name).begin());
    }
  }

  // Found by a look at what comes out of two events of zeros.
  void add_outputs() {
    std::vector<at::Tensor> zeros;
    for (const int input : graph.inputs) {
      std::vector<int64_t> shape{2};
      const graph::Shape& event = graph.nodes[static_cast<size_t>(input)].output;
      shape.insert(shape.end(), event.begin(), event.end());
      zeros.push_back(at::zeros(shape));
    }
    const int node = static_cast<int>(graph.nodes.size()) - 1;
    const at::NoGradGuard no_gradient;
    const auto outputs = call(make_weights(graph, parameters, Gradients::kNone), zeros, Mode::kInference, nullptr);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].dim() < 1 || outputs[i].size(0) != 2 || !outputs[i].is_floating_point()) {
        throw user_error(fmt::format("[torchscript] {}: output {} is not (events, ...) of floats", path, i));
      }
      graph.outputs.push_back(static_cast<int>(graph.nodes.size()));
      add_node("TorchScriptOutput", outputs.size() == 1 ? "output" : fmt::format("output_{}", i), {node},
               graph::Shape(outputs[i].sizes().begin() + 1, outputs[i].sizes().end()));
    }
  }

  /// forward() with these tensors as the weights; `statistics`, if asked for, gets the buffers after it.
  std::vector<at::Tensor> call(const Weights& weights, const std::vector<at::Tensor>& inputs, Mode mode,
                               std::vector<float>* statistics) const {
    // Without it, later calls would run other, fused code than the first ones, and so round differently.
    const torch::jit::GraphOptimizerEnabledGuard unoptimised(false);
    Module running = module.deepcopy();  // other threads have their own
    const auto node = static_cast<size_t>(graph.inputs.size());
    for (size_t i = 0; i < names.size(); ++i) {
      auto [owner, attribute] = place_of(running, names[i]);
      const bool trainable = graph.nodes[node].weights[i].trainable;
      owner.setattr(attribute, trainable ? weights.nodes[node][i] : weights.nodes[node][i].clone());
    }
    mode == Mode::kTraining ? running.train() : running.eval();
    std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
    std::vector<at::Tensor> outputs;
    try {
      outputs = tensors_of(running.forward(arguments));
    } catch (const c10::Error& error) {
      throw user_error(fmt::format("[torchscript] {}: forward() fails: {}", path, error.what_without_backtrace()));
    }
    for (size_t i = 0, slot = 0; statistics != nullptr && i < names.size(); ++i) {
      if (graph.nodes[node].weights[i].trainable) continue;
      const auto [owner, attribute] = place_of(running, names[i]);
      const at::Tensor after = owner.attr(attribute).toTensor().detach().contiguous();
      std::copy_n(after.const_data_ptr<float>(), after.numel(),
                  statistics->begin() + parameters.statistics_layout.slots[slot++].offset);
    }
    return outputs;
  }
};

ScriptModule::ScriptModule(const std::filesystem::path& path, const std::vector<ScriptInput>& inputs) {
  auto parts = std::make_unique<Parts>();
  parts->path = path.string();
  try {
    parts->module = torch::jit::load(path.string(), at::kCPU);
  } catch (const c10::Error& error) {
    throw user_error(
        fmt::format("[torchscript] {}: cannot be read; save it with torch.jit.script(model).save(...) ({})",
                    path.string(), std::string(error.what_without_backtrace()).substr(0, 200)));
  }
  parts->graph.name = path.stem().string();
  parts->add_inputs(inputs);
  parts->add_weights();
  parts->add_outputs();
  parts_ = std::move(parts);
}

ScriptModule::~ScriptModule() = default;

const graph::Graph& ScriptModule::graph() const {
  return parts_->graph;
}

const graph::Parameters& ScriptModule::parameters() const {
  return parts_->parameters;
}

std::vector<at::Tensor> ScriptModule::run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                                          const RunOptions& options) const {
  if (options.batch_statistics != nullptr)
    options.batch_statistics->assign(static_cast<size_t>(parts_->parameters.statistics_layout.total), 0.0F);
  if (options.mode == Mode::kInference) return parts_->call(weights, inputs, options.mode, nullptr);
  const std::lock_guard turn(generator_turn());
  at::manual_seed(seed_of(options.dropout_key));
  return parts_->call(weights, inputs, options.mode, options.batch_statistics);
}

void ScriptModule::save(const graph::Parameters& parameters, const std::filesystem::path& path) const {
  Module trained = parts_->module.deepcopy();
  for (const std::string& name : parts_->names) {
    const auto values = parameters.values(std::string("module/") + name);
    const auto [owner, attribute] = place_of(trained, name);
    const at::NoGradGuard no_gradient;
    at::Tensor tensor = owner.attr(attribute).toTensor();
    tensor.copy_(at::from_blob(const_cast<float*>(values.data()), tensor.sizes(), at::kFloat));
  }
  std::ostringstream bytes;
  trained.save(bytes);
  write_file_atomically(path, bytes.str());
}

}  // namespace linac::nn
