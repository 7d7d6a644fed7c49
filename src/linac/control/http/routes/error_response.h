#pragma once
// The one place where a failure becomes an HTTP answer: {"error_code", "message"} to MLflow's clients (paths below
// /api/2.0/ and /api/3.0/), else problem details (RFC 9457). What is a bug or has secrets in it (an internal error) is
// logged, and only its number told.

#include <exception>
#include <string>
#include <string_view>

#include "linac/control/http/routes/route.h"

namespace linac::http {

Response error_response(std::string_view path, const std::exception_ptr& error);
/// Refusals of the server itself, before there is a handler: `code` in MLflow's words, e.g. "ENDPOINT_NOT_FOUND".
Response refusal_response(std::string_view path, int status, std::string_view code, const std::string& message);

}  // namespace linac::http
