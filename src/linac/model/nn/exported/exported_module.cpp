#include "linac/model/nn/exported/exported_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/model/nn/exported/call.h"
#include "linac/model/nn/torch_random.h"
#include "linac/model/pt2/program_file.h"

namespace linac::nn {
namespace {

using exported::Call;
using exported::Slots;
using exported::Values;
using pt2::ProgramInput;
using pt2::ProgramOutput;
using Kind = ProgramInput::Kind;

constexpr const char* kDynamic =
    "export it for any number of them: torch.export.export(model, arguments, "
    "dynamic_shapes={'NAME': {0: torch.export.Dim('events')}, ...}) with an example of at least two events";

/// An argument of forward(): where its values go, and of which type.
struct Taken {
  int slot;
  at::ScalarType type;
};

/// A parameter or buffer of floats, which linac keeps.
struct Kept {
  const ProgramInput* input;
  std::vector<int> slots;        // of all names that it has in the graph
  std::optional<int> new_value;  // of a buffer: what the graph gives back for it
};

/// Where a weight lies in the file, counted in numbers.
struct Extent {
  const char* file;
  int64_t begin, end;
  std::string name;
};

/// A buffer or constant of other numbers, which stays as the file has it.
struct Fixed {
  int slot;
  at::Tensor value;
};

// A view of the file's bytes: not to be written.
at::Tensor view_of(const pt2::ProgramFile::Tensor& tensor, at::ScalarType type) {
  if (graph::elements(tensor.layout.sizes) == 0) return at::empty(tensor.layout.sizes, type);
  auto* const data = const_cast<char*>(tensor.bytes.data());  // from_blob takes a mutable pointer
  const auto numbers = static_cast<int64_t>(tensor.bytes.size() / c10::elementSize(type));
  return at::from_blob(data, {numbers}, type)
      .as_strided(tensor.layout.sizes, tensor.layout.strides, tensor.layout.offset);
}

}  // namespace

struct ExportedModule::Parts {
  explicit Parts(const std::filesystem::path& path) : file(path), path(path.string()) {}

  pt2::ProgramFile file;
  std::string path;
  std::vector<ForeignInput> inputs;
  std::vector<ForeignWeight> weights;
  std::vector<Taken> taken;
  std::vector<Kept> kept;      // in the order of `weights`
  std::vector<Extent> memory;  // of `kept`
  std::vector<Fixed> fixed;
  std::vector<Call> calls;
  std::vector<int> outputs;
  size_t slots = 0;
  bool random_in_training = false, random_always = false, writes = false;
  std::optional<int64_t> events_max;
  size_t for_training = 0, for_evaluation = 0;

  [[noreturn]] void fail(const std::string& why) const { throw user_error(fmt::format("[pt2] {}: {}", path, why)); }

  // Names the file in errors of those who do not know it.
  template <class Do>
  auto named(const Do& run) const {
    try {
      return run();
    } catch (const Error& error) {
      const std::string text = error.what(), tag = "[pt2] ";
      if (!text.starts_with(tag) || text.find(path) != std::string::npos) throw;
      throw Error(error.code(), fmt::format("{}{}: {}", tag, path, text.substr(tag.size())));
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      fail(text.substr(0, text.find('\n')));
    }
  }

