#include "linac/model/nn/script/script_value.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/nn/exported/operand.h"

namespace linac::nn::script {
namespace {

c10::TypePtr without_optional(c10::TypePtr type) {
  while (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type;
}

// A trace has the numbers of shapes as tensors.
bool wants_tensor(const c10::TypePtr& type, const c10::IValue& value) {
  return type->isSubtypeOf(*c10::TensorType::get()) && (value.isInt() || value.isDouble() || value.isBool());
}

int64_t code_of(const at::Tensor& tensor) {
  if (const auto code = exported::code_of(tensor.scalar_type())) return *code;
  throw user_error(
      fmt::format("[export] a tensor of type {}, which linac does not write", c10::toString(tensor.scalar_type())));
}

}  // namespace

bool ScriptValue::is_constant() const {
  if (elements) return std::all_of(elements->begin(), elements->end(), [](const auto& e) { return e.is_constant(); });
  return name.empty() && !open;
}

bool ScriptValue::holds_tensor() const {
  if (elements) return std::any_of(elements->begin(), elements->end(), [](const auto& e) { return e.holds_tensor(); });
  return !name.empty() && computed[0].isTensor();
}

c10::IValue ScriptValue::value(size_t which, const c10::TypePtr& type) const {
  const c10::TypePtr wanted = without_optional(type);
  if (!elements) {
    const c10::IValue& found = computed[which];
    return wants_tensor(wanted, found) ? c10::IValue(at::scalar_tensor(found.toScalar())) : found;
  }
  if (const auto tuple = wanted->cast<c10::TupleType>()) {
    std::vector<c10::IValue> all;
    for (size_t i = 0; i < elements->size(); ++i) all.push_back((*elements)[i].value(which, tuple->elements().at(i)));
    return c10::ivalue::Tuple::create(std::move(all));
  }
  const auto list = wanted->cast<c10::ListType>();
  if (!list) throw user_error(fmt::format("[export] a list where {} is wanted", wanted->str()));
  c10::impl::GenericList all(list->getElementType());
  for (const ScriptValue& element : *elements) all.push_back(element.value(which, list->getElementType()));
  return all;
}

pt2::TensorInfo info_of(const at::Tensor& first, const at::Tensor& second) {
  pt2::TensorInfo info{code_of(first), {}};
  if (first.dim() != second.dim())
    throw user_error("[export] a tensor whose number of axes depends on the number of events");
  for (int64_t axis = 0; axis < first.dim(); ++axis) {
    const int64_t a = first.size(axis), b = second.size(axis);
    if (a == b)
      info.shape.emplace_back(a);
    else
      info.shape.emplace_back(a == kEvents[0] && b == kEvents[1] ? kEventsSymbol : "");
  }
  return info;
}

pt2::Numbers numbers_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().contiguous();
  return {code_of(plain), plain.sizes().vec(),
          std::string(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes())};
}

}  // namespace linac::nn::script
