#include "linac/model/nn/script/script_program.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/model/nn/script/lists.h"
#include "linac/model/nn/script/operators.h"
#include "linac/model/nn/script/program_builder.h"
#include "linac/model/nn/script/script_error.h"

namespace linac::nn::script {
namespace {

using c10::IValue;
using torch::jit::Block;
using torch::jit::Node;
using Items = std::vector<ScriptValue>;

constexpr size_t kStepsMax = pt2::kNodesMax;

bool raises(const Block& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(),
                     [](const Node* node) { return node->kind() == c10::prim::RaiseException; });
}

class Walk {
 public:
  explicit Walk(ProgramBuilder& builder) : builder_(builder) {}

  void bind(const torch::jit::Value* value, ScriptValue item) { items_[value] = std::move(item); }
  const ScriptValue& at(const torch::jit::Value* value) const { return items_.at(value); }

  void run(const Block& block) {
    for (const Node* node : block.nodes()) {
      if (++steps_ > kStepsMax) refuse(*node, "forward() is too long");
      try {
        step(*node);
      } catch (const Named&) {
        throw;
      } catch (const Error& error) {
        refuse(*node, without_prefix(error.what()));
      } catch (const std::exception& error) {
        refuse(*node,
               fmt::format("fails for {} or {} events: {}; a trace keeps the sizes that it was made with: write "
                           "x.shape[0] or flatten(1) for the number of events, or export the model as a .pt2 with a "
                           "free axis of events",
                           kEvents[0], kEvents[1], reason(error)));
      }
    }
  }

 private:
  // An error that names its operator already.
  struct Named : Error {
    explicit Named(const std::string& message) : Error(ErrorCode::kUser, message) {}
  };

  [[noreturn]] static void refuse(const Node& node, const std::string& why) {
    throw Named(fmt::format("[export] {}: {}", described(node), why));
  }
  static std::string without_prefix(const std::string& text) {
    constexpr std::string_view kPrefix = "[export] ";
    return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
  }

  const ScriptValue& in(const Node& node, size_t i) const { return items_.at(node.input(i)); }
  void out(const Node& node, ScriptValue item) { bind(node.output(), std::move(item)); }

  void step(const Node& node) {
    const std::string_view name = node.kind().toQualString();
    if (node.kind() == c10::prim::Constant)
      return out(node, ScriptValue::constant(*torch::jit::toIValue(node.output())));
    if (node.kind() == c10::prim::Uninitialized) return out(node, ScriptValue::constant(IValue()));
    if (node.kind() == c10::prim::GetAttr) {
      return out(node, ScriptValue::constant(in(node, 0).computed[0].toObject()->getAttr(node.s(c10::attr::name))));
    }
    if (node.kind() == c10::prim::SetAttr) return set_attribute(node);
    if (node.kind() == c10::prim::If) return branch(node);
    if (node.kind() == c10::prim::Loop) return loop(node);
    if (node.kind() == c10::prim::RaiseException)
      refuse(node, "forward() raises an exception for events of this shape");
    if (node.kind() == c10::prim::DictConstruct) return dictionary(node);
    if (name == "aten::warn" || name == "prim::Print") return;
    if (hands_on(name)) return out(node, in(node, 0));
    if (list(node, name) || number(node, name)) return;
    call(node, name);
  }

  void set_attribute(const Node& node) {
    const ScriptValue& value = in(node, 1);
    if (!value.is_constant() || value.elements)
      refuse(node, "forward() keeps something in the module, which ONNX does not");
    in(node, 0).computed[0].toObject()->setAttr(node.s(c10::attr::name), value.computed[0]);
  }

  // Whether the condition holds. What depends on the number of events decides only between a result and an exception.
  bool decided(const Node& node, const ScriptValue& condition) {
    const bool first = condition.computed[0].toBool(), second = condition.computed[1].toBool();
    if (condition.is_constant()) return first;
    const Block& other = *node.blocks()[first ? 1 : 0];
    if (first != second || !raises(other))
      refuse(node,
             "branches by the number of events, of which ONNX gets one for all; take the branch out of forward()");
    return first;
  }

