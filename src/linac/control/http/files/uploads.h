#pragma once
// Large files sent in parts, in any order and at the same time: a folder of its own for each below the uploads, until
// it is put together. An upload belongs to who began it; the token that he is told stands for the permission to send
// its parts. What a user has not finished is bounded in number and bytes, counted before anything is stored, and goes
// after some time. Uploads end with the service. Thread-safe.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace linac::http {

constexpr int64_t kPartsMax = 10000;

struct UploadLimits {
  size_t uploads_max = 64;                   // unfinished ones of a user
  int64_t bytes_max = int64_t{128} << 30;    // of their parts together
  int64_t quiet_ms_max = 3600'000;           // since the last part
  int64_t lifetime_ms_max = 24 * 3600'000L;  // of one
};

class Uploads {
 public:
  /// Removes what a former service has left in `folder`.
  Uploads(std::filesystem::path folder, UploadLimits limits);
  explicit Uploads(std::filesystem::path folder) : Uploads(std::move(folder), UploadLimits()) {}

  /// A new upload's id; `target` is where the file will lie below the artefacts. kInvalid for a path that is no path,
  /// or `parts` out of 1 to kPartsMax; kLimit. `token_hash`: of what stands for the permission to send parts.
  std::string begin(const std::string& user, const std::string& target, int64_t parts, const std::string& token_hash);
  std::string owner(const std::string& id) const;       // kNotFound
  std::string token_hash(const std::string& id) const;  // kNotFound
  /// Counts `bytes` as stored, until the part is there or what this returns is gone. kNotFound, kLimit.
  std::shared_ptr<void> expect(const std::string& id, int64_t bytes);
  /// Takes `file` as part `number`, from 1; returns its tag. kNotFound for the upload, kInvalid for the number.
  std::string put_part(const std::string& id, int64_t number, const std::filesystem::path& file);
  /// Puts the parts together, in this order, below `artifacts`. kNotFound, kInvalid for a part that is missing or
  /// another target.
  void complete(const std::filesystem::path& artifacts, const std::string& id, const std::string& target,
                const std::vector<int64_t>& parts);
  void abort(const std::string& id);
  /// Removes those whose time is over.
  void sweep();

 private:
  struct Upload {
    std::string user, target, token_hash;
    int64_t parts = 0, begun_ms = 0, last_ms = 0;
    std::map<int64_t, int64_t> bytes{};  // by part
    int64_t expected = 0;
    bool completing = false;
  };
  using Map = std::map<std::string, Upload>;
  Map::iterator found(const std::string& id);
  Map::const_iterator found(const std::string& id) const;
  int64_t bytes_of(const std::string& user) const;
  std::filesystem::path folder_of(const std::string& id) const { return folder_ / ("parts-" + id); }
  void remove(const std::string& id);

  const std::filesystem::path folder_;
  const UploadLimits limits_;
  mutable std::mutex mutex_;
  Map uploads_;
};

}  // namespace linac::http
