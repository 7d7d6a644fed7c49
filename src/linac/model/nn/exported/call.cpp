#include "linac/model/nn/exported/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "linac/base/base/error.h"

namespace linac::nn::exported {
namespace {

using c10::IValue;

constexpr std::string_view kOperators = "torch.ops.";
/// They read and write files, and no network wants them.
constexpr std::array<std::string_view, 1> kForbidden{"aten::from_file"};
/// Arguments that say whether an operator trains, and how much it drops.
constexpr std::array<std::string_view, 2> kTrainingFlags{"train", "training"};
constexpr std::array<std::string_view, 3> kShares{"dropout_p", "dropout", "p"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "torch.ops.aten.linear.default" as the dispatcher has it: aten::linear, without overload.
c10::OperatorName operator_name(const pt2::Node& node) {
  const std::string rest = node.target.substr(kOperators.size());
  const size_t first = rest.find('.'), last = rest.rfind('.');
  if (first == std::string::npos || first == last)
    throw user_error(fmt::format("[pt2] {}: '{}' is no operator", node.where, node.target));
  const std::string overload = rest.substr(last + 1);
  return {rest.substr(0, first) + "::" + rest.substr(first + 1, last - first - 1),
          overload == "default" ? "" : overload};
}

c10::OperatorHandle find_operator(const pt2::Node& node) {
  if (!node.target.starts_with(kOperators)) {
    throw user_error(
        fmt::format("[pt2] {}: {} is a function that linac does not know; write forward() with PyTorch's operators",
                    node.where, node.target));
  }
  if (!node.target.starts_with("torch.ops.aten.")) {
    throw user_error(
        fmt::format("[pt2] {}: {} is an operator of a library, and linac has those of PyTorch (aten) "
                    "alone; write forward() with them",
                    node.where, node.target));
  }
  const c10::OperatorName name = operator_name(node);
  const auto found = c10::Dispatcher::singleton().findSchema(name);
  if (!found || is_one_of(name.name, kForbidden)) {
    throw user_error(
        fmt::format("[pt2] {}: linac's LibTorch has no operator {} for models; export the program with "
                    "the PyTorch that docs/guide/training.md names",
                    node.where, node.target));
  }
  return *found;
}

}  // namespace

Call::Call(const pt2::Node& node, Slots& slots) : name_(node.target) {
  function_ = number_function(node.target);
  if (function_ != nullptr)
    read_numbers(node, slots);
  else
    read_operator(node, slots);
  read_results(node, slots);
}

void Call::read_numbers(const pt2::Node& node, const Slots& slots) {
  if (node.inputs.size() != number_of_operands(node.target) || node.outputs.size() != 1)
    throw user_error(fmt::format("[pt2] {}: {} takes {} numbers and gives one", node.where, node.target,
                                 number_of_operands(node.target)));
  for (const auto& [name, argument] : node.inputs) {
    const std::string where = node.where + ", " + name;
    operands_.emplace_back(argument, c10::NumberType::get(), 0, slots, where);
  }
}

void Call::read_operator(const pt2::Node& node, const Slots& slots) {
  operator_ = find_operator(node);
  name_ = node.target.substr(kOperators.size());
  const auto& schema = operator_->schema();
  for (const auto& [name, argument] : node.inputs) {
    if (!schema.argumentIndexWithName(name))
      throw user_error(fmt::format("[pt2] {}: {} takes no '{}'", node.where, name_, name));
  }
  for (const c10::Argument& argument : schema.arguments()) {
    const std::string where = fmt::format("{}, '{}' of {}", node.where, argument.name(), name_);
    const auto given = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](const auto& input) { return input.first == argument.name(); });
    if (given != node.inputs.end())
      operands_.emplace_back(given->second, argument.type(), argument.N().value_or(0), slots, where);
    else if (argument.default_value())
      operands_.emplace_back(*argument.default_value());
    else
      throw user_error(fmt::format("[pt2] {}: is not given", where));
    const auto* const alias = argument.alias_info();
    if (alias != nullptr && alias->isWrite())
      written_.insert(written_.end(), operands_.back().slots().begin(), operands_.back().slots().end());
  }
  read_mode();
}

const Operand* Call::operand(const std::string& argument) const {
  const auto index = operator_->schema().argumentIndexWithName(argument);
  return index ? &operands_[static_cast<size_t>(*index)] : nullptr;
}

