#pragma once
// The note beside a copy in the cache: where its content comes from, what the server said of it, and checksums that
// were made while it came. Thread-safe for different files.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace linac::storage {

/// What the server says about the content; what a copy is compared by.
struct Validators {
  std::string etag, modified;
  int64_t size = -1;
};
/// Whether the content can be told from another of its size: a size alone says too little.
bool names_version(const Validators& said);
bool same_content(const Validators& a, const Validators& b);

/// XXH3, 64 bits, of each kSummedBytes of a file.
using PieceSums = std::vector<uint64_t>;
inline constexpr int64_t kSummedBytes = int64_t{8} << 20;

/// The sums of bytes that come in order. One thread.
class PieceSummer {
 public:
  PieceSummer();
  void add(std::span<const std::byte> bytes);
  /// That were added.
  int64_t bytes() const { return bytes_; }
  /// Of all that was added; nothing is added afterwards.
  PieceSums finish();

 private:
  void end_piece();

  std::shared_ptr<void> state_;
  int64_t bytes_ = 0;
  PieceSums sums_;
};

/// Reads the file; environment error.
PieceSums piece_sums_of(const std::filesystem::path& file);

struct CopyNote {
  Validators said;
  std::string source;             // its URL without secrets; empty in older notes
  std::optional<PieceSums> sums;  // nothing in older notes
};

/// "FILE.json".
std::filesystem::path note_of(const std::filesystem::path& file);
/// Nothing where there is none, or none that can be read.
std::optional<CopyNote> read_note(const std::filesystem::path& file);
/// Environment error.
void write_note(const std::filesystem::path& file, const CopyNote& note);

}  // namespace linac::storage
