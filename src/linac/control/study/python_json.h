#pragma once
// JSON that a Python program of somebody else wrote. Pure, thread-safe.

#include <string>
#include <string_view>

namespace linac::study {

/// `text` with Python's NaN, Infinity and -Infinity outside texts as texts, which JSON has, and as
/// tune::number_from_json takes them. Data error where it is deeper than 64: each copy of such a document goes down
/// the stack as deep.
std::string plain_json(std::string_view text);

}  // namespace linac::study
