#pragma once
// The elements of an XML text that somebody else has written: of bounded size, depth and lengths, and without a
// document type. Thread-safe.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace linac::storage {

inline constexpr size_t kXmlBytesMax = size_t{16} << 20;

/// Called at the end of each element with the names of all that are open, as "ListBucketResult/Contents/Key", without
/// their namespaces' prefixes, and the text in it.
using TakeElement = std::function<void(std::string_view path, std::string&& text)>;

/// False if the text is no such XML.
bool each_element(std::string_view xml, const TakeElement& take);

}  // namespace linac::storage
