#include "linac/io/storage/rucio/replicas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "linac/base/base/error.h"
#include "linac/io/storage/percent.h"
#include "linac/io/storage/store.h"

namespace linac::storage::rucio {
namespace {

using nlohmann::json;

std::string text_of(const json& row, const char* name) {
  const auto found = row.find(name);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Without the zeros that some clients leave out of an Adler-32.
std::string checksum_of(const json& row, const char* name, size_t digits) {
  std::string text = text_of(row, name);
  if (text.empty() || text.size() > digits) return "";
  for (char& c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return "";
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::string(digits - text.size(), '0') + text;
}

File file_of(const json& row, const Did& asked) {
  File file{.did = {text_of(row, "scope"), text_of(row, "name"), asked.rse}};
  if (const auto bytes = row.find("bytes"); bytes != row.end() && bytes->is_number_integer()) file.bytes = *bytes;
  file.adler32 = checksum_of(row, "adler32", 8);
  file.md5 = checksum_of(row, "md5", 32);
  if (file.did.scope.empty() || file.did.name.empty() || file.bytes < 0)
    throw environment_error(fmt::format("[rucio] {}: the server lists a file without name or size", asked.url()));
  if (file.adler32.empty() && file.md5.empty())
    throw data_error(
        fmt::format("[rucio] {}: Rucio knows no checksum of it; register it with adler32 or md5", file.did.url()));
  return file;
}

/// The names of the files of a scope that a pattern fits.
std::vector<Did> search(Session& session, const Did& pattern) {
  std::vector<Did> found;
  const std::string path =
      fmt::format("/dids/{}/dids/search?type=file&name={}", percent_encoded(pattern.scope, Slash::kStays),
                  percent_encoded(pattern.name, Slash::kStays));
  for (const json& row : session.get(path, pattern.url())) {
    if (!row.is_string()) continue;
    found.push_back({pattern.scope, row.get<std::string>(), pattern.rse});
  }
  return found;
}

std::vector<std::string> schemes_read() {
  std::vector<std::string> schemes;
  for (const char* scheme : {"root", "davs", "https", "dav", "http"})
    if (is_read(scheme)) schemes.emplace_back(scheme);
  return schemes;
}

}  // namespace

std::string File::version() const {
  return adler32.empty() ? "md5:" + md5 : "adler32:" + adler32;
}

std::vector<File> files_of(Session& session, const Did& did) {
  std::vector<Did> names{did};
  if (did.name.find('*') != std::string::npos) names = search(session, did);
  std::vector<File> files;
  for (const Did& name : names)
    for (const json& row : session.get(name.path() + "/files", name.url())) files.push_back(file_of(row, did));
  if (files.empty())
    throw data_error(fmt::format("[rucio] {}: {}; check the name (rucio did content list)", did.url(),
                                 names.empty() ? "no file matches" : "has no files"));
  const auto place = [](const File& file) { return std::tie(file.did.scope, file.did.name); };
  std::sort(files.begin(), files.end(), [&](const File& a, const File& b) { return place(a) < place(b); });
  // A file of several data sets of a container comes once.
  files.erase(
      std::unique(files.begin(), files.end(), [&](const File& a, const File& b) { return place(a) == place(b); }),
      files.end());
  return files;
}

ReplicatedFile replicas_of(Session& session, const Did& did) {
  json asked{{"dids", {{{"scope", did.scope}, {"name", did.name}}}}, {"sort", "geoip"}};
  if (!did.rse.empty()) asked["rse_expression"] = did.rse;
  const std::vector<json> rows = session.post("/replicas/list", asked, did.url());
  if (rows.size() != 1 || text_of(rows.front(), "name") != did.name)
    throw data_error(fmt::format("[rucio] {}: {}", did.url(),
                                 rows.empty() ? "has no replica that Rucio would give out; check the name, and the "
                                                "expression for its storage elements"
                                              : "is no file, and one file is wanted here; name one of its files"));
  ReplicatedFile found{.file = file_of(rows.front(), did), .replicas = {}};
  using Order = std::tuple<bool, int64_t, std::string, std::string>;  // tape, priority, address, storage element
  std::set<Order> order;
  std::set<std::string> others;
  const std::vector<std::string> schemes = schemes_read();
  const json places = rows.front().value("pfns", json::object());
  for (const auto& [url, of] : places.items()) {
    const std::string scheme = scheme_of(url).value_or("");
    if (std::find(schemes.begin(), schemes.end(), scheme) == schemes.end())
      others.insert(scheme + "://");
    else
      order.emplace(text_of(of, "type") == "TAPE", of.value("priority", int64_t{0}), url, text_of(of, "rse"));
  }
  for (const auto& [tape, priority, url, rse] : order) found.replicas.push_back({url, rse});
  if (found.replicas.empty())
    throw data_error(
        fmt::format("[rucio] {}: no replica can be read here ({}); choose others with ?rse=, or make one "
                    "(rucio rule add)",
                    did.url(), others.empty() ? "there is none" : fmt::format("{}", fmt::join(others, ", "))));
  return found;
}

}  // namespace linac::storage::rucio
