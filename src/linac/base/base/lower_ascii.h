#pragma once
// Words of protocols, which know A-Z alone. Pure, thread-safe.

#include <string>
#include <string_view>

namespace linac {

/// `text` with a-z in place of A-Z; other bytes stay.
std::string lower_ascii(std::string_view text);

}  // namespace linac
