#include "linac/model/onnx/aten/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::onnx::aten {

std::optional<Type> type_of(int64_t scalar_type) {
  switch (scalar_type) {
    case pt2::kFloat:
      return Type::kFloat;
    case 4:
      return Type::kInt32;
    case 5:
      return Type::kInt64;
    case 12:
      return Type::kBool;
    default:
      return std::nullopt;
  }
}

std::string described(const pt2::Node& node) {
  return node.source.empty() ? node.target : fmt::format("{} ({})", node.target, node.source);
}

void Call::refuse(const std::string& why) const {
  throw user_error(fmt::format("[export] {}: {}", described(node_), why));
}

const pt2::Argument* Call::find(const std::string& argument) const {
  for (const auto& [name, value] : node_.inputs)
    if (name == argument && !std::holds_alternative<pt2::None>(value)) return &value;
  return nullptr;
}

const pt2::Argument& Call::need(const std::string& argument) const {
  const pt2::Argument* const found = find(argument);
  if (found == nullptr) refuse(fmt::format("'{}' is not given", argument));
  return *found;
}

bool Call::has(const std::string& argument) const {
  return find(argument) != nullptr;
}

bool Call::is_name(const std::string& argument) const {
  const pt2::Argument* const found = find(argument);
  return found != nullptr && std::holds_alternative<pt2::Name>(*found);
}

bool Call::is_text(const std::string& argument) const {
  const pt2::Argument* const found = find(argument);
  return found != nullptr && std::holds_alternative<std::string>(*found);
}

const Tensor& Call::known(const pt2::Name& name) const {
  const auto found = values_.tensors.find(name.text);
  if (found == values_.tensors.end()) refuse(fmt::format("'{}' is no tensor that ONNX has", name.text));
  return found->second;
}

Tensor Call::tensor(const std::string& argument) const {
  const auto* const name = std::get_if<pt2::Name>(&need(argument));
  if (name == nullptr) refuse(fmt::format("'{}' is no tensor", argument));
  return known(*name);
}

Tensor Call::operand(const std::string& argument, Type type) const {
  const pt2::Argument& given = need(argument);
  if (const auto* const name = std::get_if<pt2::Name>(&given)) {
    if (const auto number = values_.numbers.find(name->text); number != values_.numbers.end()) {
      const std::string one = emit.squeeze(tensor_of(number->second), {0});
      return {emit.cast(one, Type::kInt64, type), type};
    }
    return known(*name);
  }
  return {emit.scalar(real(argument), type), type};
}

std::vector<std::optional<Tensor>> Call::tensors(const std::string& argument) const {
  const auto* const list = std::get_if<std::vector<pt2::Element>>(&need(argument));
  if (list == nullptr) refuse(fmt::format("'{}' is no list", argument));
  std::vector<std::optional<Tensor>> all;
  for (const pt2::Element& element : *list) {
    const auto* const name = std::get_if<pt2::Name>(&element);
    if (name == nullptr && !std::holds_alternative<pt2::None>(element))
      refuse(fmt::format("'{}' is no list of tensors", argument));
    all.push_back(name == nullptr ? std::optional<Tensor>() : known(*name));
  }
  return all;
}

int64_t Call::integer(const std::string& argument, std::optional<int64_t> otherwise) const {
  if (otherwise && !has(argument)) return *otherwise;
  const Number found = number(argument);
  if (!found.value) refuse(fmt::format("'{}' depends on the number of events", argument));
  return *found.value;
}

double Call::real(const std::string& argument, std::optional<double> otherwise) const {
  if (otherwise && !has(argument)) return *otherwise;
  const pt2::Argument& given = need(argument);
  if (const auto* const value = std::get_if<double>(&given)) return *value;
  if (const auto* const value = std::get_if<int64_t>(&given)) return static_cast<double>(*value);
  if (const auto* const value = std::get_if<bool>(&given)) return *value ? 1 : 0;
  refuse(fmt::format("'{}' is no number", argument));
}

bool Call::flag(const std::string& argument, bool otherwise) const {
  return has(argument) ? real(argument) != 0 : otherwise;
}

std::string Call::text(const std::string& argument, const std::string& otherwise) const {
  if (!has(argument)) return otherwise;
  const auto* const value = std::get_if<std::string>(&need(argument));
  if (value == nullptr) refuse(fmt::format("'{}' is no text", argument));
  return *value;
}

Number Call::number_of(const pt2::Element& element) const {
  if (const auto* const value = std::get_if<int64_t>(&element)) return {*value, ""};
  if (const auto* const value = std::get_if<bool>(&element)) return {*value ? 1 : 0, ""};
  const auto* const name = std::get_if<pt2::Name>(&element);
  const auto found = name == nullptr ? values_.numbers.end() : values_.numbers.find(name->text);
  if (found == values_.numbers.end()) refuse("takes a number that ONNX does not have");
  return found->second;
}

