#pragma once
// Showers are read event by event in any order, so their file lies on this host: as it is, as a copy from the cache, or
// packed into the cache (packed_showers.h): TFRecord of another host, and what was compressed as a whole. Thread-safe;
// processes take turns.

#include <filesystem>
#include <string>

namespace linac::data {

/// `url`: one of expand()'s results. The file to read its showers from. What is packed is read as a
/// stream, once for each version of it. Errors of storage, inflated_stream.h, record_stream.h and shower_record.h;
/// environment error where the cache cannot take it.
std::filesystem::path shower_copy(const std::string& url);

}  // namespace linac::data
