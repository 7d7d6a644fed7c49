#include "linac/control/http/routes/openapi.h"

#include <nlohmann/json.hpp>

#include "linac/base/base/lower_ascii.h"
#include "linac/base/base/version.h"

namespace linac::http {

using nlohmann::json;

namespace {

json schema_of(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return {{"type", "string"}};
    case FieldType::kInteger:
      return {{"type", "integer"}, {"format", "int64"}};
    case FieldType::kNumber:
      return {{"oneOf", {{{"type", "number"}}, {{"enum", {"NaN", "Infinity", "-Infinity"}}}}}};
    case FieldType::kBoolean:
      return {{"type", "boolean"}};
    case FieldType::kTexts:
      return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case FieldType::kIntegers:
      return {{"type", "array"}, {"items", {{"type", "integer"}, {"format", "int64"}}}};
    case FieldType::kNumbers:
      return {{"type", "array"}, {"items", schema_of(FieldType::kNumber)}};
    case FieldType::kObject:
      return {{"type", "object"}};
    case FieldType::kObjects:
      return {{"type", "array"}, {"items", {{"type", "object"}}}};
  }
  return json::object();
}

json described(const FieldRule& rule) {
  json schema = schema_of(rule.type);
  schema["description"] = rule.summary;
  return schema;
}

/// "/a/{rest...}" as OpenAPI writes it, and the variables of it.
std::string path_of(const std::string& pattern, std::vector<std::string>& variables) {
  std::string path;
  for (size_t at = 0; at < pattern.size();) {
    const size_t open = std::min(pattern.find('{', at), pattern.size());
    path += pattern.substr(at, open - at);
    if (open == pattern.size()) break;
    const size_t close = pattern.find('}', open);
    std::string name = pattern.substr(open + 1, close - open - 1);
    if (name.ends_with("...")) name.resize(name.size() - 3);
    path += "{" + name + "}";
    variables.push_back(name);
    at = close + 1;
  }
  return path;
}

json body_of(const Route& route) {
  if (route.body != BodyKind::kJson)
    return {{"required", true}, {"content", {{"application/octet-stream", {{"schema", json::object()}}}}}};
  json properties = json::object(), required = json::array();
  for (const FieldRule& rule : route.fields) {
    properties[rule.name] = described(rule);
    if (rule.required) required.push_back(rule.name);
  }
  json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return {{"required", true}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

json operation(const Route& route, const std::vector<std::string>& variables) {
  json parameters = json::array();
  for (const std::string& name : variables)
    parameters.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  if (route.body != BodyKind::kJson)
    for (const FieldRule& rule : route.fields)
      parameters.push_back({{"name", rule.name},
                            {"in", "query"},
                            {"required", rule.required},
                            {"description", rule.summary},
                            {"schema", schema_of(rule.type)}});
  json schema = json::object();
  if (!route.response_schema.empty()) {
    schema = json::parse(route.response_schema);
  } else if (route.response_type == "application/json") {
    schema["type"] = "object";
  }
  json result = {
      {"operationId", route.name},
      {"summary", route.summary},
      {"parameters", std::move(parameters)},
      {"responses",
       {{"200", {{"description", "done"}, {"content", {{route.response_type, {{"schema", std::move(schema)}}}}}}},
        {"default", {{"$ref", "#/components/responses/refused"}}}}}};
  if (route.body != BodyKind::kNone) result["requestBody"] = body_of(route);
  if (route.access == Access::kOpen) result["security"] = json::array();
  return result;
}

}  // namespace

json openapi(const std::vector<Route>& routes) {
  json paths = json::object();
  for (const Route& route : routes) {
    std::vector<std::string> variables;
    const std::string path = path_of(route.pattern, variables);
    paths[path][lower_ascii(to_string(route.method))] = operation(route, variables);
  }
  const json problem = {{"description", "refused: who, what and the way out"},
                        {"content",
                         {{"application/problem+json", {{"schema", {{"type", "object"}}}}},
                          {"application/json", {{"schema", {{"type", "object"}}}}}}}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "linac"}, {"version", kVersion}, {"description", "Runs, curves, artefacts and models of linac"}}},
          {"paths", std::move(paths)},
          {"security", {{{"token", json::array()}}}},
          {"components",
           {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"responses", {{"refused", problem}}}}}};
}

}  // namespace linac::http
