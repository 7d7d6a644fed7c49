#include "linac/model/nn/exported/operand.h"

#include <ATen/ScalarOps.h>
#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::nn::exported {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

[[noreturn]] void fail(const std::string& where, const std::string& why) {
  throw user_error(fmt::format("[pt2] {}: {}", where, why));
}

TypePtr without_optional(const TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? without_optional(optional->getElementType()) : type;
}

bool is_optional(const TypePtr& type) {
  return type->kind() == TypeKind::OptionalType;
}

// A number where a tensor is wanted gives way to the other operand's type, as in Python.
IValue as_tensor(const at::Scalar& number) {
  at::Tensor tensor = at::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

// A value of the graph or of the file, in the type that is wanted.
IValue as_type(IValue value, const TypePtr& type) {
  const bool number = value.isInt() || value.isDouble() || value.isBool();
  if (type->kind() == TypeKind::TensorType && number) return as_tensor(value.toScalar());
  if (type->kind() == TypeKind::FloatType && value.isInt()) return static_cast<double>(value.toInt());
  return value;
}

IValue memory_format(int64_t code, const std::string& where) {
  switch (code) {
    case 1:
      return static_cast<int64_t>(at::MemoryFormat::Contiguous);
    case 2:
      return static_cast<int64_t>(at::MemoryFormat::ChannelsLast);
    case 3:
      return static_cast<int64_t>(at::MemoryFormat::ChannelsLast3d);
    case 4:
      return static_cast<int64_t>(at::MemoryFormat::Preserve);
    default:
      fail(where, fmt::format("memory format {} is not known", code));
  }
}

// Of a type other than a list.
IValue constant_of(const pt2::Argument& argument, const TypePtr& type, const std::string& where) {
  const auto* const number = std::get_if<int64_t>(&argument);
  const auto* const real = std::get_if<double>(&argument);
  const auto* const truth = std::get_if<bool>(&argument);
  const auto* const text = std::get_if<std::string>(&argument);
  switch (type->kind()) {
    case TypeKind::TensorType:
    case TypeKind::NumberType: {
      IValue value;
      if (number != nullptr) value = *number;
      if (real != nullptr) value = *real;
      if (truth != nullptr) value = *truth;
      if (!value.isNone()) return as_type(value, type);
      break;
    }
    case TypeKind::FloatType:
      if (real != nullptr) return *real;
      if (number != nullptr) return static_cast<double>(*number);
      break;
    case TypeKind::BoolType:
      if (truth != nullptr) return *truth;
      break;
    case TypeKind::StringType:
      if (text != nullptr) return *text;
      break;
    case TypeKind::DeviceObjType:
      if (std::holds_alternative<pt2::Device>(argument)) return c10::Device(c10::kCPU);
      break;
    case TypeKind::IntType:
      if (number != nullptr) return *number;
      if (truth != nullptr) return static_cast<int64_t>(*truth);
      if (const auto* const dtype = std::get_if<pt2::ScalarType>(&argument)) {
        if (const auto known = scalar_type(dtype->code)) return static_cast<int64_t>(*known);
        fail(where, fmt::format("PyTorch's type {} is not known", dtype->code));
      }
      if (const auto* const format = std::get_if<pt2::MemoryFormat>(&argument))
        return memory_format(format->code, where);
      if (const auto* const layout = std::get_if<pt2::Layout>(&argument)) {
        constexpr int64_t kStrided = 7;
        if (layout->code == kStrided) return static_cast<int64_t>(c10::kStrided);
        fail(where, "only dense tensors are known");
      }
      break;
    default:
      break;
  }
  fail(where, fmt::format("is not of the type that the operator takes, {}", type->str()));
}

template <class T, class Take>
IValue list_of(const std::vector<IValue>& values, const Take& take) {
  c10::List<T> list;
  list.reserve(values.size());
  for (const IValue& value : values) list.push_back(take(value));
  return list;
}

IValue optional_tensors(const std::vector<IValue>& values) {
  c10::List<std::optional<at::Tensor>> list;
  for (const IValue& value : values)
    list.push_back(value.isNone() ? std::optional<at::Tensor>() : std::optional(value.toTensor()));
  return list;
}

// `type`: of the elements.
IValue make_list(const std::vector<IValue>& values, const TypePtr& type, const std::string& where) {
  if (is_optional(type) && without_optional(type)->kind() == TypeKind::TensorType) return optional_tensors(values);
  switch (type->kind()) {
    case TypeKind::TensorType:
      return list_of<at::Tensor>(values, [](const IValue& v) { return v.toTensor(); });
    case TypeKind::IntType:
      return list_of<int64_t>(values, [](const IValue& v) { return v.toInt(); });
    case TypeKind::FloatType:
      return list_of<double>(values, [](const IValue& v) { return v.toDouble(); });
    case TypeKind::BoolType:
      return list_of<bool>(values, [](const IValue& v) { return v.toBool(); });
    case TypeKind::StringType:
      return list_of<std::string>(values, [](const IValue& v) { return v.toStringRef(); });
    case TypeKind::NumberType:
      return list_of<at::Scalar>(values, [](const IValue& v) { return v.toScalar(); });
    default:
      fail(where, fmt::format("lists of {} are not known", type->str()));
  }
}

constexpr std::pair<int64_t, at::ScalarType> kScalarTypes[] = {
    {1, at::kByte},  {2, at::kChar},      {3, at::kShort},           {4, at::kInt},
    {5, at::kLong},  {6, at::kHalf},      {pt2::kFloat, at::kFloat}, {8, at::kDouble},
    {12, at::kBool}, {13, at::kBFloat16},
};

pt2::Argument argument_of(const pt2::Element& element) {
  return std::visit([](auto value) -> pt2::Argument { return value; }, element);
}

}  // namespace

