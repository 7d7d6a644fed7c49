#include "linac/io/data/cache/packed_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/data/cache/pack_file.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/file_lock.h"

namespace linac::data {
namespace {

using nlohmann::json;

/// One packed file for an original and its columns: that of a former version is replaced.
std::filesystem::path packed_path_of(const json& key) {
  return storage::cache_folder() / "tables" / (storage::content_hash(without_version(key).dump()) + ".pack");
}

std::span<const std::byte> map_file(const std::filesystem::path& path, uint64_t& number) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  struct stat status {};
  void* memory = MAP_FAILED;
  if (::fstat(descriptor, &status) == 0 && status.st_size > 0)
    memory = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  number = status.st_ino;
  if (memory == MAP_FAILED) return {};
  return {static_cast<const std::byte*>(memory), static_cast<size_t>(status.st_size)};
}

template <class T>
std::span<const T> take(const std::byte*& at, uint64_t count) {
  const std::span<const T> items(reinterpret_cast<const T*>(at), count);
  at += items.size_bytes();
  return items;
}

/// The trailer of a file whose parts add up to its size.
std::optional<PackTrailer> trailer_of(std::span<const std::byte> file, size_t columns) {
  PackTrailer trailer;
  if (file.size() < sizeof trailer) return std::nullopt;
  std::memcpy(&trailer, file.last(sizeof trailer).data(), sizeof trailer);
  const bool fits = trailer.columns == columns && adds_up(trailer, file.size());
  return fits ? std::optional(trailer) : std::nullopt;
}

}  // namespace

bool PackedTable::map_index(const json& key, Match match) {
  const auto trailer = trailer_of(mapped_, key.at("columns").size());
  if (!trailer) return false;
  const std::byte* at = mapped_.data();
  values_ = take<float>(at, pack_values_bytes(trailer->values) / sizeof(float)).first(trailer->values);
  entry_bytes_ = pack_entry_bytes(trailer->columns);
  index_ = take<std::byte>(at, trailer->events * entry_bytes_);
  const auto notes = take<char>(at, trailer->notes_bytes);
  const std::string_view hashed(reinterpret_cast<const char*>(index_.data()), index_.size() + notes.size());
  if (storage::content_hash(hashed) != std::string_view(trailer->hash.data(), trailer->hash.size())) return false;

  const json said = json::parse(notes.begin(), notes.end());
  const bool fits =
      match == Match::kKey ? said.at("key") == key : without_version(said.at("key")) == without_version(key);
  if (!fits) return false;
  file_.format = said.at("format");
  file_.events = static_cast<int64_t>(trailer->events);
  file_.bytes = said.at("key").at("size");
  file_.fingerprint = said.at("fingerprint");
  file_.stored = file_.passed = file_.events;
  if (const auto selected = said.find("selected"); selected != said.end()) {
    file_.stored = selected->at("stored");
    file_.passed = selected->at("passed");
    file_.made = hash_of_hashes();
  }
  for (const json& column : said.at("columns")) {
    stored_.push_back({.words = column.at("stored"), .is_number = column.at("number")});
    if (const auto texts = column.find("texts"); texts != column.end()) {
      stored_.back().is_text = true;
      for (const json& one : *texts) stored_.back().texts.push_back({one.at(0), one.at(1), one.at(2)});
    }
    facts_.push_back(facts_from_json(column.at("facts")));
  }
  return true;
}

std::shared_ptr<PackedTable> PackedTable::map(const std::filesystem::path& packed, const json& key,
                                              const std::string& url, Match match) {
  const std::shared_ptr<PackedTable> table(new PackedTable);
  table->mapped_ = map_file(packed, table->file_number_);
  if (table->mapped_.empty() || !table->map_index(key, match)) return nullptr;
  table->packed_path_ = packed;
  table->file_.url = url;
  return table;
}

std::shared_ptr<const PackedTable> PackedTable::open(const std::string& url, const std::vector<WantedColumn>& columns,
                                                     const Transform& transform) {
  const std::shared_ptr<PackedTable> table = open_once(url, columns, transform);
  table->open_again_ = [=] { return open_once(url, columns, transform); };
  return table;
}

std::shared_ptr<PackedTable> PackedTable::open_once(const std::string& url, const std::vector<WantedColumn>& columns,
                                                    const Transform& transform) {
  try {
    return of_source(storage::Source::open(url), columns, transform);
  } catch (const storage::Unreachable&) {
    const json key = remote_pack_key(url, columns, transform);
    const std::filesystem::path packed = packed_path_of(key);
    storage::use_cached(packed);
    if (auto table = map(packed, key, url, Match::kAnyVersion)) {
      table->in_use_ = true;
      log::warn(fmt::format("[data] {}: the server cannot be reached; what was read from it before is used",
                            net::without_secrets(url)));
      return table;
    }
    return of_source(storage::Source::of_file(storage::fetch(url), url), columns, transform);
  }
}