  void branch(const Node& node) {
    const Block& block = *node.blocks()[decided(node, in(node, 0)) ? 0 : 1];
    run(block);
    for (size_t i = 0; i < node.outputs().size(); ++i) bind(node.output(i), at(block.outputs()[i]));
  }

  void loop(const Node& node) {
    const Block& block = *node.blocks()[0];
    Items carried;
    for (size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(in(node, i));
    const ScriptValue most = in(node, 0);
    ScriptValue condition = in(node, 1);
    for (int64_t i = 0;; ++i) {
      if (!most.is_constant() || !condition.is_constant())
        refuse(node, "loops over the number of events; write forward() for all events at once");
      if (i >= most.computed[0].toInt() || !condition.computed[0].toBool()) break;
      if (++steps_ > kStepsMax) refuse(node, "forward() is too long");
      bind(block.inputs()[0], ScriptValue::constant(i));
      for (size_t k = 0; k < carried.size(); ++k) bind(block.inputs()[k + 1], carried[k]);
      run(block);
      condition = at(block.outputs()[0]);
      for (size_t k = 0; k < carried.size(); ++k) carried[k] = at(block.outputs()[k + 1]);
    }
    for (size_t k = 0; k < carried.size(); ++k) bind(node.output(k), carried[k]);
  }

  void dictionary(const Node& node) {
    const auto type = node.output()->type()->expect<c10::DictType>();
    c10::impl::GenericDict made(type->getKeyType(), type->getValueType());
    for (size_t i = 0; i + 1 < node.inputs().size(); i += 2) {
      if (!in(node, i).is_constant() || !in(node, i + 1).is_constant())
        refuse(node, "puts something of the events into a dictionary; use a list");
      made.insert(in(node, i).value(0, type->getKeyType()), in(node, i + 1).value(0, type->getValueType()));
    }
    out(node, ScriptValue::constant(made));
  }

  // What is done with lists and tuples that hold something of the events; true if that was all.
  bool list(const Node& node, std::string_view name) {
    Items inputs;
    for (const torch::jit::Value* input : node.inputs()) inputs.push_back(items_.at(input));
    if (node.kind() == c10::prim::ListUnpack || node.kind() == c10::prim::TupleUnpack) {
      const Items elements = elements_of(inputs[0]);
      if (elements.size() != node.outputs().size())
        refuse(node, fmt::format("{} values for {} names", elements.size(), node.outputs().size()));
      for (size_t i = 0; i < elements.size(); ++i) bind(node.output(i), elements[i]);
      return true;
    }
    auto made = of_lists(name, inputs);
    if (made && !node.outputs().empty()) out(node, std::move(*made));
    return made.has_value();
  }

  // Extents of tensors, and sums and products of them; true if it was that.
  bool number(const Node& node, std::string_view name) {
    if (name == "aten::size" && in(node, 0).holds_tensor()) {
      size(node);
      return true;
    }
    const auto is_number = [&](const torch::jit::Value* input) {
      const ScriptValue& item = items_.at(input);
      return !item.name.empty() && item.computed[0].isInt();
    };
    if (std::none_of(node.inputs().begin(), node.inputs().end(), is_number)) return false;
    if (changes_kind(name)) {
      out(node, in(node, 0));
      return true;
    }
    const bool sum = name == "aten::add", product = name == "aten::mul";
    if ((!sum && !product) || !is_integer(in(node, 0)) || !is_integer(in(node, 1))) return false;
    ScriptValue result;
    for (size_t i = 0; i < kEvents.size(); ++i) {
      const int64_t a = integer(in(node, 0), i), b = integer(in(node, 1), i);
      result.computed[i] = sum ? a + b : a * b;
    }
    builder_.call(sum ? "_operator.add" : "_operator.mul", {{"a", plain(in(node, 0))}, {"b", plain(in(node, 1))}}, node,
                  {&result});
    out(node, result);
    return true;
  }

  static bool is_integer(const ScriptValue& item) {
    if (item.elements || item.open) return false;
    const IValue& value = item.computed[0];
    return value.isInt() || (item.is_constant() && value.isTensor() && value.toTensor().dim() == 0 &&
                             value.toTensor().scalar_type() == at::kLong);
  }
  static int64_t integer(const ScriptValue& item, size_t which) {
    const IValue& value = item.computed[which];
    return value.isInt() ? value.toInt() : value.toTensor().item<int64_t>();
  }
  static ScriptValue plain(const ScriptValue& item) {
    return item.is_constant() ? ScriptValue::constant(integer(item, 0)) : item;
  }

  void size(const Node& node) {
    const ScriptValue& x = in(node, 0);
    const at::Tensor first = x.computed[0].toTensor(), second = x.computed[1].toTensor();
    if (first.dim() != second.dim()) refuse(node, "the number of axes depends on the number of events");
    const auto extent = [&](int64_t axis) {
      if (first.size(axis) == second.size(axis)) return ScriptValue::constant(first.size(axis));
      ScriptValue result;
      result.computed = {first.size(axis), second.size(axis)};
      builder_.call("torch.ops.aten.sym_size.int", {{"self", x}, {"dim", ScriptValue::constant(axis)}}, node,
                    {&result});
      return result;
    };
    if (node.inputs().size() == 1) {
      Items all;
      for (int64_t axis = 0; axis < first.dim(); ++axis) all.push_back(extent(axis));
      return out(node, ScriptValue::of(std::move(all)));
    }
    const ScriptValue& place = in(node, 1);
    if (!place.is_constant()) refuse(node, "takes an axis that depends on the events");
    const int64_t axis = place.computed[0].toInt();
    out(node, extent(c10::maybe_wrap_dim(axis, first.dim())));
  }

  torch::jit::Stack stack_of(const Node& node, size_t which) const {
    const auto& arguments = node.schema().arguments();
    torch::jit::Stack stack;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const c10::TypePtr type = arguments[i].type()->hasFreeVariables() ? node.input(i)->type() : arguments[i].type();
      stack.push_back(in(node, i).value(which, type));
    }
    return stack;
  }

