#pragma once
// Values in the config objects of Keras's files. Python lets a user say False for 0 and 1 for True, and numpy's numbers
// reach files as objects; here each value gets the type that the table of layers says (model/graph/layers.h), once, so
// that nothing behind has to ask. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>

#include "linac/model/graph/brief.h"
#include "linac/model/graph/layers.h"

namespace linac::keras {

using graph::brief;

/// Where a value stands, for errors.
struct SettingPlace {
  std::string layer, class_name, key;
};

enum class ValueType {
  kAny,      // as it is
  kNumber,   // files may say true for 1 and false for 0
  kNumbers,  // a number, or lists of them
  kFlag,     // true or false; files may say 1 and 0
};

/// By its default; of a setting without one by its name.
ValueType type_of(const graph::Setting& setting);

/// "[keras] layer 'LAYER' (CLASS): KEY = VALUE: `why`", a user error.
[[noreturn]] void refuse_setting(const SettingPlace& place, const nlohmann::json& value, const std::string& why);

/// `value` as that type, numbers out of numpy's objects; null stays null. User error where it is of another type.
nlohmann::json typed_value(const SettingPlace& place, ValueType type, const nlohmann::json& value);

}  // namespace linac::keras
