#pragma once
// How a report of any kind (report/) is left in a folder: the page, the same as JSON, and the pictures.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/version.h"
#include "linac/physics/plot/figure.h"
#include "linac/physics/report/page/named_picture.h"

namespace linac::cli {

/// Names of files and hosts in it may be no UTF-8.
template <class Report>
std::string report_text(const Report& report) {
  return to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// When, and by which linac: a fact of every report.
inline std::pair<std::string, std::string> made_fact() {
  return {"made", fmt::format("{:%Y-%m-%d %H:%M} UTC, linac {}", fmt::gmtime(std::time(nullptr)), kVersion)};
}

/// NAME.html, NAME.json and a PNG a picture. Environment error if they cannot be written.
template <class Report>
void write_report(const std::filesystem::path& folder, const Report& report, const std::string& name = "report") {
  make_folder(folder);
  const auto pictures = draw(report);
  for (const report::NamedPicture& picture : pictures)
    plot::write_picture(folder / (picture.name + ".png"), picture.picture);
  write_file_atomically(folder / (name + ".html"), to_html(report, pictures));
  write_file_atomically(folder / (name + ".json"), report_text(report) + "\n");
}

}  // namespace linac::cli
