#include "linac/model/nn/script_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/model/nn/script/script_error.h"
#include "linac/model/nn/script/script_program.h"
#include "linac/model/nn/tensor_view.h"
#include "linac/model/nn/torch_random.h"

namespace linac::nn {
namespace {

using torch::jit::Module;

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

std::vector<ForeignWeight> weights_of(const Module& module) {
  std::vector<ForeignWeight> weights;
  for (const auto& parameter : module.named_parameters())
    weights.push_back({parameter.name, parameter.value, parameter.value.requires_grad()});
  for (const auto& buffer : module.named_buffers()) weights.push_back({buffer.name, buffer.value, false});
  return weights;
}

constexpr const char* kNotes = "linac.json";

// LibTorch's own words on these speak of its internals.
void need_archive(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw user_error(
        fmt::format("[torchscript] {}: cannot be opened ({}); give a file that torch.jit.script(model)"
                    ".save(...) wrote",
                    path.string(), std::generic_category().message(errno)));
  }
  std::array<char, 2> begin{};
  file.read(begin.data(), begin.size());
  if (begin != std::array{'P', 'K'}) {
    throw user_error(
        fmt::format("[torchscript] {}: is not a file of torch.jit.save, or is damaged: it does not begin "
                    "as one; save the model with torch.jit.script(model).save(...)",
                    path.string()));
  }
}

Module load(const std::filesystem::path& path, torch::jit::ExtraFilesMap& others) {
  need_archive(path);
  try {
    return torch::jit::load(path.string(), at::kCPU, others);
  } catch (const c10::Error& error) {
    const std::string said = error.what_without_backtrace();
    throw user_error(
        fmt::format("[torchscript] {}: cannot be read as a module; torch.save writes weights alone: save "
                    "the model with torch.jit.script(model).save(...) ({})",
                    path.string(), said.substr(0, std::min(said.find(". "), said.find('\n')))));
  }
}

// `inputs` in the order of forward()'s arguments.
std::vector<ForeignInput> arguments_of(const Module& module, const std::string& path,
                                       const std::vector<ForeignInput>& inputs) {
  const auto& arguments = module.get_method("forward").function().getSchema().arguments();
  std::vector<std::string> wanted, given;
  for (size_t i = 1; i < arguments.size(); ++i) wanted.push_back(arguments[i].name());  // the first one is self
  for (const ForeignInput& input : inputs) given.push_back(input.name);
  std::vector<ForeignInput> ordered;
  for (const std::string& name : wanted) {
    const auto found = std::find(given.begin(), given.end(), name);
    if (found == given.end() || given.size() != wanted.size()) {
      throw user_error(
          fmt::format("[torchscript] {}: forward() takes ({}), but data.inputs names ({}); give each "
                      "argument's name, column and shape",
                      path, fmt::join(wanted, ", "), fmt::join(given, ", ")));
    }
    ordered.push_back(inputs[static_cast<size_t>(found - given.begin())]);
  }
  return ordered;
}

}  // namespace

struct ScriptModule::Parts {
  std::string path;
  Module module;
  std::vector<ForeignInput> inputs;
};

ScriptModule::ScriptModule(const std::filesystem::path& path, const std::vector<ForeignInput>& inputs) {
  torch::jit::ExtraFilesMap nothing_else;
  const Module module = load(path, nothing_else);
  const std::vector<ForeignInput> ordered = arguments_of(module, path.string(), inputs);
  describe(path.stem().string(), ordered, weights_of(module));
  parts_ = std::make_unique<const Parts>(Parts{path.string(), module, ordered});
  find_outputs();
}

ScriptModule::~ScriptModule() = default;

Weights ScriptModule::weights(const graph::Parameters& parameters, Gradients gradients) const {
  return make_weights(graph(), parameters, gradients);
}

// forward() with these tensors as the weights; `statistics`, if asked for, gets the buffers after it.
std::vector<at::Tensor> ScriptModule::call(const Weights& weights, const std::vector<at::Tensor>& inputs, Mode mode,
                                           std::vector<float>* statistics) const {
  // Without it, later calls would run other, fused code than the first ones, and so round differently.
  const torch::jit::GraphOptimizerEnabledGuard unoptimised(false);
  Module running = parts_->module.deepcopy();  // other threads have their own
  const auto& list = weight_list();
  const auto& values = weights.nodes[graph().inputs.size()];
  for (size_t i = 0; i < list.size(); ++i) {
    auto [owner, attribute] = place_of(running, list[i].name);
    owner.setattr(attribute, list[i].trainable ? values[i] : values[i].clone());
  }
  mode == Mode::kTraining ? running.train() : running.eval();
  std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  std::vector<at::Tensor> outputs;
  try {
    outputs = tensors_of(running.forward(arguments));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = script::reason(error);
    const bool of_shapes = reason.find("shape '[") != std::string::npos;
    throw user_error(
        fmt::format("[torchscript] {}: forward() fails: {}{}", parts_->path, reason,
                    of_shapes ? "; a trace keeps the number of events that it was made with: write x.shape[0] or "
                                "flatten(1)"
                              : ""));
  }
  if (statistics == nullptr) return outputs;
  std::vector<at::Tensor> before, after;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].trainable) continue;
    const auto [owner, attribute] = place_of(running, list[i].name);
    before.push_back(values[i]);
    after.push_back(owner.attr(attribute).toTensor());
  }
  *statistics = changes(parameters().statistics_layout, before, after);
  return outputs;
}

std::vector<at::Tensor> ScriptModule::run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                                          const RunOptions& options) const {
  if (options.mode == Mode::kInference) return call(weights, inputs, options.mode, nullptr);
  const TorchRandomTurn turn(options.dropout_key);
  return call(weights, inputs, options.mode, options.batch_statistics);
}

std::optional<pt2::WeightedProgram> ScriptModule::program() const {
  return script::program_of(parts_->module, parts_->inputs);
}

std::string ScriptModule::notes_in(const std::filesystem::path& path) {
  torch::jit::ExtraFilesMap notes{{kNotes, ""}};
  load(path, notes);
  return notes[kNotes];
}

std::optional<std::filesystem::path> ScriptModule::save(const graph::Parameters& parameters,
                                                        const std::filesystem::path& path,
                                                        const std::string& notes) const {
  Module trained = parts_->module.deepcopy();
  for (const graph::Weight& weight : weight_list()) {
    const auto values = parameters.values("module/" + weight.name);
    const auto [owner, attribute] = place_of(trained, weight.name);
    const at::NoGradGuard no_gradient;
    at::Tensor tensor = owner.attr(attribute).toTensor();
    tensor.copy_(tensor_view(values, tensor.sizes()));
  }
  std::ostringstream bytes;
  trained.save(bytes, {{kNotes, notes}});
  const std::filesystem::path file = path.string() + ".pt";
  write_file_atomically(file, bytes.str());
  return file;
}

}  // namespace linac::nn
