#include "linac/io/data/cache/pack_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/progress.h"
#include "linac/io/data/cache/packed_table.h"
#include "linac/io/data/column_facts.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/formats/zipped_rows.h"
#include "linac/io/data/transform/table.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"

namespace linac::data {
namespace {

using nlohmann::json;

// Raise when what is stored changes its meaning.
constexpr int kVersion = 3;
// Smaller files are packed in less than a second, and larger ones take long enough for a bar.
constexpr int64_t kBytesWorthSaying = 4'000'000;
constexpr int64_t kBytesWorthABar = 200'000'000;
constexpr size_t kWrittenBytes = size_t{1} << 20;
constexpr int64_t kRoomBytes = int64_t{256} << 20;  // made at once on a full disk

/// The packed file in the making: written beside its place, gone unless close() was reached. Where the disk is full,
/// copies in the cache that nobody uses go.
class Output {
 public:
  explicit Output(const std::filesystem::path& path)
      : path_(path),
        part_(path.string() + fmt::format(".tmp.{}", ::getpid())),
        file_(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    need(static_cast<bool>(file_));
  }
  ~Output() {
    if (!in_place_) ::unlink(part_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Room for the next bytes, which the caller fills before the next call.
  std::span<std::byte> room(size_t bytes) {
    if (used_ >= kWrittenBytes) flush(used_ / kWrittenBytes * kWrittenBytes);
    if (buffer_.size() - used_ < bytes) buffer_.resize(used_ + bytes);
    used_ += bytes;
    return std::span(buffer_).subspan(used_ - bytes, bytes);
  }
  void write(std::span<const std::byte> bytes) { std::ranges::copy(bytes, room(bytes.size()).begin()); }
  void close() {
    flush(used_);
    file_.reset();
    need(in_place_ = put_in_place(part_, path_));
  }

 private:
  void flush(size_t bytes) {
    for (auto left = std::span<const std::byte>(buffer_).first(bytes); !left.empty();) {
      const ssize_t n = ::write(file_.get(), left.data(), left.size());
      const int reason = errno;
      if (n < 0 && reason == EINTR) continue;
      if (n < 0 && reason == ENOSPC && storage::free_bytes(storage::cache_folder(), kRoomBytes) > 0) continue;
      errno = reason;
      need(n > 0);
      left = left.subspan(static_cast<size_t>(n));
    }
    std::copy(buffer_.begin() + static_cast<int64_t>(bytes), buffer_.begin() + static_cast<int64_t>(used_),
              buffer_.begin());
    used_ -= bytes;
  }
  void need(bool holds) const {
    if (holds) return;
    throw environment_error(
        fmt::format("[data] {}: cannot be written ({}); free space there or set LINAC_CACHE to "
                    "another folder",
                    part_.string(), std::strerror(errno)));
  }

  std::filesystem::path path_, part_;
  Descriptor file_;
  std::vector<std::byte> buffer_;
  size_t used_ = 0;  // of the buffer
  bool in_place_ = false;
};

uint32_t rows_without_padding(std::span<const float> values, uint32_t rows, size_t row_size, float padding) {
  size_t end = rows * row_size;
  while (end > 0 && values[end - 1] == padding) --end;
  return static_cast<uint32_t>((end + row_size - 1) / row_size);
}

/// Takes blocks of events and writes them.
class Packer {
 public:
  Packer(const std::filesystem::path& packed, const std::string& url, const std::vector<WantedColumn>& columns)
      : url_(url), columns_(columns), out_(packed), facts_(columns.size()) {
    for (const WantedColumn& column : columns) row_sizes_.push_back(static_cast<size_t>(column.row_size()));
  }

  int64_t events() const { return events_; }

  void add(const std::vector<RaggedColumn>& block) {
    const size_t events = block[0].rows.size();
    kept_.resize(events * columns_.size());
    for (size_t column = 0; column < columns_.size(); ++column) look_at(column, block);
    places_.assign(columns_.size(), 0);
    for (size_t event = 0; event < events; ++event) add_event(block, event);
  }

  const std::vector<ColumnFacts>& facts() const { return facts_; }

  void finish(const std::string& notes) {
    PackTrailer trailer{.values = values_,
                        .events = static_cast<uint64_t>(events_),
                        .columns = columns_.size(),
                        .notes_bytes = notes.size(),
                        .hash = {},
                        .signature = kPackSignature};
    std::ranges::fill(out_.room(pack_values_bytes(values_) - values_ * sizeof(float)), std::byte{0});
    storage::ContentHash hash;
    for (const auto part : {std::span<const std::byte>(index_), std::as_bytes(std::span(notes))}) {
      hash.add(part);
      out_.write(part);
    }
    std::ranges::copy(hash.text(), trailer.hash.begin());
    out_.write(std::as_bytes(std::span(&trailer, 1)));
    out_.close();
  }

 private:
  /// How many rows of each event are kept, and the facts of those.
  void look_at(size_t column, const std::vector<RaggedColumn>& block) {
    const std::vector<uint32_t>& rows = block[column].rows;
    const std::span<const float> values = block[column].values;
    const bool pads = is_padded(columns_[column]);
    const size_t row_size = row_sizes_[column];
    ColumnFacts facts;
    size_t begin = 0, end = 0;  // of values that lie together
    for (size_t event = 0; event < rows.size(); ++event) {
      const auto all = values.subspan(end, rows[event] * row_size);
      const uint32_t kept =
          pads ? rows_without_padding(all, rows[event], row_size, columns_[column].padding) : rows[event];
      kept_[event * columns_.size() + column] = kept;
      end += all.size();
      if (kept == rows[event]) continue;
      facts.add(values.subspan(begin, end - all.size() + kept * row_size - begin));
      begin = end;
    }
    facts.add(values.subspan(begin, end - begin));
    if (!std::isfinite(facts.sum)) refuse(block);
    facts_[column].add(facts);
  }

  void add_event(const std::vector<RaggedColumn>& block, size_t event) {
    const std::span<const uint32_t> kept = std::span(kept_).subspan(event * columns_.size(), columns_.size());
    size_t count = 0;
    for (size_t column = 0; column < kept.size(); ++column) count += kept[column] * row_sizes_[column];
    const std::span<std::byte> room = out_.room(count * sizeof(float));
    std::byte* to = room.data();
    for (size_t column = 0; column < kept.size(); ++column) {
      const size_t bytes = kept[column] * row_sizes_[column] * sizeof(float);
      if (bytes > 0) std::memcpy(to, block[column].values.data() + places_[column], bytes);
      to += bytes;
      places_[column] += block[column].rows[event] * row_sizes_[column];
    }
    LINAC_CHECK(count <= std::numeric_limits<uint32_t>::max());
    add_entry({.first = values_, .hash = storage::checksum(room), .values = static_cast<uint32_t>(count)}, kept);
    values_ += count;
    ++events_;
  }

  void add_entry(const PackEntry& entry, std::span<const uint32_t> rows) {
    const size_t old = index_.size();
    index_.resize(old + pack_entry_bytes(columns_.size()));
    std::memcpy(index_.data() + old, &entry, kPackRowsOffset);
    std::memcpy(index_.data() + old + kPackRowsOffset, rows.data(), rows.size_bytes());
  }

  /// Names the first value of the block that is not finite.
  [[noreturn]] void refuse(const std::vector<RaggedColumn>& block) const {
    std::vector<size_t> places(columns_.size(), 0);
    for (size_t event = 0; event < block[0].rows.size(); ++event) {
      for (size_t column = 0; column < columns_.size(); ++column) {
        const size_t count = block[column].rows[event] * row_sizes_[column];
        const auto values = std::span(block[column].values).subspan(places[column], count);
        const auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
        if (bad != values.end()) {
          throw data_error(fmt::format(
              "[data] {}: event {}: column '{}' holds {} (value {} of the event); remove the event or write the file "
              "again",
              url_, events_ + static_cast<int64_t>(event), columns_[column].name, *bad, bad - values.begin()));
        }
        places[column] += count;
      }
    }
    LINAC_CHECK(false);
  }

  const std::string& url_;
  const std::vector<WantedColumn>& columns_;
  std::vector<size_t> row_sizes_;
  Output out_;
  int64_t events_ = 0;
  uint64_t values_ = 0;
  std::vector<std::byte> index_;
  std::vector<ColumnFacts> facts_;
  std::vector<uint32_t> kept_;  // rows of (events, columns) of the block
  std::vector<size_t> places_;  // of the event's values in each column of the block
};

json wanted_of(const std::vector<WantedColumn>& columns) {
  json wanted = json::array();
  for (const WantedColumn& column : columns) {
    const size_t lists = column.shape.empty() ? 0 : 1;
    wanted.push_back({{"name", column.name},
                      {"row", std::vector(column.shape.begin() + static_cast<int64_t>(lists), column.shape.end())},
                      {"zero_rows_pad", is_padded(column)}});
    if (column.padding != 0) wanted.back()["padding"] = column.padding;
    if (!column.zipped.empty()) wanted.back()["zipped"] = column.zipped;
  }
  return wanted;
}

/// Of the content. Another host's file that was read in part has the version that its server names in place of it.
std::string fingerprint_of(const storage::Source& source) {
  if (const std::string content = source.streamed_content(); !content.empty()) return content;
  if (!source.is_ranged()) return storage::fingerprint(*source.path()).content;
  return source.version_hash();
}

json describe(const TableReader& reader, const std::vector<ColumnFacts>& facts) {
  json out = json::array();
  for (size_t i = 0; i < facts.size(); ++i) {
    const StoredColumn& column = reader.columns()[i];
    out.push_back({{"stored", column.words}, {"number", column.is_number}, {"facts", to_json(facts[i])}});
    if (!column.is_text) continue;
    json& texts = out.back()["texts"] = json::array();
    for (const StoredText& one : reader.texts(i)) texts.push_back({one.text, one.events, one.first});
  }
  return out;
}

/// What is packed, of whichever file.
json made_of(const std::vector<WantedColumn>& columns, const Transform& transform) {
  json key{{"version", kVersion}, {"columns", wanted_of(columns)}};
  if (!transform.empty()) key["transform"] = to_json(transform);
  return key;
}

}  // namespace

bool adds_up(const PackTrailer& trailer, uint64_t file_bytes) {
  if (trailer.signature != kPackSignature) return false;
  // Each part first: their sum must not wrap around.
  for (const uint64_t part : {trailer.values, trailer.events, trailer.columns, trailer.notes_bytes})
    if (part > file_bytes) return false;
  if (trailer.columns > 0 && trailer.events > file_bytes / trailer.columns) return false;
  return pack_values_bytes(trailer.values) + trailer.events * pack_entry_bytes(trailer.columns) + trailer.notes_bytes +
             sizeof trailer ==
         file_bytes;
}

json pack_key(const storage::Source& source, const std::vector<WantedColumn>& columns, const Transform& transform) {
  json key;
  if (source.is_ranged()) {
    key = remote_pack_key(source.url(), columns, transform);
    key["remote_version"] = source.version();
  } else {
    std::error_code error;
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(*source.path(), error);
    key = made_of(columns, transform);
    key["path"] = (error ? *source.path() : canonical).string();
    key["state"] = source.state().state();
  }
  key["size"] = source.size();
  return key;
}

json remote_pack_key(const std::string& url, const std::vector<WantedColumn>& columns, const Transform& transform) {
  json key = made_of(columns, transform);
  key["url"] = net::without_secrets(url);  // a signed address is as good as a password
  key["url_hash"] = storage::content_hash(url);
  return key;
}

json without_version(json key) {
  for (const char* part : {"size", "state", "remote_version"}) key.erase(part);
  return key;
}

void pack_file(const std::shared_ptr<const storage::Source>& source, const std::vector<WantedColumn>& columns,
               const Transform& transform, const json& key, const std::filesystem::path& packed) {
  const std::string& url = source->url();
  const std::string name = net::without_secrets(url);
  const int64_t bytes = source->size();
  const int64_t read_before = source->bytes_read();
  if (bytes >= kBytesWorthSaying)
    log::info(fmt::format("[data] packing {} ({:.0f} MB) once, {}", name, static_cast<double>(bytes) / 1e6,
                          describe_reading(*source)));
  const OpenReader open = [&](const std::vector<WantedColumn>& asked) { return open_table_reader(source, asked); };
  std::unique_ptr<TableReader> reader;
  const Selected* selected = nullptr;
  if (transform.empty()) {
    reader = open(unzipped(columns));
  } else {
    auto transformed = std::make_unique<TransformedTable>(url, unzipped(columns), transform, open);
    selected = &transformed->selected();
    reader = std::move(transformed);
  }
  reader = zipped_rows(std::move(reader), url, columns);
  const bool counted = reader->events() >= 0;
  std::optional<Progress> progress;
  if (bytes >= kBytesWorthABar)
    progress.emplace("packing " + name.substr(name.rfind('/') + 1), counted ? reader->events() : bytes);

  Packer packer(packed, url, columns);
  std::vector<RaggedColumn> block;
  for (reader->next(block); !block[0].rows.empty(); reader->next(block)) {
    packer.add(block);
    piece_is_done();
    if (progress && counted) progress->update(packer.events(), "events");
    if (progress && !counted) progress->update(source->bytes_read() - read_before, "bytes");
  }
  const std::string fingerprint = fingerprint_of(*source);
  source->need_unchanged();
  json notes{{"key", key},
             {"format", format_of(*source).name},
             {"fingerprint", fingerprint},
             {"columns", describe(*reader, packer.facts())}};
  if (selected != nullptr) notes["selected"] = {{"stored", selected->stored}, {"passed", selected->passed}};
  packer.finish(notes.dump());
  if (source->is_ranged()) log::debug(fmt::format("[data] {}: read {} of {} bytes", name, source->bytes_read(), bytes));
}

}  // namespace linac::data
