#include "linac/io/storage/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/neighbours/range_share.h"
#include "linac/io/storage/read_ahead.h"
#include "linac/io/storage/read_width.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

}  // namespace

Source::Source(const std::string& url) : url_(url), is_remote_(storage::is_remote(url)) {}

std::shared_ptr<const Source> Source::of_file(const fs::path& path, const std::string& name) {
  const std::shared_ptr<Source> source(new Source(name));
  auto reader = file_store().open(path.string());
  source->path_ = path;
  source->state_ = quick_fingerprint(path);
  source->size_ = reader->size();
  source->idle_.push_back(reader.get());
  source->readers_.push_back(std::move(reader));
  return source;
}

std::shared_ptr<const Source> Source::open(const std::string& url) {
  if (!storage::is_remote(url)) return of_file(fetch(url), url);
  auto reader = store_of(url).open(url);
  if (reader->version().empty()) {
    log::info(fmt::format("[storage] {}: fetched whole: its server names no version of it, or sends no parts",
                          net::without_secrets(url)));
    return of_file(fetch(url), url);
  }
  const std::shared_ptr<Source> source(new Source(url));
  source->size_ = reader->size();
  source->version_ = reader->version();
  source->idle_.push_back(reader.get());
  source->readers_.push_back(std::move(reader));
  return source;
}

std::string version_hash(int64_t size, const std::string& version) {
  return content_hash(fmt::format("{} bytes of version {}", size, version));
}

std::string Source::version_hash() const {
  return storage::version_hash(size_, version_);
}

fs::path Source::local() const {
  return path_ ? *path_ : fetch(url_);
}

/// A reader that is nobody else's for a while.
class Source::Loan {
 public:
  explicit Loan(const Source& source) : source_(source) {
    const std::scoped_lock lock(source.mutex_);
    if (source.idle_.empty()) {
      auto more = source.readers_.front()->another();
      source.readers_.push_back(more ? std::move(more) : opened());
      reader_ = source.readers_.back().get();
    } else {
      reader_ = source.idle_.back();
      source.idle_.pop_back();
    }
  }
  ~Loan() {
    const std::scoped_lock lock(source_.mutex_);
    source_.idle_.push_back(reader_);
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  Reader* operator->() const { return reader_; }

 private:
  std::unique_ptr<Reader> opened() const {
    auto reader = store_of(source_.url_).open(source_.url_);
    if (reader->version() == source_.version_ && reader->size() == source_.size_) return reader;
    throw Changed(ErrorCode::kData,
                  fmt::format("[storage] {}: the file changed while it was read; run it again when nobody writes",
                              net::without_secrets(source_.url_)));
  }

  const Source& source_;
  Reader* reader_ = nullptr;
};

const std::string& Source::head() const {
  std::call_once(head_once_, [this] {
    std::string bytes(static_cast<size_t>(std::min(kHeadBytes, size_)), '\0');
    read(0, std::as_writable_bytes(std::span(bytes)));
    head_ = std::move(bytes);
  });
  return head_;
}

void Source::read(int64_t offset, std::span<std::byte> bytes) const {
  LINAC_CHECK(offset >= 0 && offset <= size_ && static_cast<int64_t>(bytes.size()) <= size_ - offset);
  if (bytes.empty()) return;
  read_shared({url_, version_, size_, offset, std::ssize(bytes)}, bytes,
              [&](std::span<std::byte> into) { read_at_store(offset, into); });
  bytes_read_ += static_cast<int64_t>(bytes.size());
  read_width().came(static_cast<int64_t>(bytes.size()));
}

void Source::read_at_store(int64_t offset, std::span<std::byte> bytes) const {
  Loan(*this)->read(offset, bytes);
}

class Source::Stream : public ByteStream {
 public:
  Stream(std::shared_ptr<const Source> source, int64_t begin, int64_t end)
      : source_(std::move(source)), end_(end), is_whole_(begin == 0 && end == source_->size()), offset_(begin) {
    LINAC_CHECK(begin >= 0 && begin <= end && end <= source_->size());
    if (source_->is_ranged()) ahead_.emplace(source_, std::vector<Piece>{{begin, end - begin}});
  }
  size_t read(std::span<std::byte> bytes) override {
    bytes = bytes.first(std::min(bytes.size(), static_cast<size_t>(end_ - offset_)));
    if (ahead_)
      ahead_->read(offset_, bytes);
    else
      source_->read(offset_, bytes);
    offset_ += static_cast<int64_t>(bytes.size());
    if (!is_whole_) return bytes.size();
    hash_.add(bytes);
    if (offset_ == end_) {
      const std::scoped_lock lock(source_->mutex_);
      source_->streamed_content_ = hash_.text();
    }
    return bytes.size();
  }

 private:
  const std::shared_ptr<const Source> source_;
  const int64_t end_;
  const bool is_whole_;
  std::optional<ReadAhead> ahead_;
  ContentHash hash_;
  int64_t offset_;
};

std::unique_ptr<ByteStream> Source::stream(const std::shared_ptr<const Source>& source) {
  return stream(source, 0, source->size());
}

std::unique_ptr<ByteStream> Source::stream(const std::shared_ptr<const Source>& source, int64_t begin, int64_t end) {
  return std::make_unique<Stream>(source, begin, end);
}

std::string Source::streamed_content() const {
  const std::scoped_lock lock(mutex_);
  return streamed_content_;
}

void Source::need_unchanged() const {
  if (!path_) return;
  const Fingerprint now = quick_fingerprint(*path_);
  if (now.is_state_of(state_)) return;
  throw data_error(fmt::format("[data] {}: the file changed while it was read; start again when it is complete", url_));
}

}  // namespace linac::storage
