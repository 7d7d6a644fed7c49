#include "linac/control/http/routes/route.h"

#include <nlohmann/json.hpp>

#include "linac/control/http/routes/json_fields.h"

namespace linac::http {

const char* to_string(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "GET";
}

const char* to_string(Access access) {
  switch (access) {
    case Access::kOpen:
      return "unknown";
    case Access::kAgent:
      return "agent";
    case Access::kViewer:
      return "viewer";
    case Access::kMember:
      return "member";
    case Access::kAdmin:
      return "admin";
  }
  return "unknown";
}

bool may(Access caller, Access route) {
  if (route == Access::kAgent) return caller == Access::kAgent || caller == Access::kAdmin;
  return caller >= route;
}

const std::string& Request::header(const std::string& name_in_lower_case) const {
  static const std::string kNone;
  const auto found = headers.find(name_in_lower_case);
  return found == headers.end() ? kNone : found->second;
}

bool Request::has(const char* name) const {
  if (!input) return false;
  const auto found = input->find(name);
  return found != input->end() && !found->is_null();
}

std::string Request::text(const char* name, const std::string& otherwise) const {
  return has(name) ? text_of(*input, name) : otherwise;
}

int64_t Request::integer(const char* name, int64_t otherwise) const {
  return has(name) ? integer_of(*input, name) : otherwise;
}

double Request::number(const char* name, double otherwise) const {
  return has(name) ? number_of(*input, name) : otherwise;
}

bool Request::flag(const char* name, bool otherwise) const {
  return has(name) ? flag_of(*input, name) : otherwise;
}

std::vector<std::string> Request::texts(const char* name) const {
  std::vector<std::string> texts;
  if (has(name))
    for (const auto& item : (*input)[name]) texts.push_back(item.get<std::string>());
  return texts;
}

std::vector<double> Request::numbers(const char* name) const {
  std::vector<double> numbers;
  if (has(name))
    for (const auto& item : (*input)[name]) numbers.push_back(number_of({{name, item}}, name));
  return numbers;
}

const nlohmann::json& Request::list(const char* name) const {
  static const nlohmann::json kNone = nlohmann::json::array();
  return has(name) ? (*input)[name] : kNone;
}

Response Response::json(const nlohmann::json& value, int status) {
  Response response;
  response.status = status;
  response.body = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return response;
}

Response Response::text(std::string body, std::string type, int status) {
  Response response;
  response.status = status;
  response.type = std::move(type);
  response.body = std::move(body);
  return response;
}

}  // namespace linac::http