Number Call::number(const std::string& argument) const {
  const pt2::Argument& given = need(argument);
  if (const auto* const value = std::get_if<int64_t>(&given)) return number_of(*value);
  if (const auto* const value = std::get_if<bool>(&given)) return number_of(*value);
  if (const auto* const name = std::get_if<pt2::Name>(&given)) return number_of(*name);
  refuse(fmt::format("'{}' is no integer", argument));
}

std::vector<Number> Call::numbers(const std::string& argument) const {
  const auto* const list = std::get_if<std::vector<pt2::Element>>(&need(argument));
  if (list == nullptr) return {number(argument)};
  std::vector<Number> all;
  for (const pt2::Element& element : *list) all.push_back(number_of(element));
  return all;
}

Shape Call::integers(const std::string& argument, const Shape& otherwise, size_t width) const {
  if (!has(argument)) return otherwise;
  Shape all;
  for (const Number& each : numbers(argument)) {
    if (!each.value) refuse(fmt::format("'{}' depends on the number of events", argument));
    all.push_back(*each.value);
  }
  if (all.empty()) return otherwise;
  if (all.size() == 1 && width > 1) all.assign(width, all[0]);
  return all;
}

int64_t Call::axis(const std::string& argument, int64_t rank, std::optional<int64_t> otherwise) const {
  const int64_t given = integer(argument, otherwise), counted = given < 0 ? given + rank : given;
  if (counted < 0 || counted >= std::max<int64_t>(rank, 1)) refuse(fmt::format("'{}' is {}", argument, given));
  return counted;
}

Shape Call::axes(const std::string& argument, int64_t rank) const {
  Shape all = integers(argument, {});
  if (all.empty())
    for (int64_t i = 0; i < rank; ++i) all.push_back(i);
  for (int64_t& each : all) {
    if (each < 0) each += rank;
    if (each < 0 || each >= rank) refuse(fmt::format("'{}' names no axis", argument));
  }
  return all;
}

std::string Call::tensor_of(const Number& number) const {
  return number.value ? emit.ints({*number.value}) : number.tensor;
}

std::string Call::shape_of(const std::vector<Number>& numbers) const {
  Shape constants;
  Emitter::Names parts;
  for (const Number& number : numbers) {
    if (number.value) constants.push_back(*number.value);
    parts.push_back(tensor_of(number));
  }
  if (constants.size() == numbers.size()) return emit.ints(constants);
  return parts.size() == 1 ? parts[0] : emit.op("Concat", parts, {{"axis", int64_t{0}}});
}

const std::string& Call::output(size_t i) const {
  const auto* const name = i < node_.outputs.size() ? std::get_if<pt2::Name>(&node_.outputs[i]) : nullptr;
  if (name == nullptr) refuse(fmt::format("result {} is no tensor", i));
  return name->text;
}

const pt2::TensorInfo& Call::info(size_t i) const {
  const auto found = program_.tensors.find(output(i));
  if (found == program_.tensors.end()) refuse(fmt::format("the file has no shape of '{}'", output(i)));
  return found->second;
}

Type Call::result_type(size_t i) const {
  const auto type = type_of(info(i).scalar_type);
  if (!type) refuse(fmt::format("gives numbers of PyTorch's type {}, which linac does not write", info(i).scalar_type));
  return *type;
}

size_t Call::result_count() const {
  const auto* const list = node_.outputs.empty() ? nullptr : std::get_if<std::vector<pt2::Element>>(&node_.outputs[0]);
  if (list == nullptr) refuse("gives no list");
  return list->size();
}

void Call::keep(const std::string& name, const std::string& tensor) const {
  const auto found = program_.tensors.find(name);
  if (found == program_.tensors.end()) refuse(fmt::format("the file has no shape of '{}'", name));
  const auto type = type_of(found->second.scalar_type);
  if (!type)
    refuse(fmt::format("gives numbers of PyTorch's type {}, which linac does not write", found->second.scalar_type));
  values_.tensors[name] = {tensor, *type, found->second.shape};
}

void Call::result(const std::string& tensor, size_t i) const {
  keep(output(i), tensor);
}

void Call::result(const Number& number) const {
  values_.numbers[output(0)] = number;
}

void Call::results(const std::vector<std::string>& tensors) const {
  if (tensors.size() != result_count()) refuse("gives another number of tensors than the file says");
  const auto& list = std::get<std::vector<pt2::Element>>(node_.outputs[0]);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto* const name = std::get_if<pt2::Name>(&list[i]);
    if (name != nullptr) keep(name->text, tensors[i]);
  }
}

}  // namespace linac::onnx::aten
