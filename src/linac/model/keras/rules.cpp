#include "linac/model/keras/rules.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/model/graph/weight_rules.h"
#include "linac/model/keras/layers.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

/// An object of a class, or its name alone, which means its defaults.
struct Named {
  const json& value;
  std::string layer, class_name, key;

  std::string name() const {
    if (value.is_string()) return keras_snake_case(value.get<std::string>());
    const json given = value.is_object() ? value.value("class_name", json()) : json();
    return given.is_string() ? keras_snake_case(given.get<std::string>()) : "";
  }
  json config() const {
    const json given = value.is_object() ? value.value("config", json::object()) : json::object();
    return given.is_object() ? given : json::object();
  }
  double number(const char* setting, double otherwise) const {
    const json given = typed_value({layer, class_name, fmt::format("{}: {}", key, setting)}, ValueType::kNumber,
                                   config().value(setting, json(otherwise)));
    return given.is_null() ? otherwise : given.get<double>();
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw user_error(fmt::format("[keras] layer '{}' ({}): {} = {} is not supported ({})", layer, class_name, key,
                                 brief(value), why));
  }
};

// {"class_name": "L2", "config": {"l2": 0.01}} -> {"l1": 0, "l2": 0.01}; early versions also wrote l2 alone.
json read_regularizer(const Named& named) {
  const std::string name = named.name();
  const bool both = name == "l1_l2" || name == "l1l2", l1 = both || name == "l1", l2 = both || name == "l2";
  if (!l1 && !l2) named.refuse("only L1, L2, L1L2");
  return {{"l1", l1 ? named.number("l1", 0.01) : 0.0}, {"l2", l2 ? named.number("l2", 0.01) : 0.0}};
}

json read_constraint(const Named& named) {
  const std::string name = named.name();
  const auto norms = [&](double min, double max, double rate) {
    return json{{"min", min}, {"max", max}, {"rate", rate}, {"axis", named.config().value("axis", json(0))}};
  };
  if (name == "non_neg") return {{"non_negative", true}};
  if (name == "max_norm") return norms(0, named.number("max_value", 2), 1);
  if (name == "unit_norm") return norms(1, 1, 1);
  if (name == "min_max_norm")
    return norms(named.number("min_value", 0), named.number("max_value", 1), named.number("rate", 1));
  named.refuse("only NonNeg, MaxNorm, UnitNorm, MinMaxNorm");
}

json object_of(const char* module, const char* class_name, const json& config) {
  return {{"module", module}, {"class_name", class_name}, {"config", config}, {"registered_name", nullptr}};
}

}  // namespace

bool is_keras_rule(const std::string& key) {
  return graph::is_weight_rule(key) || key == "activity_regularizer";
}

json read_keras_rule(const std::string& layer, const std::string& class_name, const std::string& key,
                     const json& value) {
  const Named named{value, layer, class_name, key};
  return key.ends_with("_constraint") ? read_constraint(named) : read_regularizer(named);
}

json write_keras_rule(const std::string& key, const json& rule) {
  if (!key.ends_with("_constraint")) return object_of("keras.regularizers", "L1L2", rule);
  if (rule.contains("non_negative")) return object_of("keras.constraints", "NonNeg", json::object());
  return object_of("keras.constraints", "MinMaxNorm",
                   {{"min_value", rule.at("min")},
                    {"max_value", rule.at("max")},
                    {"rate", rule.at("rate")},
                    {"axis", rule.at("axis")}});
}

}  // namespace linac::keras
