#pragma once
// A word of a command that a person copies into a shell. Pure, thread-safe.

#include <string>

namespace linac {

/// The text itself where a shell reads it as it stands, else in single quotes: "'data/*.h5'".
std::string shell_word(const std::string& text);

}  // namespace linac