// Finds what training and evaluation differ in: flags, shares that are dropped, statistics of the input.
void Call::read_mode() {
  const auto& arguments = operator_->schema().arguments();
  bool has_flag = false, is_on = false, has_share = false, drops = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const IValue* const constant = operands_[i].constant();
    const bool flag = is_one_of(arguments[i].name(), kTrainingFlags);
    if (constant == nullptr || constant->isNone()) {
      has_flag = has_flag || flag;
      is_on = is_on || flag;  // native_dropout's train is none for true
      if (flag) in_evaluation_.emplace_back(i, false);
      continue;
    }
    if (flag && constant->isBool()) {
      has_flag = true;
      is_on = is_on || constant->toBool();
      in_evaluation_.emplace_back(i, false);
    } else if (is_one_of(arguments[i].name(), kShares) && constant->isDouble()) {
      has_share = true;
      drops = drops || constant->toDouble() > 0;
      if (arguments[i].name() != "dropout_p") continue;  // the others have a flag beside them
      in_evaluation_.emplace_back(i, 0.0);
      if (drops) exported_ = Exported::kForTraining;
    } else if (arguments[i].name() == "use_input_stats" && constant->isBool()) {
      const Operand* const mean = operand("running_mean");
      if (mean == nullptr || mean->slots().empty()) continue;
      has_flag = true;
      is_on = constant->toBool();
      in_evaluation_.emplace_back(i, false);
    }
  }
  if (has_flag && (drops || !has_share)) exported_ = is_on ? Exported::kForTraining : Exported::kForEvaluation;
  const bool seeded = operator_->hasTag(at::Tag::nondeterministic_seeded);
  random_ = seeded && (!has_flag || is_on) && (!has_share || drops);
  random_always_ = random_ && in_evaluation_.empty();
}

void Call::read_results(const pt2::Node& node, Slots& slots) {
  const size_t wanted = operator_ ? operator_->schema().returns().size() : 1;
  if (node.outputs.size() != wanted)
    throw user_error(
        fmt::format("[pt2] {}: {} gives {} results, not {}", node.where, name_, wanted, node.outputs.size()));
  for (const pt2::Argument& output : node.outputs) {
    Result result;
    if (const auto* const name = std::get_if<pt2::Name>(&output))
      result.slots.push_back(slots.add(name->text, node.where));
    if (const auto* const names = std::get_if<std::vector<pt2::Element>>(&output)) {
      result.list = true;
      for (const pt2::Element& element : *names) {
        const auto* const name = std::get_if<pt2::Name>(&element);
        if (name == nullptr) throw user_error(fmt::format("[pt2] {}: a result of {} has no name", node.where, name_));
        result.slots.push_back(slots.add(name->text, node.where));
      }
    }
    results_.push_back(std::move(result));
  }
}

std::vector<int> Call::taken() const {
  std::vector<int> all;
  for (const Operand& operand : operands_) all.insert(all.end(), operand.slots().begin(), operand.slots().end());
  return all;
}

void Call::run(Values& values, bool training) const {
  std::vector<IValue> stack;
  try {
    for (const Operand& operand : operands_) stack.push_back(operand.value(values));
    if (!training)
      for (const auto& [i, value] : in_evaluation_) stack[i] = value;
    if (function_ != nullptr) {
      IValue result = function_(stack);
      stack.assign(1, std::move(result));
    } else {
      operator_->callBoxed(stack);
    }
    store(stack, values);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw user_error(fmt::format("[pt2] {} fails: {}", name_, text.substr(0, text.find('\n'))));
  }
  for (const int slot : released_) values[static_cast<size_t>(slot)] = IValue();
}

void Call::store(std::vector<IValue>& results, Values& values) const {
  for (size_t i = 0; i < results_.size(); ++i) {
    const Result& result = results_[i];
    if (!result.list) {
      if (result.slots.empty()) continue;
      IValue& value = results.at(i);
      values[static_cast<size_t>(result.slots[0])] =
          value.isSymInt() ? IValue(value.toSymInt().expect_int()) : std::move(value);
      continue;
    }
    const auto tensors = results.at(i).toTensorVector();
    if (tensors.size() != result.slots.size())
      throw user_error(fmt::format("[pt2] {} gives {} tensors where the program was exported with {}", name_,
                                   tensors.size(), result.slots.size()));
    for (size_t k = 0; k < tensors.size(); ++k) values[static_cast<size_t>(result.slots[k])] = tensors[k];
  }
}

}  // namespace linac::nn::exported
