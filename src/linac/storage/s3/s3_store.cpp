#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/storage/s3/conditional.h"
#include "linac/storage/s3/download.h"
#include "linac/storage/s3/object.h"
#include "linac/storage/storage.h"
#include "linac/storage/stores.h"

namespace linac::storage {
namespace {

using s3::Address;

bool is_pattern(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

/// The keys that match, level by level: only folders whose names fit are listed. `prefix` is a folder that is there,
/// `rest` what remains of the pattern.
void match(s3::Session& session, const Address& prefix, const std::string& rest, std::vector<std::string>& found) {
  const size_t first_wild = rest.find_first_of("*?[");
  const size_t slash = first_wild == std::string::npos ? rest.rfind('/') : rest.rfind('/', first_wild);
  // What stands before the part with the first wildcard is a folder by its name alone.
  if (slash != std::string::npos) {
    return match(session, {prefix.bucket, prefix.key + rest.substr(0, slash + 1)}, rest.substr(slash + 1), found);
  }
  const size_t end = std::min(rest.find('/'), rest.size());
  const std::string part = rest.substr(0, end);
  const size_t skipped = prefix.key.size();
  const auto fits = [&](std::string_view name) {
    return ::fnmatch(part.c_str(), std::string(name).c_str(), FNM_PERIOD) == 0;
  };
  const std::string start = part.substr(0, std::min(part.find_first_of("*?[\\"), part.size()));
  const s3::Level level = s3::list_level(session, {prefix.bucket, prefix.key + start});
  if (end == rest.size()) {
    for (const s3::ListedObject& object : level.objects) {
      const std::string_view key = object.key;
      if (key.size() > skipped && !key.ends_with('/') && fits(key.substr(skipped))) found.push_back(object.key);
    }
    return;
  }
  for (const std::string& folder : level.folders) {
    if (folder.size() <= skipped + 1) continue;
    const std::string_view name = std::string_view(folder).substr(skipped, folder.size() - skipped - 1);
    if (fits(name)) match(session, {prefix.bucket, folder}, rest.substr(end + 1), found);
  }
}

class S3Store : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override {
    const Address address = s3::parse_address(pattern);
    if (!is_pattern(address.key)) return {pattern};
    s3::Session session(s3::find_access());
    std::vector<std::string> keys, urls;
    match(session, {address.bucket, ""}, address.key, keys);
    // An object may be called as the pattern is.
    if (keys.empty() && s3::look_if_there(session, address)) return {pattern};
    if (keys.empty())
      throw data_error(fmt::format("[s3] {}: no object matches this pattern; check bucket and name", pattern));
    std::sort(keys.begin(), keys.end());
    for (const std::string& key : keys) urls.push_back(Address{address.bucket, key}.url());
    return urls;
  }

  std::vector<Listed> list(const std::string& folder) const override {
    Address address = s3::parse_address(folder);
    if (!address.key.empty() && !address.key.ends_with('/')) address.key += '/';
    s3::Session session(s3::find_access());
    const s3::Level level = s3::list_level(session, address);
    std::vector<Listed> files;
    for (const s3::ListedObject& object : level.objects)
      if (!object.key.ends_with('/')) files.push_back({Address{address.bucket, object.key}.url(), object.size});
    if (level.objects.empty() && level.folders.empty() && !address.key.empty())
      throw data_error(fmt::format("[s3] {}: no object's key begins so; check the address", address.url()));
    std::sort(files.begin(), files.end(), [](const Listed& a, const Listed& b) { return a.url < b.url; });
    return files;
  }

  int64_t size(const std::string& url) const override {
    s3::Session session(s3::find_access());
    return s3::look(session, s3::parse_address(url)).size;
  }
  std::unique_ptr<Reader> open(const std::string& url) const override {
    return std::make_unique<s3::ObjectReader>(s3::find_access(), s3::parse_address(url));
  }
  std::filesystem::path local(const std::string& url) const override {
    return s3::download(s3::find_access(), s3::parse_address(url), cache_folder());
  }
  void write(const std::string& url, std::string_view content) const override {
    s3::Session session(s3::find_access());
    s3::write_object(session, s3::parse_address(url), content);
  }
  void put(const std::string& url, const std::filesystem::path& file) const override {
    s3::Session session(s3::find_access());
    s3::write_file_object(session, s3::parse_address(url), file);
  }
  void need_writable(const std::string& url) const override {
    s3::Session session(s3::find_access());
    s3::look_if_there(session, s3::parse_address(url));
  }
  void remove(const std::string& url) const override {
    const Address address = s3::parse_address(url);
    s3::Session session(s3::find_access());
    if (!s3::look_if_there(session, address)) return;
    session.perform({.address = address, .method = "DELETE"});
  }

  bool has_conditions() const override { return true; }
  std::optional<SmallFile> read_small(const std::string& url) const override {
    s3::Session session(s3::find_access());
    return s3::read_small(session, s3::parse_address(url));
  }
  std::optional<std::string> replace(const std::string& url, std::string_view content,
                                     const std::string& version) const override {
    s3::Session session(s3::find_access());
    return s3::replace(session, s3::parse_address(url), content, version);
  }
};

}  // namespace

const Store& s3_store() {
  static const S3Store store;
  return store;
}

}  // namespace linac::storage
