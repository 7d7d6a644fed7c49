#include "linac/io/storage/http.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/cached_copy.h"
#include "linac/io/storage/http_request.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRoom = int64_t{1} << 30;  // what is made on a full disk for a file whose size is not told

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// One transfer into `part`.
struct Transfer {
  std::FILE* part = nullptr;
  std::optional<Validators> cached;  // the copy we have
  int64_t offset = 0;                // bytes of `part` from an earlier attempt
  PieceSummer sums;                  // of what is in `part`
  Validators seen;
  bool first_bytes = true;
  bool cached_is_current = false;
  bool no_space = false;  // left on the disk
  fs::path root;          // of the cache
  int64_t cache_bytes_max = 0;
};

Validators validators_of(const net::HttpAnswer& answer) {
  Validators found{answer.header("etag"), answer.header("last-modified")};
  const std::string length = answer.header("content-length");
  std::from_chars(length.data(), length.data() + length.size(), found.size);
  return found;
}

// The cache being too large for a while is no reason to fail.
void room_for(const Transfer& transfer, int64_t bytes) {
  try {
    make_room(transfer.root, transfer.cache_bytes_max, bytes);
  } catch (const Error& error) {
    log::warn(fmt::format("[storage] {}: {}", transfer.root.string(), error.what()));
  }
}

// False ends the transfer.
bool take(Transfer& transfer, const net::HttpAnswer& answer, std::string_view bytes) {
  if (transfer.first_bytes) {
    transfer.first_bytes = false;
    const Validators said = validators_of(answer);
    if (answer.status == 200 && transfer.cached && names_version(said) && same_content(*transfer.cached, said)) {
      transfer.cached_is_current = true;
      return false;
    }
    // The server may ignore the range and send everything.
    if (answer.status == 200 && transfer.offset > 0) {
      transfer.offset = 0;
      transfer.sums = {};
      std::rewind(transfer.part);
      if (::ftruncate(::fileno(transfer.part), 0) != 0) return false;
    }
    const int64_t size = validators_of(answer).size;
    if (answer.status == 200 && size > 0) room_for(transfer, size);
  }
  // The page that explains an error is not the file.
  if (answer.status != 200 && answer.status != 206) return true;
  const size_t written = std::fwrite(bytes.data(), 1, bytes.size(), transfer.part);
  transfer.sums.add(std::as_bytes(std::span(bytes)).first(written));
  transfer.no_space = written != bytes.size() && errno == ENOSPC;
  return written == bytes.size();
}

net::HttpAnswer request(net::HttpClient& http, const std::string& url, Transfer& transfer,
                        const std::string& partial_etag) {
  transfer.first_bytes = true;
  net::HttpRequest request{.url = request_url(url), .headers = token_headers(url)};
  if (transfer.offset > 0) {
    request.headers.push_back(fmt::format("Range: bytes={}-", transfer.offset));
    request.headers.push_back("If-Range: " + partial_etag);
  } else if (transfer.cached && !transfer.cached->etag.empty()) {
    request.headers.push_back("If-None-Match: " + transfer.cached->etag);
  } else if (transfer.cached && !transfer.cached->modified.empty()) {
    request.headers.push_back("If-Modified-Since: " + transfer.cached->modified);
  }
  request.receive = [&](const net::HttpAnswer& head, std::string_view bytes) {
    piece_is_done();
    return take(transfer, head, bytes);
  };
  net::HttpAnswer answer = http.perform(request);
  if (answer.status != 0) transfer.seen = validators_of(answer);
  if (answer.status == 304 && transfer.cached) transfer.cached_is_current = true;
  return answer;
}

/// Downloads into `part` until it is whole. False: the cached copy is still current.
bool transfer_with_retries(const std::string& url, std::FILE* part, Transfer& transfer) {
  net::HttpClient http(http_settings(url));
  for (int attempt = 1;; ++attempt) {
    const std::string partial_etag = transfer.seen.etag;
    transfer.offset = partial_etag.starts_with('"') ? std::ftell(part) : 0;
    if (transfer.offset == 0) {
      transfer.sums = {};
      std::rewind(part);
      if (::ftruncate(::fileno(part), 0) != 0) fail_to_write(url);
    }
    const net::HttpAnswer answer = request(http, url, transfer, partial_etag);
    if (transfer.cached_is_current) return false;
    const bool answered = answer.problem == net::HttpProblem::kNone;
    if (answered && (answer.status == 200 || answer.status == 206)) return true;
    // Nothing lies after our bytes, so they are not what the server has: from the start again.
    if (answer.status == 416) transfer.seen = {};
    if (transfer.no_space && attempt < kHttpAttempts &&
        free_bytes(transfer.root, transfer.seen.size > 0 ? transfer.seen.size : kRoom) > 0) {
      transfer.no_space = false;
      continue;
    }
    if (transfer.cached && answer.problem == net::HttpProblem::kUnreachable) {
      log::warn(
          fmt::format("[http] {}: the server cannot be reached; the cached copy is used", net::without_secrets(url)));
      return false;
    }
    if (attempt == kHttpAttempts || !net::worth_another_try(answer)) fail_request(url, answer);
    wait_for_attempt(url, answer, attempt);
  }
}

}  // namespace

fs::path download(const std::string& url, const fs::path& root) {
  Transfer transfer;
  transfer.root = root;
  transfer.cache_bytes_max = cache_bytes_max();
  CachedCopy copy(root, "http", url, url);
  transfer.cached = copy.known();
  std::unique_ptr<std::FILE, FileCloser> part(std::fopen(copy.part().c_str(), "wb"));
  if (!part && transfer.cached) {
    log::warn(fmt::format("[http] {}: the cache cannot be written; the copy in it is used as it is",
                          net::without_secrets(url)));
    return copy.file();
  }
  if (!part) copy.fail_to_write();
  transfer.part = part.get();
  if (!transfer_with_retries(url, part.get(), transfer)) return copy.file();

  const bool written = std::fflush(part.get()) == 0 && ::fsync(::fileno(part.get())) == 0;
  if (!written) copy.fail_to_write();
  transfer.seen.size = static_cast<int64_t>(fs::file_size(copy.part()));
  // Who reads the copy meanwhile keeps it.
  const bool known = transfer.cached && transfer.cached->size == transfer.seen.size && !names_version(transfer.seen) &&
                     fingerprint(copy.part()).content == fingerprint(copy.file()).content;
  if (known) return copy.file();
  // Where a full disk came between, not all that was summed up was written.
  const bool summed = transfer.sums.bytes() == transfer.seen.size;
  copy.put_in_place(transfer.seen, summed ? transfer.sums.finish() : piece_sums_of(copy.part()));
  return copy.file();
}

}  // namespace linac::storage
