#include "linac/io/data/cache/packed_showers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/float_clones.h"
#include "linac/base/base/log.h"
#include "linac/io/data/cache/remade.h"
#include "linac/io/data/formats/tfrecord.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

using nlohmann::json;

constexpr size_t kWordCells = 64;

struct ShowerHead {
  float energy, angle, ecal;
  uint32_t filled;
};

size_t words_of(const EventShape& shape) {
  return (static_cast<size_t>(shape.cells()) + kWordCells - 1) / kWordCells;
}

size_t packed_bytes(const EventShape& shape, size_t filled) {
  return sizeof(ShowerHead) + words_of(shape) * sizeof(uint64_t) + (filled + filled % 2) * sizeof(float);
}

/// Most words of cells are empty.
inline bool any_filled(const uint32_t* cells) {
  uint32_t all = 0;
  for (size_t i = 0; i < kWordCells; ++i) all |= cells[i];
  return all != 0;
}

/// Filled cells behind each other in `out`, which has room for all; returns how many. A bit in `words` for each.
LINAC_FLOAT_CLONES size_t compress(std::span<const uint8_t> cells, uint64_t* words, uint32_t* out) {
  size_t filled = 0;
  std::array<uint32_t, kWordCells> some;
  for (; !cells.empty(); ++words) {
    const size_t bytes = std::min(sizeof some, cells.size());
    if (bytes < sizeof some) some.fill(0);
    std::memcpy(some.data(), cells.data(), bytes);
    cells = cells.subspan(bytes);
    uint64_t word = 0;
    if (any_filled(some.data())) {
      // Without a branch: which cells are filled cannot be foreseen.
      for (size_t i = 0; i < kWordCells; ++i) {
        const uint64_t is_filled = some[i] != 0 ? 1 : 0;
        out[filled] = some[i];
        filled += is_filled;
        word |= is_filled << i;
      }
    }
    *words = word;
  }
  return filled;
}

}  // namespace

ShowerPacker::ShowerPacker(Write write) : write_(std::move(write)) {
  this->write(std::as_bytes(std::span(kPackedShowersSignature)));
}

void ShowerPacker::write(std::span<const std::byte> bytes) {
  write_(bytes);
  written_ += bytes.size();
}

void ShowerPacker::add(const RecordedShower& shower) {
  if (ends_.empty()) shape_ = shower.shape;
  LINAC_CHECK(shower.shape == shape_);
  const auto cells = static_cast<size_t>(shape_.cells());
  // One more than all cells: compress() writes there what it then does not count.
  const size_t room = packed_bytes(shape_, cells + 1);
  if (room_.size() < room) room_.resize(room);
  auto* const words = reinterpret_cast<uint64_t*>(room_.data() + sizeof(ShowerHead));
  auto* const values = reinterpret_cast<uint32_t*>(words + words_of(shape_));
  const size_t filled = compress(shower.cells, words, values);
  if (filled % 2 != 0) values[filled] = 0;
  const ShowerHead head{shower.energy, shower.angle, shower.ecal, static_cast<uint32_t>(filled)};
  std::memcpy(room_.data(), &head, sizeof head);
  const auto bytes = std::span<const std::byte>(room_).first(packed_bytes(shape_, filled));
  hashes_.push_back(storage::checksum(bytes));
  write(bytes);
  ends_.push_back(written_);
}

void ShowerPacker::finish(const OriginalFile& original) {
  const json notes{{"shape", {shape_.x, shape_.y, shape_.z}}, {"content", original.content}, {"bytes", original.bytes}};
  std::string index;
  for (const std::vector<uint64_t>* numbers : {&ends_, &hashes_})
    index.append(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(uint64_t));
  const std::string said = notes.dump();
  index += said;
  PackedShowersTrailer trailer{
      .showers = ends_.size(), .notes_bytes = said.size(), .hash = {}, .signature = kPackedShowersSignature};
  const std::string hash = storage::content_hash(index);
  std::copy(hash.begin(), hash.end(), trailer.hash.begin());
  write(std::as_bytes(std::span(index)));
  write(std::as_bytes(std::span(&trailer, 1)));
}

