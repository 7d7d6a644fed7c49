#pragma once
// What stores have in common that send a file under another name, in pieces, and then put it in its place. Thread-safe
// functions; what they return is for one thread.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace linac::storage {

/// A content piece by piece; an empty one ends it. A piece lives until the next one is asked for.
using Pieces = std::function<std::span<const std::byte>()>;
/// `content` must live as long.
Pieces pieces_of(std::string_view content, size_t piece_bytes);
/// Errors as of Source.
Pieces pieces_of_file(const std::filesystem::path& file, size_t piece_bytes);

/// "URL.part-0123456789abcdef", drawn.
std::string name_in_the_making(const std::string& url);

}  // namespace linac::storage
