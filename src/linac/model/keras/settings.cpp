#include "linac/model/keras/settings.h"

#include <fmt/format.h>

#include <set>

#include "linac/base/base/error.h"

namespace linac::keras {
namespace {

using nlohmann::json;

/// The number in {"class_name": "__numpy__", "config": {"value": 0.1, ...}} (Keras 3), also "__tensor__", and in
/// {"type": "ndarray", "value": 0.1} (Keras before TensorFlow had it); other values themselves.
json without_wrapping(const json& value) {
  if (!value.is_object()) return value;
  const json class_name = value.value("class_name", json()), config = value.value("config", json());
  if ((class_name == "__numpy__" || class_name == "__tensor__") && config.is_object() && config.contains("value"))
    return config.at("value");
  const json type = value.value("type", json());
  if (type.is_string() && value.size() == 2 && value.contains("value")) return value.at("value");
  return value;
}

json number_of(const SettingPlace& place, const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (value.is_array() && value.size() == 1 && value[0].is_number()) return value[0];  // numpy's of one element
  if (!value.is_number()) refuse_setting(place, value, "it must be a number");
  return value;
}

json numbers_of(const SettingPlace& place, const json& value) {
  if (!value.is_array()) return number_of(place, value);
  json numbers = json::array();
  for (const json& one : value) numbers.push_back(numbers_of(place, one));
  return numbers;
}

json flag_of(const SettingPlace& place, const json& value) {
  if (value.is_boolean()) return value;
  if (!value.is_number() || (value != 0 && value != 1)) refuse_setting(place, value, "it must be true or false");
  return value == 1;
}

}  // namespace

void refuse_setting(const SettingPlace& place, const json& value, const std::string& why) {
  throw user_error(
      fmt::format("[keras] layer '{}' ({}): {} = {}: {}", place.layer, place.class_name, place.key, brief(value), why));
}

ValueType type_of(const graph::Setting& setting) {
  static const std::set<std::string> numbers{"rate", "stddev", "max_value"},
      lists{"scale", "offset", "mean", "variance", "factor", "height_factor", "width_factor", "value_range"};
  if (setting.kind != graph::SettingKind::kKept) return ValueType::kAny;
  if (setting.otherwise.is_boolean()) return ValueType::kFlag;
  if (lists.contains(setting.key)) return ValueType::kNumbers;
  return setting.otherwise.is_number_float() || numbers.contains(setting.key) ? ValueType::kNumber : ValueType::kAny;
}

json typed_value(const SettingPlace& place, ValueType type, const json& given) {
  if (given.is_null()) return given;
  const json value = without_wrapping(given);
  switch (type) {
    case ValueType::kAny:
      return value;
    case ValueType::kNumber:
      return number_of(place, value);
    case ValueType::kNumbers:
      return numbers_of(place, value);
    case ValueType::kFlag:
      return flag_of(place, value);
  }
  LINAC_CHECK(false);
}

}  // namespace linac::keras