  void read(const std::vector<ForeignInput>& given);
  void read_argument(const ProgramInput& input, const ForeignInput& given, Slots& slots);
  void need_own_memory(const pt2::ProgramFile::Tensor& tensor, const std::string& name);
  void read_weight(const ProgramInput& input, Slots& slots, std::map<std::string, size_t>& places);
  void read_calls(Slots& slots);
  void read_outputs(const Slots& slots);
  void release_early();
  void need_parameters_untouched() const;
  const ForeignInput& argument(const std::string& name, const std::vector<ForeignInput>& given) const;
};

const ForeignInput& ExportedModule::Parts::argument(const std::string& name,
                                                    const std::vector<ForeignInput>& given) const {
  std::vector<std::string> wanted, names;
  for (const ProgramInput& input : file.program().inputs)
    if (input.kind == Kind::kUser) wanted.push_back(input.name);
  for (const ForeignInput& input : given) names.push_back(input.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end() || names.size() != wanted.size()) {
    fail(fmt::format("forward() takes ({}), but data.inputs names ({}); give each argument's name, column and shape",
                     fmt::join(wanted, ", "), fmt::join(names, ", ")));
  }
  return given[static_cast<size_t>(found - names.begin())];
}

void ExportedModule::Parts::read_argument(const ProgramInput& input, const ForeignInput& given, Slots& slots) {
  const pt2::TensorInfo& info = file.program().tensors.at(input.name);
  const auto type = exported::scalar_type(info.scalar_type);
  if (!type) fail(fmt::format("'{}' is of PyTorch's type {}, which linac does not know", input.name, info.scalar_type));
  const auto& shape = info.shape;
  if (shape.empty())
    fail(fmt::format("'{}' is a single number; its first axis must be that of the events", input.name));
  if (std::holds_alternative<int64_t>(shape[0]))
    fail(fmt::format("'{}' was exported for {} events alone; {}", input.name, std::get<int64_t>(shape[0]), kDynamic));
  std::vector<std::string> wanted;
  bool fits = shape.size() == given.shape.size() + 1;
  for (size_t i = 1; i < shape.size(); ++i) {
    const auto* const extent = std::get_if<int64_t>(&shape[i]);
    wanted.push_back(extent != nullptr ? std::to_string(*extent) : "any");
    fits = fits && (extent == nullptr || *extent == given.shape[i - 1]);
  }
  if (!fits) {
    fail(fmt::format("'{}' takes events of shape ({}), but data.inputs gives ({})", input.name, fmt::join(wanted, ", "),
                     fmt::join(given.shape, ", ")));
  }
  const auto range = file.program().ranges.find(std::get<std::string>(shape[0]));
  if (range != file.program().ranges.end() && range->second.max)
    events_max = std::min(events_max.value_or(*range->second.max), *range->second.max);
  inputs.push_back(given);
  taken.push_back({slots.add(input.name, "graph_module.signature"), *type});
}

// Two weights that share some of their numbers would be trained apart.
void ExportedModule::Parts::need_own_memory(const pt2::ProgramFile::Tensor& tensor, const std::string& name) {
  Extent taken{tensor.bytes.data(), tensor.layout.offset, tensor.layout.offset + 1, name};
  for (size_t i = 0; i < tensor.layout.sizes.size(); ++i) {
    if (tensor.layout.sizes[i] == 0) return;
    taken.end += (tensor.layout.sizes[i] - 1) * tensor.layout.strides[i];
  }
  for (const Extent& other : memory) {
    if (other.file == taken.file && other.begin < taken.end && taken.begin < other.end)
      fail(fmt::format("'{}' and '{}' are different views of the same numbers; give each its own (clone())", other.name,
                       name));
  }
  memory.push_back(std::move(taken));
}

void ExportedModule::Parts::read_weight(const ProgramInput& input, Slots& slots,
                                        std::map<std::string, size_t>& places) {
  const int slot = slots.add(input.name, "graph_module.signature");
  const auto tensor = file.tensor(input);
  const auto type = exported::scalar_type(tensor.layout.scalar_type);
  if (!type)
    fail(fmt::format("'{}' is of PyTorch's type {}, which linac does not know", input.target,
                     tensor.layout.scalar_type));
  if (tensor.trainable && *type != at::kFloat) {
    fail(fmt::format("parameter '{}' is of {}, and linac trains float32; export model.float()", input.target,
                     c10::toString(*type)));
  }
  const at::Tensor value = view_of(tensor, *type);
  if (*type != at::kFloat || input.kind == Kind::kConstant) {
    fixed.push_back({slot, value});
    return;
  }
  const auto [place, fresh] = places.emplace(tensor.place, kept.size());
  if (!fresh) {
    kept[place->second].slots.push_back(slot);
    return;
  }
  need_own_memory(tensor, input.target);
  kept.push_back({&input, {slot}, std::nullopt});
  weights.push_back({input.target, value, tensor.trainable});
}

void ExportedModule::Parts::need_parameters_untouched() const {
  for (const Call& call : calls) {
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!weights[i].trainable) continue;
      for (const int slot : kept[i].slots)
        if (std::count(call.written().begin(), call.written().end(), slot) > 0)
          fail(fmt::format("{} changes the parameter '{}' in forward(), which is left to the optimizer", call.name(),
                           weights[i].name));
    }
  }
}

void ExportedModule::Parts::read_calls(Slots& slots) {
  for (const pt2::Node& node : file.program().nodes) {
    calls.emplace_back(node, slots);
    random_in_training = random_in_training || calls.back().random(true);
    random_always = random_always || calls.back().random(false);
    writes = writes || !calls.back().written().empty();
    for_training += calls.back().exported() == exported::Exported::kForTraining ? 1 : 0;
    for_evaluation += calls.back().exported() == exported::Exported::kForEvaluation ? 1 : 0;
  }
}

void ExportedModule::Parts::read_outputs(const Slots& slots) {
  for (const ProgramOutput& output : file.program().outputs) {
    if (output.kind == ProgramOutput::Kind::kOther) continue;
    const int slot = slots.find(output.name, "graph_module.signature.output_specs");
    if (output.kind == ProgramOutput::Kind::kUser) outputs.push_back(slot);
    if (output.kind != ProgramOutput::Kind::kBuffer) continue;
    for (Kept& weight : kept)
      if (weight.input->target == output.target) weight.new_value = slot;
  }
}

