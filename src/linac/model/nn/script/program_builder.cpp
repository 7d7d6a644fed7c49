#include "linac/model/nn/script/program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/error.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::nn::script {
namespace {

constexpr size_t kLineMax = 100;

std::string trimmed(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
  return text.size() > kLineMax ? text.substr(0, kLineMax) + " ..." : text;
}

// "model.py, line 12: y = self.gru(x)", as far as the file knows it.
std::string line_of(const torch::jit::Node& node) {
  torch::jit::SourceRange range = node.sourceRange();
  if (const auto python = range.findSourceRangeThatGenerated()) range = *python;
  if (!range.source()) return "";
  const std::string text = trimmed(range.source()->get_line(range.source()->lineno_for_offset(range.start())).str());
  const auto place = range.file_line_col();
  if (!place || std::get<0>(*place).empty()) return text;
  return fmt::format("{}, line {}{}{}", std::get<0>(*place), std::get<1>(*place), text.empty() ? "" : ": ", text);
}

// A number that PyTorch has as a tensor, which does not make floats double.
bool is_number(const at::Tensor& tensor) {
  return tensor.dim() == 0 && tensor.scalar_type() == at::kDouble;
}

// Where an operator writes in place, the rest of its name is that of the other.
std::string base_of(const std::string& target) {
  const size_t end = target.rfind('.'), begin = target.rfind('.', end - 1);
  return target.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::string described(const torch::jit::Node& node) {
  std::string name = node.kind().toQualString();
  if (const auto* const schema = node.maybeSchema(); schema != nullptr && !schema->overload_name().empty())
    name += "." + schema->overload_name();
  const std::string line = line_of(node);
  return line.empty() ? name : fmt::format("{} ({})", name, line);
}

ProgramBuilder::ProgramBuilder(const torch::jit::Module& module) {
  const auto note = [&](const std::string& name, const at::Tensor& tensor) {
    names_.emplace(tensor.unsafeGetTensorImpl(), name);
  };
  for (const auto& parameter : module.named_parameters()) note(parameter.name, parameter.value);
  for (const auto& buffer : module.named_buffers()) note(buffer.name, buffer.value);
}

ScriptValue ProgramBuilder::input(const ForeignInput& input) {
  ScriptValue value;
  for (size_t i = 0; i < kEvents.size(); ++i) value.computed[i] = at::zeros(batch_shape(kEvents[i], input.shape));
  value.name = input.name;
  made_.program.inputs.push_back({pt2::ProgramInput::Kind::kUser, input.name, ""});
  made_.program.tensors[input.name] = info_of(value.computed[0].toTensor(), value.computed[1].toTensor());
  return value;
}

// Names of Python hold no dot, so that these are others than forward()'s arguments.
pt2::Name ProgramBuilder::named(ScriptValue& value, const std::string& base) {
  value.name = fmt::format("{}.{}", base, ++count_);
  if (value.computed[0].isTensor())
    made_.program.tensors[value.name] = info_of(value.computed[0].toTensor(), value.computed[1].toTensor());
  return {value.name};
}

pt2::Argument ProgramBuilder::result(ScriptValue& value, const std::string& base) {
  if (!value.elements) return named(value, base);
  std::vector<pt2::Element> list;
  for (ScriptValue& element : *value.elements) list.emplace_back(named(element, base));
  return list;
}

pt2::Name ProgramBuilder::weight(const at::Tensor& tensor) {
  std::string& name = taken_[tensor.unsafeGetTensorImpl()];
  if (!name.empty()) return {name};
  kept_.push_back(tensor);
  const auto own = names_.find(tensor.unsafeGetTensorImpl());
  const bool is_own = own != names_.end();
  const std::string target = is_own ? own->second : fmt::format("constant_{}", kept_.size());
  name = fmt::format("weight.{}", kept_.size());
  made_.program.inputs.push_back(
      {is_own ? pt2::ProgramInput::Kind::kParameter : pt2::ProgramInput::Kind::kConstant, name, target});
  made_.program.tensors[name] = info_of(tensor, tensor);
  made_.weights[name] = numbers_of(tensor);
  return {name};
}

pt2::Element ProgramBuilder::element(const ScriptValue& value) {
  if (!value.name.empty()) return pt2::Name{value.name};
  if (value.open) {
    throw user_error(
        "[export] a number that follows from the number of events, other than by sums and products, where linac "
        "writes none");
  }
  const c10::IValue& constant = value.computed[0];
  if (constant.isTensor() && is_number(constant.toTensor())) return constant.toTensor().item<double>();
  if (constant.isTensor()) return weight(constant.toTensor());
  if (constant.isBool()) return constant.toBool();
  if (constant.isInt()) return constant.toInt();
  if (constant.isDouble()) return constant.toDouble();
  if (constant.isString()) return constant.toStringRef();
  if (constant.isNone()) return pt2::None{};
  throw user_error(fmt::format("[export] an argument that is a {}, of which linac writes none", constant.tagKind()));
}

pt2::Argument ProgramBuilder::argument(const ScriptValue& value) {
  std::vector<pt2::Element> list;
  if (value.elements) {
    for (const ScriptValue& each : *value.elements) list.push_back(element(each));
    return list;
  }
  if (value.computed[0].isDevice() || value.computed[0].isGenerator()) return pt2::Device{};
  if (value.computed[0].isList()) {
    for (const c10::IValue& each : value.computed[0].toListRef()) list.push_back(element(ScriptValue::constant(each)));
    return list;
  }
  return std::visit([](auto each) -> pt2::Argument { return each; }, element(value));
}

void ProgramBuilder::call(const std::string& target, const std::vector<std::pair<std::string, ScriptValue>>& arguments,
                          const torch::jit::Node& node, std::vector<ScriptValue*> results) {
  if (made_.program.nodes.size() >= pt2::kNodesMax) throw user_error("[export] forward() is too long");
  pt2::Node call{target, {}, {}, "", line_of(node)};
  for (const auto& [name, value] : arguments) call.inputs.emplace_back(name, argument(value));
  for (ScriptValue* const value : results) call.outputs.push_back(result(*value, base_of(target)));
  made_.program.nodes.push_back(std::move(call));
}

void ProgramBuilder::output(const ScriptValue& value) {
  if (value.elements) {
    for (const ScriptValue& element : *value.elements) output(element);
    return;
  }
  const bool is_tensor = !value.name.empty() && value.computed[0].isTensor();
  if (!is_tensor || value.computed[0].toTensor().dim() < 1 || value.computed[0].toTensor().size(0) != kEvents[0] ||
      value.computed[1].toTensor().size(0) != kEvents[1])
    throw user_error(
        "[export] forward() returns something else than tensors (events, ...); a trace keeps the number of events that "
        "it was made with where forward() says it as a number: write x.shape[0], or flatten(1)");
  made_.program.outputs.push_back({pt2::ProgramOutput::Kind::kUser, value.name, ""});
}

}  // namespace linac::nn::script