std::optional<at::ScalarType> scalar_type(int64_t code) {
  for (const auto& [number, type] : kScalarTypes)
    if (number == code) return type;
  return std::nullopt;
}

std::optional<int64_t> code_of(at::ScalarType type) {
  for (const auto& [number, known] : kScalarTypes)
    if (known == type) return number;
  return std::nullopt;
}

int Slots::add(const std::string& name, const std::string& where) {
  const auto [place, fresh] = slots_.emplace(name, static_cast<int>(slots_.size()));
  if (!fresh) fail(where, fmt::format("'{}' is computed twice", name));
  return place->second;
}

int Slots::find(const std::string& name, const std::string& where) const {
  const auto found = slots_.find(name);
  if (found == slots_.end()) fail(where, fmt::format("'{}' is used before it is computed", name));
  return found->second;
}

Operand::Operand(const pt2::Argument& argument, const TypePtr& wanted, int width, const Slots& slots,
                 const std::string& where) {
  type_ = without_optional(wanted);
  if (const auto* const name = std::get_if<pt2::Name>(&argument)) {
    if (type_->kind() != TypeKind::ListType) {
      slots_.push_back(slots.find(name->text, where));
      return;
    }
  }
  if (std::holds_alternative<pt2::None>(argument)) {
    if (!is_optional(wanted)) fail(where, fmt::format("is none, and the operator wants {}", wanted->str()));
    return;
  }
  if (type_->kind() != TypeKind::ListType) {
    constant_ = constant_of(argument, type_, where);
    return;
  }
  is_list_ = true;
  type_ = type_->expectRef<c10::ListType>().getElementType();
  if (const auto* const elements = std::get_if<std::vector<pt2::Element>>(&argument)) {
    for (const pt2::Element& element : *elements) elements_.emplace_back(argument_of(element), type_, 0, slots, where);
  } else {
    elements_.assign(static_cast<size_t>(std::max(1, width)), Operand(argument, type_, 0, slots, where));
  }
  for (const Operand& element : elements_) slots_.insert(slots_.end(), element.slots_.begin(), element.slots_.end());
  if (!slots_.empty()) return;
  std::vector<IValue> constants;
  for (const Operand& element : elements_) constants.push_back(element.constant_);
  constant_ = make_list(constants, type_, where);
}

IValue Operand::value(const Values& values) const {
  if (slots_.empty()) return constant_;
  if (!is_list_) return as_type(values[static_cast<size_t>(slots_[0])], type_);
  std::vector<IValue> taken;
  for (const Operand& element : elements_) taken.push_back(element.value(values));
  return make_list(taken, type_, "a list of the graph");
}

}  // namespace linac::nn::exported
