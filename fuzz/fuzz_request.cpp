// What strangers send to the service, beyond HTTP itself: bodies, queries and paths by a route's rules, and what a
// run's folder says. It is refused, or becomes values of the types that the rules say. The first byte chooses the
// reader.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/base/json_keys.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/strict_json.h"
#include "linac/base/base/utf8.h"
#include "linac/control/execution/record/run_facts.h"
#include "linac/control/execution/record/run_lines.h"
#include "linac/control/http/query.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/http/routes/router.h"

namespace {

using namespace linac::http;
using namespace linac::execution;
using linac::harmless_path;
using linac::valid_text;

void need(bool condition) {
  if (!condition) std::abort();
}

const std::vector<FieldRule>& rules() {
  static const std::vector<FieldRule> all{
      {"text", FieldType::kText, false, ""},     {"integer", FieldType::kInteger, false, ""},
      {"number", FieldType::kNumber, false, ""}, {"flag", FieldType::kBoolean, false, ""},
      {"texts", FieldType::kTexts, false, ""},   {"integers", FieldType::kIntegers, false, ""},
      {"object", FieldType::kObject, false, ""}, {"objects", FieldType::kObjects, false, ""}};
  return all;
}

// As handlers do: none of these may meet another type.
void read_all(std::shared_ptr<nlohmann::json> input) {
  Request request;
  request.input = std::move(input);
  request.text("text");
  request.integer("integer");
  request.number("number");
  request.flag("flag");
  for (const std::string& text : request.texts("texts")) need(valid_text(text));
  for (const nlohmann::json& each : request.list("integers")) need(each.is_number_integer());
  for (const nlohmann::json& each : request.list("objects")) need(each.is_object());
  need(!request.has("object") || (*request.input)["object"].is_object());
}

const Router& router() {
  static const Router made = [] {
    std::vector<Route> routes;
    for (const char* pattern : {"/api/v1/runs/{id}/curves", "/api/v1/runs", "/files/{path...}", "/a/{b}/c/{d...}"}) {
      Route route;
      route.pattern = pattern;
      route.name = pattern;
      route.reads = Reads::nothing();
      routes.push_back(std::move(route));
    }
    return Router(std::move(routes));
  }();
  return made;
}

void read(uint8_t kind, const std::string& text) {
  switch (kind % 6) {
    case 0: {
      if (const auto once = linac::strict_json(text, kDepthMax))
        need(*once == nlohmann::json::parse(text) && !linac::doubled_key(text));
      const auto body = parse_object(text);
      check_fields(*body, rules());
      read_all(body);
      break;
    }
    case 1:
      if (const auto query = parse_query(text)) read_all(fields_of_query(*query, rules()));
      break;
    case 2:
      for (const auto& [name, value] : router().match(Method::kGet, text).variables) {
        need(valid_text(value));
        const std::string path = harmless_path(value);
        need(("/" + path + "/").find("/../") == std::string::npos && !path.starts_with('/'));
      }
      break;
    case 3: {
      const std::string_view lines = whole_lines(text);
      const ReadLines read = read_run_lines({}, 0, lines, 1);
      need(RunCursor::decoded(read.after.encoded()) == read.after);
      // Told again, nothing is new.
      need(read_run_lines(read.after, 0, lines, 1).points.empty());
      break;
    }
    case 4:
      for (const auto& [key, value] : parameters_of(text)) need(valid_text(key) && valid_text(value));
      break;
    default:
      for (const auto& [key, value] : facts_of(text).tags) need(valid_text(key) && valid_text(value));
      need(valid_text(reason_in_log(text)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const linac::Refusal&) {  // any other exception is a finding
  }
  return 0;
}
