#include "linac/io/storage/folder/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "linac/base/base/utf8.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr size_t kFilesMax = 100'000, kNameBytesMax = 900;  // a key has 1024 bytes at most
constexpr size_t kHashDigits = 32;

void need(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

std::string inner(const json& text) {
  std::string name = text.get<std::string>();
  need(is_inner_name(name) && name != kManifestName && name != kClaimName, "a name leads out of the folder");
  return name;
}

ManifestFile file_of(const json& one) {
  ManifestFile file{inner(one.at("name")), inner(one.at("object")), one.at("size"), one.at("hash")};
  need(file.size >= 0, "a size is negative");
  need(file.hash.size() == kHashDigits, "a checksum is none");
  return file;
}

}  // namespace

const ManifestFile* Manifest::find(std::string_view name) const {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const ManifestFile& one) { return one.name == name; });
  return found == files.end() ? nullptr : &*found;
}

std::string to_text(const Manifest& manifest) {
  json files = json::array();
  for (const ManifestFile& file : manifest.files)
    files.push_back({{"name", file.name}, {"object", file.object}, {"size", file.size}, {"hash", file.hash}});
  const json whole{{"linac_folder", kFormat}, {"sequence", manifest.sequence}, {"copy", manifest.copy},
                   {"ended", manifest.ended}, {"files", std::move(files)},     {"leaving", manifest.leaving}};
  return whole.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  Manifest manifest;
  int format = 0;
  try {
    const json whole = json::parse(text);
    format = whole.at("linac_folder");
    if (format == kFormat) {
      manifest = {whole.at("sequence"), whole.at("copy"), whole.at("ended"), {}, {}};
      need(whole.at("files").size() <= kFilesMax && whole.at("leaving").size() <= kFilesMax, "too many files");
      std::set<std::string> names;
      for (const json& one : whole.at("files")) {
        manifest.files.push_back(file_of(one));
        need(names.insert(manifest.files.back().name).second, "a file is there twice");
      }
      for (const json& one : whole.at("leaving")) manifest.leaving.push_back(inner(one));
    }
  } catch (const std::exception& error) {
    throw data_error(fmt::format("[folder] {}: not the manifest of a folder ({}); was it written by linac?",
                                 net::without_secrets(where), error.what()));
  }
  if (format != kFormat) {
    throw user_error(fmt::format("[folder] {}: written by a newer linac; use that one", net::without_secrets(where)));
  }
  return manifest;
}

std::optional<ReadManifest> read_manifest(const std::string& url) {
  const std::string where = inner_url(url, kManifestName);
  const auto file = store_of(where).read_small(where);
  if (!file) return std::nullopt;
  return ReadManifest{parse_manifest(file->content, where), file->version};
}

bool is_inner_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || !valid_text(name)) return false;
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\'; }))
    return false;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

std::string inner_url(const std::string& url, std::string_view name) {
  return fmt::format("{}{}{}", url, url.ends_with('/') ? "" : "/", name);
}

}  // namespace linac::storage
