#include "linac/io/data/cache/pack_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/data/cache/pack_file.h"
#include "linac/io/data/formats/tfrecord.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

/// Where the parts of a packed file begin.
struct Places {
  PackTrailer trailer;
  uint64_t index = 0, notes = 0, end = 0;
};

std::optional<Places> places_in(const FileSource& file) {
  Places places;
  if (file.size() < sizeof places.trailer) return std::nullopt;
  places.end = file.size() - sizeof places.trailer;
  file.read(places.end, std::as_writable_bytes(std::span(&places.trailer, 1)));
  if (!adds_up(places.trailer, file.size())) return std::nullopt;
  places.index = pack_values_bytes(places.trailer.values);
  places.notes = places.end - places.trailer.notes_bytes;
  return places;
}

/// Bytes of the file one after the other.
class FileRange {
 public:
  FileRange(const FileSource& file, uint64_t begin, uint64_t end, std::function<void(int64_t)> read)
      : file_(file), at_(begin), end_(end), read_(std::move(read)) {}

  /// So many bytes, valid until the next call; they are there.
  std::span<const std::byte> take(uint64_t bytes) {
    if (room_.size() - taken_ < bytes) fill(bytes);
    taken_ += bytes;
    return std::span<const std::byte>(room_).subspan(taken_ - bytes, bytes);
  }
  uint64_t left() const { return end_ - at_ + room_.size() - taken_; }

 private:
  void fill(uint64_t bytes) {
    room_.erase(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
    const uint64_t more = std::min(std::max(bytes - room_.size(), kReadBytes), end_ - at_);
    LINAC_CHECK(room_.size() + more >= bytes);
    room_.resize(room_.size() + more);
    file_.read(at_, std::span(room_).last(more));
    at_ += more;
    if (read_) read_(static_cast<int64_t>(more));
  }

  const FileSource& file_;
  uint64_t at_, end_;
  const std::function<void(int64_t)> read_;
  std::vector<std::byte> room_;
  uint64_t taken_ = 0;
};

bool index_fits(const FileSource& file, const Places& places, const std::function<void(int64_t)>& read) {
  FileRange index(file, places.index, places.end, read);
  storage::ContentHash hash;
  while (index.left() > 0) hash.add(index.take(std::min(index.left(), kReadBytes)));
  return hash.text() == std::string_view(places.trailer.hash.data(), places.trailer.hash.size());
}

}  // namespace

std::string original_of_pack(const std::filesystem::path& packed) {
  try {
    const FileSource file(packed);
    const auto places = places_in(file);
    if (!places) return {};
    std::string notes(places->trailer.notes_bytes, '\0');
    file.read(places->notes, std::as_writable_bytes(std::span(notes)));
    const nlohmann::json key = nlohmann::json::parse(notes).at("key");
    return key.contains("url") ? key.at("url") : key.at("path");
  } catch (const std::exception&) {
    return {};  // damaged, or gone meanwhile
  }
}

std::string damage_of_pack(const std::filesystem::path& packed, const std::function<void(int64_t)>& read) {
  const FileSource file(packed);
  const auto places = places_in(file);
  if (!places) return "is cut, or no packed table";
  if (!index_fits(file, *places, read)) return "its index does not match its checksum";
  FileRange index(file, places->index, places->notes, {}), values(file, 0, places->index, read);
  uint64_t end = 0;
  for (uint64_t event = 0; event < places->trailer.events; ++event) {
    const PackEntry entry = read_entry(index.take(pack_entry_bytes(places->trailer.columns)).data());
    const bool inside = entry.first == end && entry.values <= places->trailer.values - end;
    if (!inside || storage::checksum(values.take(entry.values * sizeof(float))) != entry.hash)
      return fmt::format("event {} does not match its checksum", event);
    end += entry.values;
  }
  const bool filled =
      std::ranges::all_of(values.take(values.left()), [](std::byte one) { return one == std::byte{0}; });
  return filled ? "" : "has bytes between its values and its index";
}

}  // namespace linac::data
