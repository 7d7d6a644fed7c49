#include "linac/control/http/routes/json_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "linac/base/base/json_depth.h"
#include "linac/base/base/json_keys.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/strict_json.h"
#include "linac/base/base/utf8.h"

namespace linac::http {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const char* name, const json& found, const char* wanted) {
  std::string text = found.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  throw Refusal(RefusalKind::kInvalid, fmt::format("[request] '{}' is {} (wanted: {})", name, text, wanted));
}

const json* member(const json& object, const char* name, bool optional) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found != object.end() && !found->is_null()) return &*found;
  if (optional) return nullptr;
  throw Refusal(RefusalKind::kInvalid, fmt::format("[request] '{}' is missing (it is required)", name));
}

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> as_integer(const json& value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (value.is_number_unsigned()) {
    if (value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return value.get<int64_t>();
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number != std::floor(number) || number < -kLimit || number >= kLimit) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_string()) return parsed<int64_t>(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::optional<double> as_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  const auto number = parsed<double>(text);  // which would also take "nan" and "inf"
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<bool> as_flag(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value == "true" || value == "True") return true;
  if (value == "false" || value == "False") return false;
  return std::nullopt;
}

/// What strict_json() has refused: to say why.
json read_with_reasons(std::string_view body) {
  json read;
  try {
    read = json::parse(body.begin(), body.end());
  } catch (const json::exception& e) {
    throw Refusal(RefusalKind::kInvalid, fmt::format("[request] the body is no JSON ({})", printable(e.what())));
  }
  if (const auto doubled = doubled_key(body))
    throw Refusal(RefusalKind::kInvalid, fmt::format("[request] {}; leave one of them out", doubled->words()));
  return read;
}

bool list_type(FieldType type) {
  return type == FieldType::kTexts || type == FieldType::kIntegers || type == FieldType::kNumbers ||
         type == FieldType::kObjects;
}

void check_value(json& value, const char* name, FieldType type) {
  switch (type) {
    case FieldType::kText:
      if (!value.is_string()) refuse(name, value, "a text");
      return;
    case FieldType::kInteger:
      if (const auto integer = as_integer(value)) return void(value = *integer);
      refuse(name, value, "an integer of 64 bits");
    case FieldType::kNumber:
      if (!as_number(value)) refuse(name, value, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
      return;
    case FieldType::kBoolean:
      if (const auto flag = as_flag(value)) return void(value = *flag);
      refuse(name, value, "true or false");
    case FieldType::kObject:
      if (!value.is_object()) refuse(name, value, "an object");
      return;
    case FieldType::kTexts:
    case FieldType::kIntegers:
    case FieldType::kNumbers:
    case FieldType::kObjects: {
      if (!value.is_array()) refuse(name, value, "a list");
      const FieldType item = type == FieldType::kTexts      ? FieldType::kText
                             : type == FieldType::kIntegers ? FieldType::kInteger
                             : type == FieldType::kNumbers  ? FieldType::kNumber
                                                            : FieldType::kObject;
      for (json& one : value) check_value(one, name, item);
      return;
    }
  }
}

}  // namespace

std::string text_of(const json& object, const char* name, std::optional<std::string> otherwise) {
  const json* value = member(object, name, otherwise.has_value());
  if (!value) return *otherwise;
  if (!value->is_string()) refuse(name, *value, "a text");
  return value->get<std::string>();
}

int64_t integer_from(const json& value, const char* name) {
  const auto integer = as_integer(value);
  if (!integer) refuse(name, value, "an integer of 64 bits");
  return *integer;
}

double number_from(const json& value, const char* name) {
  const auto number = as_number(value);
  if (!number) refuse(name, value, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
  return *number;
}

int64_t integer_of(const json& object, const char* name, std::optional<int64_t> otherwise) {
  const json* value = member(object, name, otherwise.has_value());
  return value ? integer_from(*value, name) : *otherwise;
}

double number_of(const json& object, const char* name, std::optional<double> otherwise) {
  const json* value = member(object, name, otherwise.has_value());
  return value ? number_from(*value, name) : *otherwise;
}

bool flag_of(const json& object, const char* name, std::optional<bool> otherwise) {
  const json* value = member(object, name, otherwise.has_value());
  if (!value) return *otherwise;
  const auto flag = as_flag(*value);
  if (!flag) refuse(name, *value, "true or false");
  return *flag;
}

json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

std::shared_ptr<json> parse_object(std::string_view body) {
  std::optional<json> read = strict_json(body, kDepthMax);
  if (!read && json_depth(body) > kDepthMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[request] the body is nested more than {} deep", kDepthMax));
  if (body.find("\\u0000") != std::string_view::npos)
    throw Refusal(RefusalKind::kInvalid, "[request] the body has a NUL character in a text; leave it out");
  if (!read) read = read_with_reasons(body);
  const auto object = std::make_shared<json>(std::move(*read));
  if (!object->is_object())
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[request] the body is a JSON {} (wanted: an object)", object->type_name()));
  return object;
}

void check_fields(json& object, const std::vector<FieldRule>& rules) {
  for (const FieldRule& rule : rules) {
    const auto found = object.find(rule.name);
    if (found != object.end() && !found->is_null()) {
      check_value(*found, rule.name.c_str(), rule.type);
    } else if (rule.required) {
      throw Refusal(RefusalKind::kInvalid,
                    fmt::format("[request] Missing value for required parameter '{}' ({})", rule.name, rule.summary));
    }
  }
}

std::shared_ptr<json> fields_of_query(const std::vector<std::pair<std::string, std::string>>& query,
                                      const std::vector<FieldRule>& rules) {
  auto object = std::make_shared<json>(json::object());
  for (const FieldRule& rule : rules) {
    for (const auto& [name, value] : query) {
      if (name != rule.name) continue;
      if (list_type(rule.type)) {
        (*object)[name].push_back(value);
      } else {
        (*object)[name] = value;
      }
    }
  }
  check_fields(*object, rules);
  return object;
}

}  // namespace linac::http
