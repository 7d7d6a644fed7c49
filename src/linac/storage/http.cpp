#include "linac/storage/http.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/piece_of_work.h"
#include "linac/storage/cache.h"
#include "linac/storage/file_lock.h"
#include "linac/storage/http_request.h"
#include "linac/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameLengthMax = 80;
constexpr int64_t kRoom = int64_t{1} << 30;  // what is made on a full disk for a file whose size is not told

/// What the server says about the content; what a cached copy is compared by.
struct Validators {
  std::string etag, modified;
  int64_t size = -1;
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// One transfer into `part`.
struct Transfer {
  std::FILE* part = nullptr;
  std::optional<Validators> cached;  // the copy we have
  int64_t offset = 0;                // bytes of `part` from an earlier attempt
  Validators seen;
  bool first_bytes = true;
  bool cached_is_current = false;
  bool no_space = false;  // left on the disk
  fs::path root;          // of the cache
  int64_t cache_bytes_max = 0;
};

bool same_content(const Validators& a, const Validators& b) {
  if (!a.etag.empty() || !b.etag.empty()) return a.etag == b.etag;
  return a.size >= 0 && a.size == b.size && a.modified == b.modified;
}

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
    if (answer.status == 200 && transfer.cached && same_content(*transfer.cached, validators_of(answer))) {
      transfer.cached_is_current = true;
      return false;
    }
    // The server may ignore the range and send everything.
    if (answer.status == 200 && transfer.offset > 0) {
      transfer.offset = 0;
      std::rewind(transfer.part);
      if (::ftruncate(::fileno(transfer.part), 0) != 0) return false;
    }
    const int64_t size = validators_of(answer).size;
    if (answer.status == 200 && size > 0) room_for(transfer, size);
  }
  // The page that explains an error is not the file.
  if (answer.status != 200 && answer.status != 206) return true;
  const size_t written = std::fwrite(bytes.data(), 1, bytes.size(), transfer.part);
  transfer.no_space = written != bytes.size() && errno == ENOSPC;
  return written == bytes.size();
}

net::HttpAnswer request(net::HttpClient& http, const std::string& url, Transfer& transfer,
                        const std::string& partial_etag) {
  transfer.first_bytes = true;
  net::HttpRequest request{.url = url};
  if (transfer.offset > 0) {
    request.headers = {fmt::format("Range: bytes={}-", transfer.offset), "If-Range: " + partial_etag};
  } else if (transfer.cached && !transfer.cached->etag.empty()) {
    request.headers = {"If-None-Match: " + transfer.cached->etag};
  } else if (transfer.cached && !transfer.cached->modified.empty()) {
    request.headers = {"If-Modified-Since: " + transfer.cached->modified};
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

/// The last part of the URL's path, so that a human can read the cache folder.
std::string readable_name(const std::string& url) {
  std::string name = url.substr(0, url.find_first_of("?#"));
  name = name.substr(name.find_last_of('/') + 1);
  if (name.size() > kNameLengthMax) name = name.substr(name.size() - kNameLengthMax);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  }
  return name;
}

std::optional<Validators> read_validators(const fs::path& file, const fs::path& sidecar) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(read_file(sidecar));
    Validators found{json.at("etag"), json.at("modified"), json.at("size")};
    if (found.size == static_cast<int64_t>(size)) return found;
  } catch (const std::exception&) {
    // A damaged note only costs another download.
  }
  return std::nullopt;
}

/// Downloads into `part` until it is whole. False: the cached copy is still current.
bool transfer_with_retries(const std::string& url, std::FILE* part, Transfer& transfer) {
  net::HttpClient http(http_settings());
  for (int attempt = 1;; ++attempt) {
    const std::string partial_etag = transfer.seen.etag;
    transfer.offset = partial_etag.starts_with('"') ? std::ftell(part) : 0;
    if (transfer.offset == 0) {
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
  const fs::path folder = root / "http";
  Transfer transfer;
  transfer.root = root;
  transfer.cache_bytes_max = cache_bytes_max();
  make_folder(folder);
  const fs::path file = folder / (content_hash(url).substr(0, 16) + "-" + readable_name(url));
  const fs::path sidecar = file.string() + ".json";
  const fs::path part_path = file.string() + ".part";
  const FileLock lock(file.string() + ".lock");
  use_cached(file, root);

  transfer.cached = read_validators(file, sidecar);
  std::unique_ptr<std::FILE, FileCloser> part(std::fopen(part_path.c_str(), "wb"));
  if (!part && transfer.cached) {
    log::warn(fmt::format("[http] {}: the cache cannot be written; the copy in it is used as it is",
                          net::without_secrets(url)));
    return file;
  }
  if (!part) fail_to_write(url);
  const auto remove_part = [&](void*) {
    std::error_code error;
    fs::remove(part_path, error);
  };
  const std::unique_ptr<void, decltype(remove_part)> cleanup(&transfer, remove_part);
  transfer.part = part.get();
  if (!transfer_with_retries(url, part.get(), transfer)) return file;

  const bool written = std::fflush(part.get()) == 0 && ::fsync(::fileno(part.get())) == 0;
  if (!written) fail_to_write(url);
  const auto size = static_cast<int64_t>(fs::file_size(part_path));
  // The old copy goes first: it must never stand beside the note of the new one.
  const nlohmann::json note{{"etag", transfer.seen.etag}, {"modified", transfer.seen.modified}, {"size", size}};
  std::error_code error;
  fs::remove(file, error);
  write_file_atomically(sidecar, note.dump());
  fs::rename(part_path, file, error);
  if (error) fail_to_write(url);
  make_room(root, transfer.cache_bytes_max);
  return file;
}

}  // namespace linac::storage
