#pragma once
// A packed table (pack_file.h) looked at without being used: what it was made from, and whether all of it is what was
// written. Constant memory but for the notes; nothing is mapped, so a disk that fails is an error and no signal.
// Thread-safe.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace linac::data {

/// The URL or the path of the original; empty for a file that is damaged or none.
std::string original_of_pack(const std::filesystem::path& packed);

/// What is wrong with it, "event 12 does not match its checksum"; empty: nothing. `read` hears of each piece of bytes,
/// and may throw to end it. Environment error where it cannot be read.
std::string damage_of_pack(const std::filesystem::path& packed, const std::function<void(int64_t bytes)>& read);

}  // namespace linac::data
