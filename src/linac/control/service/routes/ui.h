#pragma once
// The web pages at "/". Open to everybody: they hold nothing, and ask for a token before they show anything.

#include <vector>

#include "linac/control/service/http_words.h"
#include "linac/control/service/ui_assets.h"

namespace linac::service {

/// With no assets, "/" says how to get them.
std::vector<Route> ui_routes(const std::vector<UiAsset>& assets = ui_assets());

}  // namespace linac::service
