#include "linac/data/pack_file.h"

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

#include "linac/base/atomic_file.h"
#include "linac/base/descriptor.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/piece_of_work.h"
#include "linac/base/progress.h"
#include "linac/data/column_facts.h"
#include "linac/data/file_format.h"
#include "linac/data/packed_table.h"
#include "linac/data/transform/table.h"
#include "linac/net/http_client.h"
#include "linac/storage/cache.h"

namespace linac::data {
namespace {

using nlohmann::json;

// Raise when what is stored changes its meaning.
constexpr int kVersion = 2;
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

  template <class T>
  void write(std::span<const T> items) {
    const auto bytes = std::as_bytes(items);
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (waiting_.size() >= kWrittenBytes) flush();
  }
  void close() {
    flush();
    file_.reset();
    need(in_place_ = put_in_place(part_, path_));
  }

 private:
  void flush() {
    for (std::span<const std::byte> left = waiting_; !left.empty();) {
      const ssize_t n = ::write(file_.get(), left.data(), left.size());
      const int reason = errno;
      if (n < 0 && reason == EINTR) continue;
      if (n < 0 && reason == ENOSPC && storage::free_bytes(storage::cache_folder(), kRoomBytes) > 0) continue;
      errno = reason;
      need(n > 0);
      left = left.subspan(static_cast<size_t>(n));
    }
    waiting_.clear();
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
  std::vector<std::byte> waiting_;
  bool in_place_ = false;
};

bool all_finite(std::span<const float> values) {
  // Without a branch, so that the compiler can vectorise.
  bool finite = true;
  for (const float value : values) finite &= std::abs(value) <= std::numeric_limits<float>::max();
  return finite;
}

uint32_t rows_without_padding(std::span<const float> values, uint32_t rows, size_t row_size) {
  size_t end = rows * row_size;
  while (end > 0 && values[end - 1] == 0) --end;
  return static_cast<uint32_t>((end + row_size - 1) / row_size);
}

/// Takes blocks of events and writes them.
class Packer {
 public:
  Packer(const std::filesystem::path& packed, const std::string& url, const std::vector<WantedColumn>& columns)
      : url_(url), columns_(columns), out_(packed), facts_(columns.size()) {}

  int64_t events() const { return static_cast<int64_t>(ends_.size()); }

  void add(const std::vector<RaggedColumn>& block) {
    std::vector<size_t> places(columns_.size(), 0);
    for (size_t event = 0; event < block[0].rows.size(); ++event) {
      record_.clear();
      for (size_t column = 0; column < columns_.size(); ++column) {
        const uint32_t rows = block[column].rows[event];
        const size_t count = rows * static_cast<size_t>(columns_[column].row_size());
        add_values(column, std::span(block[column].values).subspan(places[column], count), rows);
        places[column] += count;
      }
      out_.write(std::span<const float>(record_));
      hashes_.push_back(storage::checksum(std::as_bytes(std::span<const float>(record_))));
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + record_.size());
    }
  }

  const std::vector<ColumnFacts>& facts() const { return facts_; }

  void finish(const std::string& notes) {
    PackTrailer trailer{.values = ends_.empty() ? 0 : ends_.back(),
                        .events = ends_.size(),
                        .columns = columns_.size(),
                        .notes_bytes = notes.size(),
                        .hash = {},
                        .signature = kPackSignature};
    const float nothing = 0;
    if (trailer.values % 2 != 0) out_.write(std::span(&nothing, 1));
    std::string index;
    const auto append = [&](const auto& items) {
      index.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(items[0]));
    };
    append(ends_);
    append(hashes_);
    append(rows_);
    append(notes);
    const std::string hash = storage::content_hash(index);
    std::copy(hash.begin(), hash.end(), trailer.hash.begin());
    out_.write(std::span<const char>(index));
    out_.write(std::span<const PackTrailer>(&trailer, 1));
    out_.close();
  }

 private:
  void add_values(size_t column, std::span<const float> values, uint32_t rows) {
    const WantedColumn& wanted = columns_[column];
    if (!all_finite(values)) refuse(wanted, values);
    const auto row_size = static_cast<size_t>(wanted.row_size());
    if (zero_rows_pad(wanted)) rows = rows_without_padding(values, rows, row_size);
    rows_.push_back(rows);
    values = values.first(rows * row_size);
    facts_[column].add(values);
    record_.insert(record_.end(), values.begin(), values.end());
  }

  [[noreturn]] void refuse(const WantedColumn& wanted, std::span<const float> values) const {
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    throw data_error(
        fmt::format("[data] {}: event {}: column '{}' holds {} (value {} of the event); remove the event or "
                    "write the file again",
                    url_, events(), wanted.name, *bad, bad - values.begin()));
  }

  const std::string& url_;
  const std::vector<WantedColumn>& columns_;
  Output out_;
  std::vector<float> record_;
  std::vector<uint64_t> ends_, hashes_;
  std::vector<uint32_t> rows_;
  std::vector<ColumnFacts> facts_;
};

json wanted_of(const std::vector<WantedColumn>& columns) {
  json wanted = json::array();
  for (const WantedColumn& column : columns) {
    const size_t lists = column.shape.empty() ? 0 : 1;
    wanted.push_back({{"name", column.name},
                      {"row", std::vector(column.shape.begin() + static_cast<int64_t>(lists), column.shape.end())},
                      {"zero_rows_pad", zero_rows_pad(column)}});
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
  return pack_values_bytes(trailer.values) + pack_index_bytes(trailer.events, trailer.columns) + trailer.notes_bytes +
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
    key["mtime_ns"] = source.state().mtime_ns;
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
  for (const char* part : {"size", "mtime_ns", "remote_version"}) key.erase(part);
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
    reader = open(columns);
  } else {
    auto transformed = std::make_unique<TransformedTable>(url, columns, transform, open);
    selected = &transformed->selected();
    reader = std::move(transformed);
  }
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
  source->need_unchanged();
  json notes{{"key", key},
             {"format", to_string(format_of(*source))},
             {"fingerprint", fingerprint_of(*source)},
             {"columns", describe(*reader, packer.facts())}};
  if (selected != nullptr) notes["selected"] = {{"stored", selected->stored}, {"passed", selected->passed}};
  packer.finish(notes.dump());
  if (source->is_ranged()) log::debug(fmt::format("[data] {}: read {} of {} bytes", name, source->bytes_read(), bytes));
}

}  // namespace linac::data
