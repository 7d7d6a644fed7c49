#include "linac/control/http/routes/error_response.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/log.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"

namespace linac::http {
namespace {

bool mlflow(std::string_view path) {
  return path.starts_with("/api/2.0/") || path.starts_with("/api/3.0/");
}

struct Words {
  int status;
  const char* code;
};

Words words(RefusalKind kind, bool to_mlflow) {
  switch (kind) {
    case RefusalKind::kInvalid:
      return {400, "INVALID_PARAMETER_VALUE"};
    case RefusalKind::kNotFound:
      return {404, "RESOURCE_DOES_NOT_EXIST"};
    case RefusalKind::kExists:
      return {to_mlflow ? 400 : 409, "RESOURCE_ALREADY_EXISTS"};
    case RefusalKind::kState:
      return {409, "INVALID_STATE"};
    case RefusalKind::kUnknown:
      return {401, "UNAUTHENTICATED"};
    case RefusalKind::kDenied:
      return {403, "PERMISSION_DENIED"};
    case RefusalKind::kLimit:
      return {429, "RESOURCE_EXHAUSTED"};
  }
  return {500, "INTERNAL_ERROR"};
}

const char* title(int status) {
  switch (status) {
    case 400:
      return "Bad request";
    case 401:
      return "Not authenticated";
    case 403:
      return "Not allowed";
    case 404:
      return "Not found";
    case 405:
      return "Method not allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length required";
    case 413:
      return "Too large";
    case 415:
      return "Unsupported media type";
    case 421:
      return "Misdirected request";
    case 429:
      return "Too many requests";
    case 431:
      return "Header too large";
    case 503:
      return "Unavailable";
    default:
      return "Internal error";
  }
}

}  // namespace

Response refusal_response(std::string_view path, int status, std::string_view code, const std::string& message) {
  Response response;
  if (mlflow(path)) {
    response = Response::json({{"error_code", code}, {"message", message}}, status);
  } else {
    response = Response::json(
        {{"type", "about:blank"}, {"title", title(status)}, {"status", status}, {"code", code}, {"detail", message}},
        status);
    response.type = "application/problem+json";
  }
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"linac\"");
  if (status == 429) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response error_response(std::string_view path, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Refusal& e) {
    const Words found = words(e.kind(), mlflow(path));
    return refusal_response(path, found.status, found.code, e.what());
  } catch (const Error& e) {
    switch (e.code()) {
      case ErrorCode::kUser:
      case ErrorCode::kData:
        return refusal_response(path, 400, "INVALID_PARAMETER_VALUE", e.what());
      case ErrorCode::kEnvironment:
        log::error(fmt::format("[service] {}: {}", printable(path), e.what()));
        return refusal_response(path, 503, "TEMPORARILY_UNAVAILABLE", e.what());
      default:
        log::error(fmt::format("[service] {}: {}", printable(path), e.what()));
        return refusal_response(path, 500, "INTERNAL_ERROR", "[service] a bug; the service's log has more");
    }
  } catch (const std::exception& e) {
    log::error(fmt::format("[service] {}: {}", printable(path), e.what()));
    return refusal_response(path, 500, "INTERNAL_ERROR", "[service] a bug; the service's log has more");
  }
}

}  // namespace linac::http
