#pragma once
// The first bytes of an answer.

#include <cstdint>
#include <optional>
#include <string>

#include "linac/control/http/routes/route.h"

namespace linac::http {

/// Status line and headers. `length` none: the body goes on until the connection ends.
std::string response_head(const Response& response, std::optional<int64_t> length, bool keep_alive);

}  // namespace linac::http
