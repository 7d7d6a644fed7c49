#include "linac/storage/http.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/net/http_client.h"
#include "linac/storage/file_lock.h"
#include "linac/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 4;
constexpr std::chrono::milliseconds kFirstBackoff{250};  // doubled after each failed attempt
constexpr int kRedirectsMax = 8;
constexpr size_t kNameLengthMax = 80;

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
  }
  // The page that explains an error is not the file.
  if (answer.status != 200 && answer.status != 206) return true;
  return std::fwrite(bytes.data(), 1, bytes.size(), transfer.part) == bytes.size();
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
  request.receive = [&](const net::HttpAnswer& head, std::string_view bytes) { return take(transfer, head, bytes); };
  net::HttpAnswer answer = http.perform(request);
  if (answer.status != 0) transfer.seen = validators_of(answer);
  if (answer.status == 304 && transfer.cached) transfer.cached_is_current = true;
  return answer;
}

[[noreturn]] void fail_to_write(const std::string& url) {
  throw environment_error(
      fmt::format("[http] {}: cannot be written into the cache; check the space under {} or set "
                  "LINAC_CACHE",
                  url, cache_folder().string()));
}

[[noreturn]] void fail(const std::string& url, const net::HttpAnswer& answer) {
  if (answer.problem == net::HttpProblem::kRefused) fail_to_write(url);
  if (answer.problem != net::HttpProblem::kNone) {
    throw environment_error(
        fmt::format("[http] {}: {} (after {} attempts where that can help); check the address and "
                    "the network",
                    url, answer.what, kAttempts));
  }
  const std::string message = fmt::format("[http] {}: the server answers {}", net::without_secrets(url), answer.status);
  if (answer.status == 401 || answer.status == 403)
    throw data_error(message + " (access denied); use a URL that needs no login");
  if (answer.status >= 400 && answer.status < 500)
    throw data_error(message + " (no such file there); check the address");
  throw environment_error(fmt::format("{} after {} attempts; try again later", message, kAttempts));
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
  net::HttpClient http({.redirects_max = kRedirectsMax});
  auto backoff = kFirstBackoff;
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
    if (transfer.cached && answer.problem == net::HttpProblem::kUnreachable) {
      log::warn(
          fmt::format("[http] {}: the server cannot be reached; the cached copy is used", net::without_secrets(url)));
      return false;
    }
    if (attempt == kAttempts || !net::worth_another_try(answer)) fail(url, answer);
    log::warn(fmt::format("[http] {}: {}; attempt {} of {} in {} ms", net::without_secrets(url),
                          answered ? fmt::format("the server answers {}", answer.status) : answer.what, attempt + 1,
                          kAttempts, backoff.count()));
    std::this_thread::sleep_for(backoff);
    backoff *= 2;
  }
}

}  // namespace

fs::path download(const std::string& url, const fs::path& folder) {
  make_folder(folder);
  const fs::path file = folder / (content_hash(url).substr(0, 16) + "-" + readable_name(url));
  const fs::path sidecar = file.string() + ".json";
  const fs::path part_path = file.string() + ".part";
  const FileLock lock(file.string() + ".lock");

  Transfer transfer;
  transfer.cached = read_validators(file, sidecar);
  std::unique_ptr<std::FILE, FileCloser> part(std::fopen(part_path.c_str(), "wb"));
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
  return file;
}

}  // namespace linac::storage
