#include "linac/control/service/routes/ui.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/service/handlers.h"

namespace linac::service {
namespace {

// Scripts only from files of this server. Styles also within a page: reports of runs are shown in a frame without
// scripts, which has this policy too.
constexpr const char* kPolicy =
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'";

constexpr const char* kNoPages =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>linac</title>\n"
    "<h1>linac</h1>\n"
    "<p>The service runs, but its program was built without the web pages. Install Node.js 18 or newer with npm "
    "(<code>apt-get install nodejs npm</code>), run <code>make build</code> again and restart the service.</p>\n"
    "<p>Everything else is there: <code>linac list</code>, <code>linac submit</code>, MLflow's clients, "
    "<a href=\"/openapi.json\">the API</a>.</p></html>\n";

/// Whether a list such as "gzip, deflate;q=0.5" has gzip in it. One with a quality is passed over: nobody asks for gzip
/// but not much.
bool takes_gzip(std::string_view encodings) {
  while (!encodings.empty()) {
    const size_t comma = std::min(encodings.find(','), encodings.size());
    std::string_view one = encodings.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one == "gzip") return true;
    encodings.remove_prefix(std::min(comma + 1, encodings.size()));
  }
  return false;
}

Response asset_response(const UiAsset& asset, const Request& request) {
  const bool page = asset.path == "/";
  Response response;
  response.type = asset.type;
  response.headers = {{"ETag", std::string(asset.etag)},
                      {"Cache-Control", page ? "no-cache" : "public, max-age=31536000, immutable"},
                      {"Vary", "Accept-Encoding"}};
  if (page) response.headers.emplace_back("Content-Security-Policy", kPolicy);
  if (request.header("if-none-match").find(asset.etag) != std::string::npos) {
    response.status = 304;
    return response;
  }
  const bool packed = takes_gzip(request.header("accept-encoding"));
  if (packed) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = packed ? asset.gzip : asset.plain;
  return response;
}

Route get(const char* pattern, const char* name, const char* summary, const char* type, Handler handler) {
  Route route;
  route.pattern = pattern;
  route.name = name;
  route.summary = summary;
  route.reads = http::Reads::nothing();
  route.access = Access::kOpen;
  route.response_type = type;
  route.handler = std::move(handler);
  return route;
}

}  // namespace

std::vector<Route> ui_routes(const std::vector<UiAsset>& assets) {
  const auto at = [&assets](const std::string& path) -> const UiAsset* {
    const auto found =
        std::find_if(assets.begin(), assets.end(), [&](const UiAsset& asset) { return asset.path == path; });
    return found == assets.end() ? nullptr : &*found;
  };
  return {get("/", "ui", "The web pages", "text/html", answers([at](Request& request) {
                const UiAsset* page = at("/");
                if (!page) return Response::text(kNoPages, "text/html; charset=utf-8");
                return asset_response(*page, request);
              })),
          get("/assets/{path...}", "ui_asset", "A file of the web pages", "application/octet-stream",
              answers([at](Request& request) {
                const std::string& path = request.variable("path");
                if (const UiAsset* asset = at("/assets/" + path)) return asset_response(*asset, request);
                throw Refusal(RefusalKind::kNotFound,
                              fmt::format("[ui] no file '{}'; reload the page", printable(path)));
              }))};
}

}  // namespace linac::service
