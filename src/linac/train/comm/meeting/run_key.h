#pragma once
// The secret that the workers of a run share and nobody else has: who knows it can join. Keys of links and seals of
// texts are derived from it, so it travels nowhere itself. Values are thread-safe.
//
// Workers have it from LINAC_RUN_KEY, or from the file that LINAC_RUN_KEY_FILE names, or from the folder of the run,
// where `private/key` can be read by its owner alone.

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "linac/train/comm/meeting/rendezvous.h"

namespace linac::comm {

class RunKey {
 public:
  static constexpr size_t kBytes = 32;
  using Bytes = std::array<unsigned char, kBytes>;

  static RunKey draw();
  /// 64 hexadecimal digits; user error that names `source`, and never the text.
  static RunKey parse(std::string_view text, const std::string& source);

  /// As parse() reads it.
  std::string text() const;
  /// HMAC-SHA256 (RFC 2104) over both: another purpose gives another key. `purpose` has no zero byte.
  Bytes derive(std::string_view purpose, std::string_view text) const;

  /// `text` behind a seal that only the key makes, for `place` alone.
  std::string seal(std::string_view place, std::string_view text) const;
  /// What was sealed; nothing if another key made the seal, or for another place, or the text was altered.
  std::optional<std::string> open(std::string_view place, std::string_view sealed) const;

 private:
  explicit RunKey(const Bytes& bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

inline constexpr const char* kRunKeyVariable = "LINAC_RUN_KEY";

/// Of the environment, if it has one. User error if it is malformed or others can read the file.
std::optional<RunKey> key_of_environment(const EnvironmentLookup& environment = process_environment);

/// The key in the folder of a run, drawn and written if there is none. Processes that call it at the same time get the
/// same. Environment error if the folder cannot be used; user error if others than its owner can read what is there.
RunKey make_key_in(const std::filesystem::path& folder);

/// The key that another process has made there; waits `patience` for it, as network disks show new files late. User
/// error if none comes, or as above.
RunKey read_key_in(const std::filesystem::path& folder, std::chrono::milliseconds patience);

}  // namespace linac::comm