namespace {

class PackedShowers : public SampleFile {
 public:
  PackedShowers(const std::filesystem::path& path, std::string name, PackAgain again)
      : path_(path), name_(std::move(name)), again_(std::move(again)), source_(path) {
    try {
      is_sound_ = read_index();
    } catch (const json::exception&) {
      // Notes that are none: damaged.
    }
  }

  /// Whether it has an index.
  bool is_sound() const { return is_sound_; }
  /// In its place, once. `what`: is wrong with it.
  std::unique_ptr<const PackedShowers> anew(const std::string& what) const {
    ::unlink(path_.c_str());
    const std::string words =
        fmt::format("[data] {}: its packed copy {} {} (a failing disk?)", name_, path_.string(), what);
    if (!again_)
      throw environment_error(words + "; it has been removed: start again, or set LINAC_CACHE to another folder");
    log::warn(words + "; it is made anew");
    auto made = std::make_unique<const PackedShowers>(again_(), name_, nullptr);
    return made->is_sound() ? std::move(made) : made->anew("has no sound index again");
  }

  std::string format() const override { return "tfrecord"; }
  int64_t events() const override { return static_cast<int64_t>(ends_.size()); }
  EventShape shape() const override { return shape_; }
  FileIndex index() const override { return {}; }
  std::optional<OriginalFile> original() const override { return original_; }

  void read_sample(int64_t event, const ShowerSlot& slot) const override {
    const Shower shower = shower_of(event);
    *slot.energy = shower.head.energy;
    *slot.angle = shower.head.angle;
    *slot.ecal = shower.head.ecal;
    std::memset(slot.image, 0, static_cast<size_t>(shape_.cells()) * sizeof(float));
    const float* value = shower.values();
    for (size_t i = 0; i < words_of(shape_); ++i) {
      for (uint64_t word = shower.words()[i]; word != 0; word &= word - 1)
        slot.image[i * kWordCells + static_cast<size_t>(std::countr_zero(word))] = *value++;
    }
  }

  bool read_filled(int64_t event, ShowerBlock& out) const override {
    const Shower shower = shower_of(event);
    out.units = Units::kSamples;
    out.shape = shape_;
    out.image.assign(shower.values(), shower.values() + shower.head.filled);
    out.energy.assign(1, shower.head.energy);
    out.angle.assign(1, shower.head.angle);
    out.ecal.assign(1, shower.head.ecal);
    return true;
  }

 private:
  /// Its bytes, whose checksum fits and whose parts fill them.
  struct Shower {
    ShowerHead head;
    std::unique_ptr<uint64_t[]> room;
    size_t words_count;
    const uint64_t* words() const { return room.get() + sizeof(ShowerHead) / sizeof(uint64_t); }
    const float* values() const { return reinterpret_cast<const float*>(words() + words_count); }
  };

  Shower shower_of(int64_t event) const {
    LINAC_CHECK(event >= 0 && event < events());
    if (const PackedShowers* const made = remade_.get()) return made->shower_of(event);
    if (auto shower = sound_shower(event)) return std::move(*shower);
    return remade_.get_or_make([&] { return anew_as_before(event); }).shower_of(event);
  }

  std::unique_ptr<const PackedShowers> anew_as_before(int64_t event) const {
    auto made = anew(fmt::format("is damaged at event {}", event));
    const bool same = made->original_.content == original_.content && made->original_.bytes == original_.bytes &&
                      made->ends_ == ends_ && made->shape_ == shape_;
    if (same) return made;
    throw data_error(
        fmt::format("[data] {}: the file has changed since it was opened; leave the files alone while they "
                    "are used, then start again",
                    name_));
  }

