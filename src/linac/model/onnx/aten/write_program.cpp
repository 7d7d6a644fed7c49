#include "linac/model/onnx/aten/write_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/model/onnx/aten/call.h"

namespace linac::onnx {
namespace {

using aten::Call;
using aten::Function;
using Kind = pt2::ProgramInput::Kind;

constexpr std::string_view kAten = "torch.ops.aten.";

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table = [] {
    std::map<std::string, Function> all;
    for (const auto& family : {aten::arithmetic(), aten::activations(), aten::layers(), aten::shapes()})
      for (const auto& [name, function] : family) all[std::string(kAten) + name] = function;
    for (const auto& [name, function] : aten::numbers()) all[name] = function;
    return all;
  }();
  return table;
}

// Of "torch.ops.aten.relu_.default" "torch.ops.aten.relu.default"; empty if the operator writes nothing in place.
std::string out_of_place(const std::string& target) {
  const size_t dot = target.rfind('.');
  if (!target.starts_with(kAten) || dot == 0 || target[dot - 1] != '_') return "";
  return target.substr(0, dot - 1) + target.substr(dot);
}

// What decomposing leaves of a model that was exported without model.eval(): it draws, or reads the batch's statistics.
bool is_of_training(const std::string& target) {
  return std::ranges::any_of(std::array{"native_dropout", "bernoulli", "_native_batch_norm_legit.", "rand"},
                             [&](const char* word) { return target.find(word) != std::string::npos; });
}

Function function_of(const pt2::Node& node) {
  const auto& table = functions();
  for (const std::string& name : {node.target, out_of_place(node.target)})
    if (const auto found = table.find(name); found != table.end()) return found->second;
  throw user_error(
      fmt::format("[export] linac does not write {} as ONNX; {}", aten::described(node),
                  is_of_training(node.target)
                      ? "it belongs to training alone: call model.eval() before torch.export.export()"
                      : "torch.onnx.export may, or linac does of the model as a .pt2 behind run_decompositions()"));
}

std::vector<pt2::Extent> extents(const std::vector<int64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

// Whether what comes out shares memory with what goes in.
bool is_view(const std::string& target) {
  static const std::set<std::string> kViews{"view",    "reshape", "_unsafe_view", "flatten",   "unflatten",
                                            "permute", "t",       "transpose",    "unsqueeze", "squeeze",
                                            "slice",   "select",  "split",        "chunk",     "split_with_sizes",
                                            "unbind",  "expand",  "alias",        "detach",    "contiguous",
                                            "to"};
  if (!target.starts_with(kAten)) return false;
  const std::string rest = target.substr(kAten.size());
  return kViews.contains(rest.substr(0, rest.find('.')));
}

std::vector<std::string> results_of(const pt2::Node& node) {
  std::vector<std::string> names;
  for (const pt2::Argument& output : node.outputs) {
    if (const auto* const name = std::get_if<pt2::Name>(&output)) names.push_back(name->text);
    if (const auto* const list = std::get_if<std::vector<pt2::Element>>(&output))
      for (const pt2::Element& element : *list)
        if (const auto* const name = std::get_if<pt2::Name>(&element)) names.push_back(name->text);
  }
  return names;
}

using NumbersOf = std::function<pt2::Numbers(const pt2::ProgramInput&)>;

class Writer {
 public:
  Writer(const pt2::Program& program, NumbersOf numbers_of, const std::vector<graph::OutputUnits>& units)
      : program_(program), numbers_of_(std::move(numbers_of)), units_(units), emit_("program") {}

  Model write() {
    for (const pt2::ProgramInput& input : program_.inputs) read(input);
    for (const pt2::Node& node : program_.nodes) {
      emit_.begin(node_name(node));
      const Call call(emit_, program_, node, values_);
      function_of(node)(call);
      note_places(node);
    }
    return finish();
  }

 private:
  static std::string node_name(const pt2::Node& node) {
    const auto* const name = node.outputs.empty() ? nullptr : std::get_if<pt2::Name>(&node.outputs[0]);
    return name == nullptr ? node.target : name->text;
  }

  void read(const pt2::ProgramInput& input) {
    if (input.kind == Kind::kFixed) return;
    if (input.kind == Kind::kUser) {
      const pt2::TensorInfo& info = program_.tensors.at(input.name);
      const auto type = aten::type_of(info.scalar_type);
      if (!type || info.shape.empty())
        throw user_error(fmt::format("[export] input '{}' is of a type that linac does not write", input.name));
      const Value port = emit_.input(input.name, event_shape(input.name, info.shape), *type);
      values_.tensors[input.name] = {port.name, *type, info.shape};
      return;
    }
    read_weight(input);
  }

  void read_weight(const pt2::ProgramInput& input) {
    pt2::Numbers numbers = numbers_of_(input);
    const auto type = aten::type_of(numbers.scalar_type);
    if (!type) return;  // an operator that takes it will say so
    values_.tensors[input.name] = {emit_.numbers(input.target, *type, numbers.sizes, std::move(numbers.bytes)), *type,
                                   extents(numbers.sizes)};
  }

  // What an operator wrote in place has its new value under the old name too. Not so what shares memory with it: of
  // views nothing may be written.
  void note_places(const pt2::Node& node) {
    const auto self = std::find_if(node.inputs.begin(), node.inputs.end(),
                                   [](const auto& input) { return input.first == "self" || input.first == "input"; });
    const auto* const given = self == node.inputs.end() ? nullptr : std::get_if<pt2::Name>(&self->second);
    const auto* const result = node.outputs.size() != 1 ? nullptr : std::get_if<pt2::Name>(&node.outputs[0]);
    if (given == nullptr) return;
    if (is_view(node.target)) {
      views_.insert(given->text);
      for (const std::string& name : results_of(node)) views_.insert(name);
    }
    if (functions().contains(node.target) || result == nullptr) return;
    if (views_.contains(given->text)) {
      throw user_error(
          fmt::format("[export] {} changes a tensor of which there are views; write forward() without "
                      "operators in place",
                      aten::described(node)));
    }
    values_.tensors[given->text] = values_.tensors.at(result->text);
  }

  Shape event_shape(const std::string& name, const std::vector<pt2::Extent>& shape) const {
    Shape event;
    for (size_t i = 1; i < shape.size(); ++i) {
      const auto* const extent = std::get_if<int64_t>(&shape[i]);
      if (extent == nullptr) throw user_error(fmt::format("[export] '{}' has an axis of no fixed extent", name));
      event.push_back(*extent);
    }
    return event;
  }

  std::string in_units(const graph::OutputUnits& units, const std::string& x) {
    const Shape shape{static_cast<int64_t>(units.scale.size())};
    emit_.begin("units");
    return emit_.op("Add", {emit_.op("Mul", {x, emit_.floats(shape, units.scale)}), emit_.floats(shape, units.offset)});
  }

  Model finish() {
    std::vector<std::string> wanted;
    for (const pt2::ProgramOutput& output : program_.outputs)
      if (output.kind == pt2::ProgramOutput::Kind::kUser) wanted.push_back(output.name);
    Emitter::Names names;
    std::vector<Value> values;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto found = values_.tensors.find(wanted[i]);
      if (found == values_.tensors.end())
        throw user_error(fmt::format("[export] output '{}' is no tensor that ONNX has", wanted[i]));
      names.push_back(wanted.size() == 1 ? "output" : fmt::format("output_{}", i));
      values.push_back({found->second.name, event_shape(wanted[i], found->second.shape), found->second.type});
      if (i < units_.size() && !units_[i].empty()) values.back().name = in_units(units_[i], values.back().name);
    }
    return emit_.finish(names, values);
  }

  const pt2::Program& program_;
  const NumbersOf numbers_of_;
  const std::vector<graph::OutputUnits>& units_;
  Emitter emit_;
  aten::Values values_;
  std::set<std::string> views_;  // and of what there are views
};

}  // namespace

Model to_onnx(const pt2::ProgramFile& file, Metadata metadata, const std::vector<graph::OutputUnits>& units) {
  Model model = Writer(
                    file.program(), [&](const auto& input) { return file.numbers(input); }, units)
                    .write();
  model.metadata = std::move(metadata);
  return model;
}

Model to_onnx(const pt2::WeightedProgram& program, Metadata metadata, const std::vector<graph::OutputUnits>& units) {
  const auto numbers_of = [&](const auto& input) { return program.weights.at(input.name); };
  Model model = Writer(program.program, numbers_of, units).write();
  model.metadata = std::move(metadata);
  return model;
}

void write_onnx(const pt2::ProgramFile& file, const std::filesystem::path& path, const Metadata& metadata,
                const std::vector<graph::OutputUnits>& units) {
  write_file_atomically(path, encode(to_onnx(file, metadata, units)));
}

void write_onnx(const pt2::WeightedProgram& program, const std::filesystem::path& path, const Metadata& metadata,
                const std::vector<graph::OutputUnits>& units) {
  write_file_atomically(path, encode(to_onnx(program, metadata, units)));
}

}  // namespace linac::onnx
