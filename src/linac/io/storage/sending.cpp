#include "linac/io/storage/sending.h"

#include <fmt/format.h>

#include <memory>
#include <random>
#include <vector>

#include "linac/io/storage/source.h"

namespace linac::storage {

Pieces pieces_of(std::string_view content, size_t piece_bytes) {
  return [content, piece_bytes]() mutable {
    const std::string_view piece = content.substr(0, piece_bytes);
    content.remove_prefix(piece.size());
    return std::as_bytes(std::span(piece));
  };
}

Pieces pieces_of_file(const std::filesystem::path& file, size_t piece_bytes) {
  const std::shared_ptr<ByteStream> stream = Source::stream(Source::of_file(file, file.string()));
  const auto room = std::make_shared<std::vector<std::byte>>(piece_bytes);
  return [stream, room] { return std::span<const std::byte>(*room).first(stream->read(*room)); };
}

std::string name_in_the_making(const std::string& url) {
  std::random_device device;
  return fmt::format("{}.part-{:08x}{:08x}", url, device(), device());
}

}  // namespace linac::storage
