#pragma once
// Showers are read event by event in any order, so their file lies on this host: as it is, as a copy from the cache, or
// unpacked into the cache where it was compressed as a whole. Thread-safe; processes take turns.

#include <filesystem>
#include <string>

namespace linac::data {

/// `url`: one of expand()'s results. The file to read its showers from. What is compressed is unpacked from where it
/// lies, once for each version of it. Errors of storage and of inflated_stream.h; environment error where the cache
/// cannot take it.
std::filesystem::path shower_copy(const std::string& url);

}  // namespace linac::data
