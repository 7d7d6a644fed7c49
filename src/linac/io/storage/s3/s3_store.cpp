#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/base/base/error.h"
#include "linac/io/storage/levels.h"
#include "linac/io/storage/s3/conditional.h"
#include "linac/io/storage/s3/download.h"
#include "linac/io/storage/s3/object.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace {

using s3::Address;

class S3Store : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override {
    std::vector<std::string> urls;
    for (Listed& file : find(pattern)) urls.push_back(std::move(file.url));
    return urls;
  }

  std::vector<Listed> find(const std::string& pattern) const override {
    const Address address = s3::parse_address(pattern);
    if (!is_pattern(address.key)) return {{.url = pattern}};
    s3::Session session(s3::find_access());
    std::map<std::string, s3::ListedObject> listed;
    const std::vector<std::string> keys = match_levels(address.key, [&](const std::string& prefix) {
      s3::Level level = s3::list_level(session, {address.bucket, prefix});
      Level names{.files = {}, .folders = std::move(level.folders)};
      for (s3::ListedObject& object : level.objects) {
        names.files.push_back(object.key);
        listed.insert_or_assign(object.key, std::move(object));
      }
      return names;
    });
    std::vector<Listed> files;
    // An object may be called as the pattern is.
    if (keys.empty() && s3::look_if_there(session, address)) return {{.url = pattern}};
    if (keys.empty())
      throw data_error(fmt::format("[s3] {}: no object matches this pattern; check bucket and name", pattern));
    for (const std::string& key : keys) {
      const s3::ListedObject& object = listed.at(key);
      files.push_back({Address{address.bucket, key}.url(), object.size,
                       s3::version_of(session.access(), object.etag, /*modified=*/"")});
    }
    return files;
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
