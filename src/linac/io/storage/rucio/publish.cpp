#include "linac/io/storage/rucio/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/percent.h"
#include "linac/io/storage/rucio/checksums.h"
#include "linac/io/storage/rucio/session.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/store.h"

namespace linac::storage::rucio {
namespace {

using nlohmann::json;

/// Where a storage element takes files.
struct Element {
  bool deterministic = false;  // Rucio itself knows the address of a file by its name
  std::string scheme, base;    // "root", "root://host:1094//prefix"
};

/// "davs" of "https": the scheme by which such an address is written; nothing for one that is not.
std::optional<std::string> written_scheme(const std::string& scheme) {
  if (scheme == "root" || scheme == "xroot" || scheme == "davs" || scheme == "dav") return scheme;
  if (scheme == "https") return "davs";
  if (scheme == "http") return "dav";
  return std::nullopt;
}

std::string written_url(const std::string& url) {
  const std::string scheme = scheme_of(url).value_or("");
  return written_scheme(scheme).value_or(scheme) + url.substr(scheme.size());
}

Element element_of(Session& session, const std::string& rse) {
  const std::vector<json> rows =
      session.get("/rses/" + percent_encoded(rse, Slash::kStays), "the storage element " + rse);
  if (rows.size() != 1 || !rows.front().is_object())
    throw environment_error(fmt::format("[rucio] {}: the server does not say what storage element this is", rse));
  Element found{.deterministic = rows.front().value("deterministic", false), .scheme = {}, .base = {}};
  int64_t best = 0;
  std::string schemes;
  for (const json& protocol : rows.front().value("protocols", json::array())) {
    const std::string scheme = protocol.value("scheme", "");
    const json domains = protocol.value("domains", json::object());
    const auto wan = domains.find("wan");
    const json priority = wan == domains.end() ? json() : wan->value("write", json());
    schemes += (schemes.empty() ? "" : ", ") + scheme;
    if (!priority.is_number_integer() || priority <= 0 || !written_scheme(scheme)) continue;
    if (best != 0 && priority >= best) continue;
    best = priority;
    const int64_t port = protocol.value("port", int64_t{0});
    found.scheme = scheme;
    found.base = fmt::format("{}://{}{}{}", scheme, protocol.value("hostname", ""),
                             port > 0 ? fmt::format(":{}", port) : "", protocol.value("prefix", ""));
  }
  if (best == 0)
    throw user_error(
        fmt::format("[rucio] {}: takes files by none of root, davs and https (it has: {}); choose another "
                    "--rse",
                    rse, schemes.empty() ? "nothing" : schemes));
  return found;
}

void find_places(Session& session, const Did& data_set, const std::string& rse, const Element& element,
                 std::vector<PublishedFile>& files) {
  for (PublishedFile& file : files) {
    if (!element.deterministic) {
      file.url = fmt::format("{}{}{}/{}/{}", element.base, element.base.ends_with('/') ? "" : "/", data_set.scope,
                             data_set.name, file.name);
      continue;
    }
    const std::string did = data_set.scope + ":" + file.name;
    const auto rows = session.get(
        fmt::format("/rses/{}/lfns2pfns?lfn={}&operation=write&scheme={}", percent_encoded(rse, Slash::kStays),
                    percent_encoded(did, Slash::kStays), element.scheme),
        did);
    if (rows.size() != 1 || !rows.front().contains(did) || !rows.front().at(did).is_string())
      throw environment_error(fmt::format("[rucio] {}: {} does not say where the file would lie", did, rse));
    file.url = rows.front().at(did);
  }
}

json described(const PublishedFile& file, const Did& data_set, bool with_place) {
  const auto stream = Source::stream(Source::of_file(file.path, file.path.string()));
  Checksums checksums;
  std::vector<std::byte> room(1 << 20);
  for (size_t got = stream->read(room); got > 0; got = stream->read(room)) checksums.add(std::span(room).first(got));
  json row{{"scope", data_set.scope},
           {"name", file.name},
           {"bytes", file.bytes},
           {"adler32", checksums.adler32()},
           {"md5", checksums.md5()}};
  if (with_place) row["pfn"] = file.url;
  return row;
}

void need_new(Session& session, const Did& did) {
  if (session.is_there(did.path(), did.url()))
    throw user_error(fmt::format("[rucio] {}: is there already; take another name for --did", did.url()));
}

}  // namespace

std::string name_of(const std::string& path) {
  std::string name;
  for (const unsigned char c : path) {
    const bool taken = c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_');
    name += c == '/' ? '.' : taken ? static_cast<char>(c) : '_';
  }
  return name;
}

std::vector<PublishedFile> publish(const Did& data_set, std::vector<PublishedFile> files, const std::string& rse,
                                   const std::function<void(const PublishedFile&)>& done) {
  LINAC_CHECK(!files.empty());
  Session session(find_access());
  need_new(session, data_set);
  for (const PublishedFile& file : files) need_new(session, {data_set.scope, file.name});
  const Element element = element_of(session, rse);
  find_places(session, data_set, rse, element, files);
  for (PublishedFile& file : files) {
    file.bytes = static_cast<int64_t>(std::filesystem::file_size(file.path));
    if (exists(written_url(file.url)))
      throw user_error(
          fmt::format("[rucio] {}: a file is there that Rucio does not know; take another name for --did", file.url));
  }

  std::vector<std::string> sent;
  try {
    json rows = json::array();
    for (const PublishedFile& file : files) {
      const std::string url = written_url(file.url);
      sent.push_back(url);
      store_of(url).put(url, file.path);
      rows.push_back(described(file, data_set, !element.deterministic));
      if (done) done(file);
    }
    const json body{{"type", "DATASET"},
                    {"dids", rows},
                    {"rse", rse},
                    {"rules", {{{"copies", 1}, {"rse_expression", rse}, {"account", session.access().account}}}}};
    try {
      session.make(data_set.path(), body, data_set.url());
    } catch (const Error& error) {
      // The answer may have been lost on its way.
      const bool lost = error.code() == ErrorCode::kEnvironment && session.is_there(data_set.path(), data_set.url());
      if (!lost) throw;
    }
  } catch (...) {
    for (const std::string& url : sent) {
      try {
        store_of(url).remove(url);
      } catch (const Error& error) {
        log::warn(fmt::format("[rucio] {}: could not be removed again: {}", url, error.what()));
      }
    }
    throw;
  }
  return files;
}

}  // namespace linac::storage::rucio
