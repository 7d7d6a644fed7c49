#pragma once
// Zip files in memory-sized pieces, over libzip. Reading trusts no size that the archive states: each member has a
// limit and may not unpack to far more than the archive holds. A ZipReader is used by one thread at a time; write_zip
// is thread-safe.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct zip;

namespace linac::archive {

/// A member may unpack to this many times the size of the whole archive (a zip bomb reaches 1000) ...
inline constexpr uint64_t kZipExpansionMax = 100;
/// ... but small ones, such as a model of zeros, always pass.
inline constexpr uint64_t kZipExpansionFloorBytes = uint64_t{64} << 20;
inline constexpr size_t kZipMembersMax = 1'000'000;

class ZipReader {
 public:
  /// Opens `path`; user error if it is absent or not a zip file.
  explicit ZipReader(const std::filesystem::path& path);

  /// Content of the member, nothing if there is none of that name. User error naming file and member if it is damaged,
  /// larger than `bytes_max`, or expands beyond kZipExpansionMax.
  std::optional<std::string> read(const std::string& member, uint64_t bytes_max);

  /// Names of all members, in the archive's order. User error if there are more than kZipMembersMax.
  std::vector<std::string> members() const;

 private:
  [[noreturn]] void fail(const std::string& member, const std::string& why) const;

  std::string path_;
  uint64_t archive_bytes_ = 0;
  std::unique_ptr<zip, void (*)(zip*)> zip_;
};

struct ZipMember {
  std::string name;
  std::string content;
};

/// The bytes of an archive of `members`, stored uncompressed and all dated 1980-01-01: the same members give the same
/// bytes.
std::string write_zip(const std::vector<ZipMember>& members);

}  // namespace linac::archive
