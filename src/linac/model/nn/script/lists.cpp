#include "linac/model/nn/script/lists.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::nn::script {
namespace {

using Items = std::vector<ScriptValue>;

int64_t place(const ScriptValue& given, int64_t otherwise) {
  if (!given.is_constant()) throw user_error("[export] takes a place that depends on the events");
  return given.computed[0].isNone() ? otherwise : given.computed[0].toInt();
}

ScriptValue element(const Items& all, const ScriptValue& given) {
  const auto size = static_cast<int64_t>(all.size());
  const int64_t wanted = place(given, 0), counted = wanted < 0 ? wanted + size : wanted;
  if (counted < 0 || counted >= size) throw user_error(fmt::format("[export] takes element {} of {}", wanted, size));
  return all[static_cast<size_t>(counted)];
}

ScriptValue slice(const Items& all, const Items& inputs) {
  const auto size = static_cast<int64_t>(all.size());
  const auto within = [&](int64_t wanted) { return std::clamp<int64_t>(wanted < 0 ? wanted + size : wanted, 0, size); };
  const int64_t begin = within(place(inputs[1], 0)), end = within(place(inputs[2], size)), step = place(inputs[3], 1);
  if (step < 1) throw user_error("[export] takes a slice backwards");
  Items taken;
  for (int64_t i = begin; i < end; i += step) taken.push_back(all[static_cast<size_t>(i)]);
  return ScriptValue::of(std::move(taken));
}

}  // namespace

std::vector<ScriptValue> elements_of(const ScriptValue& value) {
  if (value.elements) return *value.elements;
  Items items;
  if (value.computed[0].isTuple()) {
    for (const c10::IValue& each : value.computed[0].toTupleRef().elements())
      items.push_back(ScriptValue::constant(each));
  } else {
    for (const c10::IValue& each : value.computed[0].toListRef()) items.push_back(ScriptValue::constant(each));
  }
  return items;
}

std::optional<ScriptValue> of_lists(std::string_view name, const std::vector<ScriptValue>& inputs) {
  if (name == "prim::ListConstruct" || name == "prim::TupleConstruct") return ScriptValue::of(inputs);
  if (inputs.empty() || !inputs[0].elements) return std::nullopt;
  Items& all = *inputs[0].elements;
  if (name == "prim::TupleIndex" || name == "aten::__getitem__") return element(all, inputs[1]);
  if (name == "aten::slice") return slice(all, inputs);
  if (name == "aten::len") return ScriptValue::constant(static_cast<int64_t>(all.size()));
  if (name == "aten::list") return ScriptValue::of(all);
  if (name == "aten::append") {
    all.push_back(inputs[1]);
    return inputs[0];
  }
  if (name == "aten::add" && inputs.size() == 2) {
    Items both = all;
    for (const ScriptValue& each : elements_of(inputs[1])) both.push_back(each);
    return ScriptValue::of(std::move(both));
  }
  return std::nullopt;
}

}  // namespace linac::nn::script
