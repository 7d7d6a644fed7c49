#pragma once
// The program's one log: lines on standard error, tagged with the rank when there are several workers. Safe from any
// thread. Compose the message with fmt::format at the call.

#include <filesystem>
#include <string>
#include <string_view>

namespace linac::log {

/// The tag of every following line, e.g. "rank 1" or "" for a lone process. Call once at start-up.
void set_tag(std::string tag);

/// From now on the lines go to this file as well, appended whole, so that several processes can share it.
void set_file(const std::filesystem::path& path);

void debug(std::string_view message);  // shown when LINAC_LOG_LEVEL=debug
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

}  // namespace linac::log