  std::optional<Shower> sound_shower(int64_t event) const {
    const auto i = static_cast<size_t>(event);
    const uint64_t begin = i == 0 ? sizeof(PackedShowersHead) : ends_[i - 1];
    const size_t bytes = ends_[i] - begin;
    Shower shower{.head = {},
                  .room = std::make_unique_for_overwrite<uint64_t[]>(bytes / sizeof(uint64_t)),
                  .words_count = words_of(shape_)};
    const std::span<std::byte> room(reinterpret_cast<std::byte*>(shower.room.get()), bytes);
    source_.read(begin, room);
    if (storage::checksum(room) != hashes_[i]) return std::nullopt;
    std::memcpy(&shower.head, room.data(), sizeof shower.head);
    uint64_t bits = 0;
    if (bytes == packed_bytes(shape_, shower.head.filled))
      for (size_t word = 0; word < shower.words_count; ++word)
        bits += static_cast<uint64_t>(std::popcount(shower.words()[word]));
    const size_t beyond = shower.words_count * kWordCells - static_cast<size_t>(shape_.cells());
    const bool fits = bits == shower.head.filled && bytes == packed_bytes(shape_, bits) &&
                      (beyond == 0 || shower.words()[shower.words_count - 1] >> (kWordCells - beyond) == 0);
    return fits ? std::optional(std::move(shower)) : std::nullopt;
  }

  /// Each part is compared with what is there before it is believed.
  bool read_index() {
    PackedShowersTrailer trailer;
    const uint64_t size = source_.size();
    if (size < sizeof(PackedShowersHead) + sizeof trailer) return false;
    uint64_t left = size - sizeof(PackedShowersHead) - sizeof trailer;
    source_.read(size - sizeof trailer, std::as_writable_bytes(std::span(&trailer, 1)));
    if (trailer.signature != kPackedShowersSignature || trailer.notes_bytes > left) return false;
    if (trailer.showers == 0 || trailer.showers > (left - trailer.notes_bytes) / (2 * sizeof(uint64_t))) return false;
    std::string index(trailer.showers * 2 * sizeof(uint64_t) + trailer.notes_bytes, '\0');
    const uint64_t index_begin = size - sizeof trailer - index.size();
    source_.read(index_begin, std::as_writable_bytes(std::span(index)));
    if (storage::content_hash(index) != std::string_view(trailer.hash.data(), trailer.hash.size())) return false;

    for (std::vector<uint64_t>* numbers : {&ends_, &hashes_}) numbers->resize(trailer.showers);
    const size_t bytes = trailer.showers * sizeof(uint64_t);
    std::memcpy(ends_.data(), index.data(), bytes);
    std::memcpy(hashes_.data(), index.data() + bytes, bytes);
    const json said = json::parse(index.begin() + static_cast<std::ptrdiff_t>(2 * bytes), index.end());
    shape_ = {said.at("shape").at(0), said.at("shape").at(1), said.at("shape").at(2)};
    if (!is_plausible(shape_)) return false;
    original_ = {said.at("content"), said.at("bytes")};
    uint64_t end = sizeof(PackedShowersHead);
    for (const uint64_t one : ends_) {
      if (one < end + packed_bytes(shape_, 0) || one > index_begin || one % sizeof(uint64_t) != 0) return false;
      end = one;
    }
    return end == index_begin;
  }

  const std::filesystem::path path_;
  const std::string name_;
  const PackAgain again_;
  const FileSource source_;
  bool is_sound_ = false;
  mutable Remade<PackedShowers> remade_;
  EventShape shape_;
  OriginalFile original_;
  std::vector<uint64_t> ends_, hashes_;
};

}  // namespace

bool is_packed_showers(const std::filesystem::path& path) {
  if (!storage::lies_in_cache(path)) return false;
  const FileSource source(path);
  PackedShowersHead head;
  if (source.size() < sizeof head) return false;
  source.read(0, std::as_writable_bytes(std::span(head)));
  return head == kPackedShowersSignature;
}

std::unique_ptr<const ShowerFile> open_packed_showers(const std::filesystem::path& path, const std::string& name,
                                                      PackAgain again) {
  auto file = std::make_unique<const PackedShowers>(path, name, std::move(again));
  return file->is_sound() ? std::move(file) : file->anew("has no sound index");
}

}  // namespace linac::data
