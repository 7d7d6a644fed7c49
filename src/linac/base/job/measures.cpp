#include "linac/base/job/measures.h"

#include <nlohmann/json.hpp>

namespace linac::job {

nlohmann::json to_json(const Measures& measures) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : measures) {
    const size_t stroke = name.find('/');
    if (stroke == std::string::npos)
      json[name] = value;
    else
      json[name.substr(0, stroke)][name.substr(stroke + 1)] = value;
  }
  return json;
}

Measures measures_from_json(const nlohmann::json& json) {
  Measures measures;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) {
      measures[name] = value.get<double>();
      continue;
    }
    for (const auto& [part, number] : value.items()) measures[name + "/" + part] = number.get<double>();
  }
  return measures;
}

double value_of(const Measures& measures, const std::string& name) {
  const auto found = measures.find(name);
  return found == measures.end() ? 0 : found->second;
}

}  // namespace linac::job
