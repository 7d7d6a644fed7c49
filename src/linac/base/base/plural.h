#pragma once
// A number with its noun. Pure, thread-safe.

#include <cstdint>
#include <string>

namespace linac {

/// "1 worker", "3 workers"; for nouns that only take an s.
std::string plural(int64_t count, const std::string& noun);

}  // namespace linac
