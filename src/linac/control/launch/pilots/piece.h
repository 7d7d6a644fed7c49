#pragma once
// A file of a run that grows by what an agent sends of it. One writer at a time.

#include <cstdint>
#include <string_view>

namespace linac::launch {

/// `bytes` are those of the agent's file from `from` on. What the file here has already is passed over, and what does
/// not follow at its end is not added. Returns the end afterwards. `name`: below the open folder, or a path with
/// AT_FDCWD; neither a link nor anything but a file is written to. Environment error.
int64_t add_piece(int folder, const char* name, int64_t from, std::string_view bytes);

}  // namespace linac::launch