  // Any other operator: computed where nothing of the events enters, else part of the program.
  void call(const Node& node, std::string_view name) {
    if (node.maybeOperator() == nullptr)
      refuse(node, "is no operator that linac writes; write forward() with tensors and numbers alone");
    bool constant = true, tensors = false;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      constant = constant && in(node, i).is_constant();
      tensors = tensors || in(node, i).holds_tensor();
    }
    if (constant && node.isNondeterministic()) refuse(node, "draws random numbers");
    if (!constant && node.schema().is_mutable() && in(node, 0).is_constant())
      refuse(node, "writes what follows from the events into a constant; write forward() without operators in place");
    need_evaluation(node);
    std::array<torch::jit::Stack, 2> results;
    for (size_t which = 0; which < (constant ? 1 : 2); ++which) {
      results[which] = stack_of(node, which);
      node.getOperation()(results[which]);
    }
    if (constant) results[1] = results[0];
    if (results[0].size() != node.outputs().size() || results[1].size() != results[0].size())
      refuse(node, "gives another number of results for another number of events");
    std::vector<ScriptValue> items;
    for (size_t i = 0; i < results[0].size(); ++i)
      items.push_back({{results[0][i], results[1][i]}, "", false, nullptr});
    if (!constant) give_names(node, name, tensors, items);
    for (size_t i = 0; i < items.size(); ++i) bind(node.output(i), items[i]);
  }

