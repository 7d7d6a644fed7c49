#pragma once
// SHA-256 as the program sha256sum prints it: what a place can be asked for without linac. Thread-safe.

#include <string>
#include <string_view>

namespace linac::sites {

/// Of what a file holds, from its beginning. Environment error if it cannot be read.
std::string sha256_of(int file);
std::string sha256_of(std::string_view text);

}  // namespace linac::sites
