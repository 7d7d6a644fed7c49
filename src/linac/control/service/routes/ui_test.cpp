#include "linac/control/service/routes/ui.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "linac/base/base/refusal.h"

namespace linac::service {
namespace {

const std::vector<UiAsset> kAssets = {
    {"/", "text/html; charset=utf-8", "\"page\"", "<p>plain</p>", "packed page"},
    {"/assets/index-1.js", "text/javascript; charset=utf-8", "\"script\"", "plain script", "packed script"}};

Response get(const std::vector<Route>& routes, size_t route, std::map<std::string, std::string> headers,
             const std::string& path = "") {
  boost::asio::io_context io;
  Request request;
  request.headers = std::move(headers);
  request.variables["path"] = path;
  auto answer = boost::asio::co_spawn(io, routes.at(route).handler(request), boost::asio::use_future);
  io.run();
  return answer.get();
}

std::string header(const Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

TEST(UiRoutes, PageHasAPolicyAndIsAskedForAnew) {
  const Response page = get(ui_routes(kAssets), 0, {});
  EXPECT_EQ(page.body, "<p>plain</p>");
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_EQ(header(page, "Cache-Control"), "no-cache");
  EXPECT_EQ(header(page, "Content-Encoding"), "");
  const std::string policy = header(page, "Content-Security-Policy");
  EXPECT_NE(policy.find("default-src 'self'"), std::string::npos);
  EXPECT_EQ(policy.find("script-src"), std::string::npos) << "scripts follow default-src";
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
}

TEST(UiRoutes, FilesArePackedForWhoTakesThat) {
  const auto routes = ui_routes(kAssets);
  for (const char* encodings : {"gzip", "br, gzip", "deflate;q=0.5,gzip,zstd"}) {
    const Response packed = get(routes, 1, {{"accept-encoding", encodings}}, "index-1.js");
    EXPECT_EQ(packed.body, "packed script") << encodings;
    EXPECT_EQ(header(packed, "Content-Encoding"), "gzip");
  }
  for (const char* encodings : {"", "br", "gzip;q=0", "identity"}) {
    const Response plain = get(routes, 1, {{"accept-encoding", encodings}}, "index-1.js");
    EXPECT_EQ(plain.body, "plain script") << encodings;
    EXPECT_EQ(header(plain, "Content-Encoding"), "");
  }
}

TEST(UiRoutes, KnownFilesAreNotSentAgain) {
  const auto routes = ui_routes(kAssets);
  const Response known = get(routes, 1, {{"if-none-match", "\"other\", \"script\""}}, "index-1.js");
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.body, "");
  EXPECT_EQ(header(known, "ETag"), "\"script\"");
  EXPECT_EQ(get(routes, 1, {{"if-none-match", "\"old\""}}, "index-1.js").status, 200);
  EXPECT_EQ(header(get(routes, 1, {}, "index-1.js"), "Cache-Control"), "public, max-age=31536000, immutable");
}

TEST(UiRoutes, OtherNamesAreRefused) {
  const auto routes = ui_routes(kAssets);
  for (const char* name : {"", "index-2.js", "../", "../index-1.js", "index-1.js/", "/etc/passwd"})
    EXPECT_THROW(get(routes, 1, {}, name), Refusal) << name;
}

TEST(UiRoutes, WithoutPagesTheServiceSaysHowToAddThem) {
  const std::vector<UiAsset> none;
  const Response page = get(ui_routes(none), 0, {});
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("Node.js"), std::string::npos);
  EXPECT_NE(page.body.find("make build"), std::string::npos);
}

TEST(UiRoutes, AreOpen) {
  for (const Route& route : ui_routes(kAssets)) EXPECT_EQ(route.access, Access::kOpen) << route.name;
}

TEST(UiAssets, ThoseOfTheProgramAreWhole) {
  for (const UiAsset& asset : ui_assets()) {
    EXPECT_FALSE(asset.plain.empty()) << asset.path;
    EXPECT_TRUE(asset.gzip.starts_with("\x1f\x8b")) << asset.path;
    EXPECT_TRUE(asset.path == "/" || asset.path.starts_with("/assets/")) << asset.path;
  }
  if (ui_assets().empty()) return;
  EXPECT_EQ(
      std::count_if(ui_assets().begin(), ui_assets().end(), [](const UiAsset& asset) { return asset.path == "/"; }), 1);
}

}  // namespace
}  // namespace linac::service
