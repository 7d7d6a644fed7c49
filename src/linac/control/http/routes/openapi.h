#pragma once
// The description of the API that /openapi.json serves (OpenAPI 3.1), made from the routes' tables.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "linac/control/http/routes/route.h"

namespace linac::http {

nlohmann::json openapi(const std::vector<Route>& routes);

}  // namespace linac::http
