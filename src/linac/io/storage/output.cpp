#include "linac/io/storage/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& url) {
  const std::string name = url.substr(url.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..")
    throw user_error(fmt::format("[storage] {}: a folder; name the file to write", net::without_secrets(url)));
  return name;
}

}  // namespace

Output::Output(const std::string& name) : name_(name), path_(name) {
  if (!scheme_of(name)) {
    std::error_code none;
    if (fs::is_other(name, none))
      throw user_error(fmt::format("[storage] {}: a device or a pipe; give the name of a file", name));
    return;
  }
  store_of(name).need_writable(name);
  const std::string file = file_name(name);
  folder_ = std::make_unique<TemporaryFolder>();
  path_ = (*folder_ / file).string();
}

void Output::publish() const {
  if (folder_) store_of(name_).put(name_, path_);
}

void need_ending(const std::string& name, std::initializer_list<std::string_view> endings, std::string_view where) {
  const std::string ending = fs::path(name).extension().string();
  if (ending.empty() || std::ranges::find(endings, ending) != endings.end()) return;
  throw user_error(fmt::format("[{}] {}: no {} file is written here; give a name that ends in {}", where,
                               net::without_secrets(name), ending, fmt::join(endings, " or ")));
}

bool exists(const std::string& name) {
  if (!scheme_of(name)) {
    std::error_code none;
    return fs::exists(name, none);
  }
  try {
    store_of(name).size(name);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kData) throw;
    return false;
  }
}

void need_local_folder(const fs::path& name, std::string_view where) {
  if (!scheme_of(name.string())) return;
  throw user_error(
      fmt::format("[{}] {}: a folder that is written lies in a file system; give a path, and copy it there afterwards "
                  "(aws s3 sync FOLDER s3://...)",
                  where, net::without_secrets(name.string())));
}

}  // namespace linac::storage
