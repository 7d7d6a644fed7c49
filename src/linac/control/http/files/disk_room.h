#pragma once
// Room on the disk that is kept free, so that what was promised can still be written. Thread-safe.

#include <cstdint>
#include <filesystem>

namespace linac::http {

/// Bytes that this process may still write below `folder`; environment error if that cannot be found out.
int64_t room_below(const std::filesystem::path& folder);
/// Environment error unless `bytes` fit below `folder` and `keep_free` are left.
void check_room(const std::filesystem::path& folder, int64_t bytes, int64_t keep_free);

}  // namespace linac::http
