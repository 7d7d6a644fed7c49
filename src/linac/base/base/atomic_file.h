#pragma once
// Files that are whole or absent: written beside their place, synced, then renamed. Thread-safe for different paths.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace linac {

/// Replaces `path` by `bytes`: temporary file in the same folder, fsync, rename, fsync of the folder. Throws an
/// environment error (no space, no permission), after which the former content of `path` is untouched.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Takes the next piece of a file's content.
using TakePiece = std::function<void(std::span<const std::byte>)>;
/// The same with content that `tell` hands over in pieces. `synced` is called whenever some 32 MiB more lie on the
/// disk; otherwise these count as pieces of work (base/base/piece_of_work.h).
void write_file_atomically(const std::filesystem::path& path, const std::function<void(const TakePiece&)>& tell,
                           const std::function<void()>& synced);

/// Replaces `path` by a file of its first `kept` bytes with `tail` behind them. The system copies what stays, and
/// shares it where the file system can. Whoever still writes to the former file writes beside the record.
void write_end_of_file_atomically(const std::filesystem::path& path, uint64_t kept, std::string_view tail);

/// Syncs the finished temporary file `part` and renames it to `path`, over a former one; false (errno) if that fails.
bool put_in_place(const std::filesystem::path& part, const std::filesystem::path& path);

/// Whole content; environment error naming the file when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Creates the folder and its parents; environment error naming it when that fails.
void make_folder(const std::filesystem::path& path);

}  // namespace linac