// Results of which nobody needs more are let go while the graph is computed.
void ExportedModule::Parts::release_early() {
  std::set<int> needed(outputs.begin(), outputs.end());
  for (const Kept& weight : kept) {
    needed.insert(weight.slots.begin(), weight.slots.end());
    if (weight.new_value) needed.insert(*weight.new_value);
  }
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    std::vector<int> last;
    for (const int slot : call->taken())
      if (needed.insert(slot).second) last.push_back(slot);
    call->release(std::move(last));
  }
}

void ExportedModule::Parts::read(const std::vector<ForeignInput>& given) {
  Slots all;
  std::map<std::string, size_t> places;
  for (const ProgramInput& input : file.program().inputs) {
    if (input.kind == Kind::kUser) {
      read_argument(input, argument(input.name, given), all);
    } else if (input.kind == Kind::kFixed) {
      all.add(input.name, "graph_module.signature");
    } else {
      read_weight(input, all, places);
    }
  }
  if (inputs.empty()) fail("forward() takes no tensor");
  if (inputs.size() != given.size()) argument("", given);
  read_calls(all);
  read_outputs(all);
  if (outputs.empty()) fail("forward() returns no tensor");
  need_parameters_untouched();
  release_early();
  slots = all.size();
}

ExportedModule::ExportedModule(const std::filesystem::path& path, const std::vector<ForeignInput>& inputs) {
  auto parts = std::make_unique<Parts>(path);
  parts->named([&] { parts->read(inputs); });
  describe(path.stem().string(), parts->inputs, parts->weights);
  parts_ = std::move(parts);
  find_outputs();
}

ExportedModule::~ExportedModule() = default;

bool ExportedModule::reads(const std::filesystem::path& path) {
  return pt2::is_program_file(path);
}

Weights ExportedModule::weights(const graph::Parameters& parameters, Gradients gradients) const {
  return make_weights(graph(), parameters, gradients);
}

std::vector<at::Tensor> ExportedModule::run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                                            const RunOptions& options) const {
  const Parts& parts = *parts_;
  const bool training = options.mode == Mode::kTraining;
  if (parts.events_max && inputs[0].size(0) > *parts.events_max) {
    parts.fail(
        fmt::format("was exported for at most {} events at once and is given {}; give Dim() a larger max, or "
                    "take smaller batches",
                    *parts.events_max, inputs[0].size(0)));
  }
  Values values(parts.slots);
  const auto put = [&](int slot, at::Tensor tensor) { values[static_cast<size_t>(slot)] = std::move(tensor); };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor input = inputs[i].to(parts.taken[i].type);
    put(parts.taken[i].slot, parts.writes && input.is_same(inputs[i]) ? input.clone() : input);
  }
  // Buffers may be written by the graph, so each call has its own.
  const auto& tensors = weights.nodes[graph().inputs.size()];
  std::vector<at::Tensor> running;
  for (size_t i = 0; i < tensors.size(); ++i) {
    running.push_back(weight_list()[i].trainable ? tensors[i] : tensors[i].clone());
    for (const int slot : parts.kept[i].slots) put(slot, running[i]);
  }
  for (const Fixed& fixed : parts.fixed) put(fixed.slot, fixed.value.clone());

  std::optional<TorchRandomTurn> turn;
  if (training ? parts.random_in_training : parts.random_always) turn.emplace(options.dropout_key);
  return parts.named([&] {
    for (const Call& call : parts.calls) call.run(values, training);
    std::vector<at::Tensor> outputs;
    for (const int slot : parts.outputs) outputs.push_back(values[static_cast<size_t>(slot)].toTensor());
    if (!training || options.batch_statistics == nullptr) return outputs;
    std::vector<at::Tensor> before, after;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (weight_list()[i].trainable) continue;
      before.push_back(tensors[i]);
      const auto& changed = parts.kept[i].new_value;
      after.push_back(changed ? values[static_cast<size_t>(*changed)].toTensor() : running[i]);
    }
    *options.batch_statistics = changes(parameters().statistics_layout, before, after);
    return outputs;
  });
}

std::string ExportedModule::notes_in(const std::filesystem::path& path) {
  return pt2::ProgramFile(path).notes();
}

std::string ExportedModule::remark() const {
  if (parts_->for_training > 0 || parts_->for_evaluation == 0) return "";
  return fmt::format(
      "{} was exported for evaluation: the {} layers of it that drop values or normalise by the batch do neither in "
      "this "
      "training; export it after model.train() if they shall",
      parts_->path, parts_->for_evaluation);
}

std::optional<std::filesystem::path> ExportedModule::save(const graph::Parameters& parameters,
                                                          const std::filesystem::path& path,
                                                          const std::string& notes) const {
  std::vector<std::pair<const ProgramInput*, std::span<const float>>> values;
  for (size_t i = 0; i < weight_list().size(); ++i)
    values.emplace_back(parts_->kept[i].input, parameters.values("module/" + weight_list()[i].name));
  const std::filesystem::path file = path.string() + ".pt2";
  write_file_atomically(file, parts_->file.with(values, notes));
  return file;
}

}  // namespace linac::nn
