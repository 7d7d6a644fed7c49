#include "linac/io/storage/streamed_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/log.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/http.h"
#include "linac/io/storage/neighbours/range_share.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int64_t kRoomBytes = int64_t{256} << 20;  // made at once on a full disk

void write_all(const CachedCopy& copy, int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == ENOSPC && free_bytes(cache_folder(), kRoomBytes) > 0) continue;
    if (put <= 0) copy.fail_to_write();
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

}  // namespace

PieceSums stream_into(const CachedCopy& copy, const std::shared_ptr<const Source>& source,
                      const std::function<void(std::span<const std::byte>)>& also) {
  const Descriptor part(::open(copy.part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!part) copy.fail_to_write();
  const auto stream = Source::stream(source);
  PieceSummer sums;
  std::vector<std::byte> room(kPieceBytes);
  for (size_t got = stream->read(room); got > 0; got = stream->read(room)) {
    const auto bytes = std::span<const std::byte>(room).first(got);
    sums.add(bytes);
    if (also) also(bytes);
    write_all(copy, part.get(), bytes);
  }
  if (::fsync(part.get()) != 0) copy.fail_to_write();
  return sums.finish();
}

std::filesystem::path streamed_local(const std::string& scheme, const std::string& key, const std::string& url) {
  CachedCopy copy(cache_folder(), scheme, key, url);
  try {
    const auto source = Source::open(url);
    const Validators said{.etag = source->version(), .modified = "", .size = source->size()};
    if (copy.known() && same_content(*copy.known(), said)) return copy.file();
    copy.put_in_place(said, stream_into(copy, source));
  } catch (const Unreachable&) {
    if (!copy.known()) throw;
    log::warn(fmt::format("[{}] {}: the server cannot be reached; the cached copy is used", scheme,
                          net::without_secrets(url)));
  }
  return copy.file();
}

std::filesystem::path http_local(const std::string& url) {
  if (range_share()) {
    try {
      if (!store_of(url).open(url)->version().empty()) return streamed_local("http", url, url);
    } catch (const Unreachable&) {  // a former copy may serve
    }
  }
  return download(url, cache_folder());
}

}  // namespace linac::storage
