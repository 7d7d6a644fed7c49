#include "linac/io/storage/cached_copy.h"

#include <fmt/format.h>

#include <cctype>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameLengthMax = 80;

/// The last part of the URL's path, so that a human can read the cache folder.
std::string readable_name(const std::string& url) {
  std::string name = url.substr(0, url.find_first_of("?#"));
  name = name.substr(name.find_last_of('/') + 1);
  if (name.size() > kNameLengthMax) name = name.substr(name.size() - kNameLengthMax);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  }
  return name;
}

std::optional<Validators> read_validators(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return std::nullopt;
  // A damaged note only costs another download.
  const std::optional<CopyNote> note = read_note(file);
  if (note && note->said.size == static_cast<int64_t>(size)) return note->said;
  return std::nullopt;
}

}  // namespace

CachedCopy::CachedCopy(const fs::path& root, const std::string& scheme, const std::string& key, const std::string& url)
    : root_(root),
      scheme_(scheme),
      url_(net::without_secrets(url)),
      file_(root / scheme / (content_hash(key).substr(0, 16) + "-" + readable_name(url))),
      part_(file_.string() + ".part") {
  make_folder(file_.parent_path());
  lock_.emplace(file_.string() + ".lock");
  use_cached(file_, root);
  known_ = read_validators(file_);
}

CachedCopy::~CachedCopy() {
  std::error_code none;
  fs::remove(part_, none);
}

void CachedCopy::put_in_place(const Validators& said, const PieceSums& sums) {
  // The old copy goes first: it must never stand beside the note of the new one.
  std::error_code error;
  fs::remove(file_, error);
  write_note(file_, {said, url_, sums});
  fs::rename(part_, file_, error);
  if (error) fail_to_write();
  make_room(root_, cache_bytes_max());
}

void CachedCopy::fail_to_write() const {
  throw environment_error(
      fmt::format("[{}] {}: cannot be written into the cache; check the space under {} or set LINAC_CACHE", scheme_,
                  url_, cache_folder().string()));
}

}  // namespace linac::storage
