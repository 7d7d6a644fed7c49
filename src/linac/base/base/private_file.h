#pragma once
// Small files that are for this account's eyes alone: keys, and secrets on their way. Thread-safe for different paths.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace linac {

/// Replaces `path` by `bytes`, mode 0600: whole or not at all, on the disk when it returns. Environment error if it
/// cannot be written; the former content is untouched then.
void write_private_file(const std::filesystem::path& path, std::string_view bytes);

/// Nothing if there is no such file. User error for what others than its owner can reach, for another account's, and
/// for what is no file: nothing is waited for, no link is followed. Environment error if it cannot be read, or has more
/// than `bytes_max`.
std::optional<std::string> read_private_file(const std::filesystem::path& path, size_t bytes_max);

}  // namespace linac
