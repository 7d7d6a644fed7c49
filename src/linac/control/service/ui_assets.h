#pragma once
// The files of the web pages, as ui/build.mjs has put them into the program. None where the pages could not be built
// (ui/no_pages.cpp).

#include <string_view>
#include <vector>

namespace linac::service {

struct UiAsset {
  std::string_view path;  // "/", "/assets/index-B2sjeo4c.js": names below /assets/ change with the content
  std::string_view type;
  std::string_view etag;  // with its quotes
  std::string_view plain, gzip;
};

const std::vector<UiAsset>& ui_assets();

}  // namespace linac::service