std::shared_ptr<PackedTable> PackedTable::of_source(const std::shared_ptr<const storage::Source>& source,
                                                    const std::vector<WantedColumn>& columns,
                                                    const Transform& transform) {
  const json key = pack_key(*source, columns, transform);
  const std::filesystem::path packed = packed_path_of(key);
  storage::use_cached(packed);
  std::shared_ptr<PackedTable> table = map(packed, key, source->url());
  if (!table) {
    if (const auto readable = readable_source(source); readable != source)
      return of_source(readable, columns, transform);
    make_folder(packed.parent_path());
    const storage::FileLock lock(packed.string() + ".lock");
    table = map(packed, key, source->url());
    if (!table) {
      pack_file(source, columns, transform, key, packed);
      table = map(packed, key, source->url());
      storage::make_room();
    }
  }
  if (!table) {
    throw environment_error(
        fmt::format("[data] {}: cannot be read back after it was written; check the disk, or set "
                    "LINAC_CACHE to another folder",
                    packed.string()));
  }
  table->in_use_ = true;
  table->is_fetched_ = source->path() && source->is_remote();
  table->path_ = source->path();
  table->state_ = source->state();
  return table;
}

PackedTable::~PackedTable() {
  if (in_use_) storage::release_cached(packed_path_);
  if (is_fetched_) storage::release_cached(*path_);
  if (!mapped_.empty()) ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
}

PackEntry PackedTable::entry(int64_t event) const {
  return read_entry(entry_at(event));
}

std::string PackedTable::hash_of_hashes() const {
  std::vector<uint64_t> hashes;
  for (int64_t event = 0; event < events(); ++event) hashes.push_back(entry(event).hash);
  return fmt::format("{:016x}", storage::checksum(std::as_bytes(std::span(hashes))));
}

void PackedTable::expect_place(int64_t event) const {
  __builtin_prefetch(entry_at(event));
}

void PackedTable::expect_values(int64_t event) const {
  constexpr uint64_t kLineValues = 64 / sizeof(float), kLinesMax = 8;  // the processor itself sees long rows
  const PackEntry place = entry(event);
  const uint64_t end = place.first + std::min<uint64_t>(place.values, kLinesMax * kLineValues);
  for (uint64_t at = place.first; at < end; at += kLineValues) __builtin_prefetch(&values_[at]);
}

std::span<const float> PackedTable::values(int64_t event) const {
  LINAC_CHECK(event >= 0 && event < events());
  if (const PackedTable* const table = remade_.get()) return table->values(event);
  const PackEntry place = entry(event);
  const std::span<const float> values = values_.subspan(place.first, place.values);
  if (storage::checksum(std::as_bytes(values)) == place.hash) return values;
  return remade_.get_or_make([&] { return anew(event); }).values(event);
}

std::shared_ptr<const PackedTable> PackedTable::anew(int64_t event) const {
  const std::string what =
      fmt::format("[data] {}: its packed copy {} is damaged at event {}", file_.url, packed_path_.string(), event);
  // Unless another process has done so.
  struct stat there {};
  if (::stat(packed_path_.c_str(), &there) == 0 && there.st_ino == file_number_) ::unlink(packed_path_.c_str());
  if (!open_again_)
    throw environment_error(what + " again (a failing disk?); set LINAC_CACHE to a folder on another one");
  log::warn(what + " (a failing disk?); it is made anew");
  const std::shared_ptr<const PackedTable> table = open_again_();
  if (table->file_.fingerprint != file_.fingerprint || table->events() != events()) refuse_changed();
  return table;
}

void PackedTable::let_pages_go() const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t whole = values_.size_bytes() / page * page;  // they begin the mapping
  if (whole > 0) ::madvise(const_cast<std::byte*>(mapped_.data()), whole, MADV_DONTNEED);
}

void PackedTable::check_unchanged() const {
  if (!path_) return;
  const std::scoped_lock lock(state_mutex_);
  if (!storage::is_still(*path_, file_.fingerprint, state_)) refuse_changed();
}

void PackedTable::refuse_changed() const {
  throw data_error(fmt::format(
      "[data] {}: the file has changed since it was opened; leave the files alone while they are used, then "
      "start again",
      file_.url));
}

}  // namespace linac::data