  void give_names(const Node& node, std::string_view name, bool tensors, std::vector<ScriptValue>& items) {
    const bool gives_tensors = std::all_of(items.begin(), items.end(), [](const ScriptValue& item) {
      return item.computed[0].isTensor() || item.computed[0].isTensorList();
    });
    if (gives_tensors && !items.empty() && name.starts_with("aten::")) return add_call(node, items);
    if (tensors && !is_fact(name)) {
      refuse(node,
             "takes a number or a condition out of the values of a tensor, which ONNX gets for each batch anew; write "
             "torch.where() in place of a branch");
    }
    for (ScriptValue& item : items) {
      item.open = !tensors || item.computed[0] != item.computed[1];
      if (item.computed[0].isTensor() || item.computed[0].isList())
        refuse(node, "follows from the number of events in a way that linac does not write");
    }
  }

  void add_call(const Node& node, std::vector<ScriptValue>& items) {
    std::vector<std::pair<std::string, ScriptValue>> arguments;
    const auto& names = node.schema().arguments();
    for (size_t i = 0; i < node.inputs().size(); ++i) arguments.emplace_back(names[i].name(), in(node, i));
    std::vector<ScriptValue*> results;
    for (ScriptValue& item : items) {
      if (item.computed[0].isTensorList()) {
        const auto first = item.computed[0].toTensorVector(), second = item.computed[1].toTensorVector();
        if (first.size() != second.size()) refuse(node, "gives as many tensors as there are events");
        Items elements;
        for (size_t i = 0; i < first.size(); ++i) elements.push_back({{first[i], second[i]}, "", false, nullptr});
        item = ScriptValue::of(std::move(elements));
      }
      results.push_back(&item);
    }
    builder_.call(target_of(node.schema()), arguments, node, results);
  }

  // A trace keeps the mode that it was made in.
  void need_evaluation(const Node& node) const {
    const auto& arguments = node.schema().arguments();
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (arguments[i].name() == "p" && in(node, i).computed[0].isDouble() && in(node, i).computed[0].toDouble() == 0)
        return;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const bool is_mode = arguments[i].name() == "train" || arguments[i].name() == "training";
      if (!is_mode || !in(node, i).is_constant() || !in(node, i).computed[0].isBool()) continue;
      if (!in(node, i).computed[0].toBool()) continue;
      refuse(node,
             "was traced for training, so that it varies with the batch in a prediction too; trace the model after "
             "model.eval(), or use torch.jit.script, which follows eval()");
    }
  }

  ProgramBuilder& builder_;
  std::map<const torch::jit::Value*, ScriptValue> items_;
  size_t steps_ = 0;
};

bool calls(const Block& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), [](const Node* node) {
    return node->kind() == c10::prim::CallMethod || node->kind() == c10::prim::CallFunction ||
           std::any_of(node->blocks().begin(), node->blocks().end(), [](const Block* inner) { return calls(*inner); });
  });
}

// Inline() goes down one level where forward() has run without the optimiser, as it does in linac.
std::shared_ptr<torch::jit::Graph> inlined(const torch::jit::Module& module) {
  constexpr int kLevelsMax = 100;
  auto graph = module.get_method("forward").graph()->copy();
  for (int level = 0; level < kLevelsMax && calls(*graph->block()); ++level) torch::jit::Inline(*graph);
  return graph;
}

}  // namespace

pt2::WeightedProgram program_of(const torch::jit::Module& module, const std::vector<ForeignInput>& inputs) {
  torch::jit::Module own = module.deepcopy();
  own.eval();
  const auto graph = inlined(own);
  ProgramBuilder builder(own);
  Walk walk(builder);
  walk.bind(graph->inputs().at(0), ScriptValue::constant(own._ivalue()));
  for (size_t i = 0; i < inputs.size(); ++i) walk.bind(graph->inputs().at(i + 1), builder.input(inputs[i]));
  walk.run(*graph->block());
  for (const torch::jit::Value* output : graph->outputs()) builder.output(walk.at(output));
  return builder.finish();
}

}  // namespace linac::nn::script
