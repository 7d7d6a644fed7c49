#include "linac/storage/http.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
#include "linac/storage/file_lock.h"
#include "linac/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 4;
constexpr std::chrono::milliseconds kFirstBackoff{250};  // doubled after each failed attempt
constexpr long kConnectTimeout_s = 15;
constexpr long kStallTimeout_s = 30;  // without a byte
constexpr long kRedirectsMax = 8;
constexpr size_t kNameLengthMax = 80;

/// What the server says about the content; what a cached copy is compared by.
struct Validators {
  std::string etag, modified;
  int64_t size = -1;
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// One transfer into `part`, with what curl's callbacks need.
struct Transfer {
  std::FILE* part = nullptr;
  std::optional<Validators> cached;  // the copy we have
  int64_t offset = 0;                // bytes of `part` from an earlier attempt
  Validators seen;
  long status = 0;
  bool first_bytes = true;
  bool cached_is_current = false;
  CURL* curl = nullptr;
};

/// The URL without what may be secret in it: the user's name and password, and the query of a signed address.
std::string shown(const std::string& url) {
  std::string text = url.substr(0, url.find_first_of("?#"));
  const size_t host = text.find("://") + 3;
  const size_t at = text.find('@', host);
  if (at < text.find('/', host)) text.erase(host, at + 1 - host);
  return text;
}

bool same_content(const Validators& a, const Validators& b) {
  if (!a.etag.empty() || !b.etag.empty()) return a.etag == b.etag;
  return a.size >= 0 && a.size == b.size && a.modified == b.modified;
}

size_t on_header(char* data, size_t one, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  std::string_view line(data, one * size);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  // A redirect's headers come before the answer's.
  if (line.starts_with("HTTP/")) transfer.seen = {};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "etag") transfer.seen.etag = value;
  if (name == "last-modified") transfer.seen.modified = value;
  if (name == "content-length") std::from_chars(value.data(), value.data() + value.size(), transfer.seen.size);
  return size;
}

size_t on_body(char* data, size_t one, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (transfer.first_bytes) {
    transfer.first_bytes = false;
    curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &transfer.status);
    if (transfer.status == 200 && transfer.cached && same_content(*transfer.cached, transfer.seen)) {
      transfer.cached_is_current = true;
      return 0;
    }
    // The server may ignore the range and send everything.
    if (transfer.status == 200 && transfer.offset > 0) {
      transfer.offset = 0;
      std::rewind(transfer.part);
      if (::ftruncate(::fileno(transfer.part), 0) != 0) return 0;
    }
  }
  // The page that explains an error is not the file.
  if (transfer.status != 200 && transfer.status != 206) return size;
  return std::fwrite(data, one, size, transfer.part);
}

using Curl = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

Curl make_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  Curl curl(once == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
  if (!curl) throw environment_error("[http] libcurl cannot start; check its installation");
  return curl;
}

/// Runs one request; the status of the answer is in `transfer`.
CURLcode request(const std::string& url, Transfer& transfer, const std::string& partial_etag) {
  const Curl curl = make_curl();
  transfer.curl = curl.get();
  transfer.first_bytes = true;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, kRedirectsMax);
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectTimeout_s);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStallTimeout_s);
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "linac");
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);

  curl_slist* list = nullptr;
  const auto add = [&list](const std::string& header) { list = curl_slist_append(list, header.c_str()); };
  if (transfer.offset > 0) {
    add(fmt::format("Range: bytes={}-", transfer.offset));
    add("If-Range: " + partial_etag);
  } else if (transfer.cached && !transfer.cached->etag.empty()) {
    add("If-None-Match: " + transfer.cached->etag);
  } else if (transfer.cached && !transfer.cached->modified.empty()) {
    add("If-Modified-Since: " + transfer.cached->modified);
  }
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, curl_slist_free_all);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  const CURLcode code = curl_easy_perform(curl.get());
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &transfer.status);
  if (transfer.status == 304 && transfer.cached) transfer.cached_is_current = true;
  return code;
}

bool worth_another_try(CURLcode code, long status) {
  switch (code) {
    case CURLE_OK:
      return status >= 500 || status == 408 || status == 416 || status == 429;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WRITE_ERROR:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
      return false;
    default:
      return true;
  }
}

[[noreturn]] void fail(const std::string& url, CURLcode code, long status) {
  if (code == CURLE_WRITE_ERROR) {
    throw environment_error(
        fmt::format("[http] {}: cannot be written into the cache; check the space under {} or set "
                    "LINAC_CACHE",
                    url, cache_folder().string()));
  }
  if (code != CURLE_OK) {
    throw environment_error(
        fmt::format("[http] {}: {} (after {} attempts where that can help); check the address and "
                    "the network",
                    url, curl_easy_strerror(code), kAttempts));
  }
  const std::string message = fmt::format("[http] {}: the server answers {}", shown(url), status);
  if (status == 401 || status == 403) throw data_error(message + " (access denied); use a URL that needs no login");
  if (status >= 400 && status < 500) throw data_error(message + " (no such file there); check the address");
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
  auto backoff = kFirstBackoff;
  for (int attempt = 1;; ++attempt) {
    const std::string partial_etag = transfer.seen.etag;
    transfer.offset = partial_etag.starts_with('"') ? std::ftell(part) : 0;
    if (transfer.offset == 0) {
      std::rewind(part);
      if (::ftruncate(::fileno(part), 0) != 0) fail(url, CURLE_WRITE_ERROR, 0);
    }
    const CURLcode code = request(url, transfer, partial_etag);
    if (transfer.cached_is_current) return false;
    if (code == CURLE_OK && (transfer.status == 200 || transfer.status == 206)) return true;
    // Nothing lies after our bytes, so they are not what the server has: from the start again.
    if (transfer.status == 416) transfer.seen = {};
    const bool unreachable = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
    if (transfer.cached && unreachable) {
      log::warn(fmt::format("[http] {}: the server cannot be reached; the cached copy is used", shown(url)));
      return false;
    }
    if (attempt == kAttempts || !worth_another_try(code, transfer.status)) fail(url, code, transfer.status);
    log::warn(fmt::format("[http] {}: {}; attempt {} of {} in {} ms", shown(url),
                          code == CURLE_OK ? fmt::format("the server answers {}", transfer.status)
                                           : std::string(curl_easy_strerror(code)),
                          attempt + 1, kAttempts, backoff.count()));
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
  if (!part) fail(url, CURLE_WRITE_ERROR, 0);
  const auto remove_part = [&](void*) {
    std::error_code error;
    fs::remove(part_path, error);
  };
  const std::unique_ptr<void, decltype(remove_part)> cleanup(&transfer, remove_part);
  transfer.part = part.get();
  if (!transfer_with_retries(url, part.get(), transfer)) return file;

  const bool written = std::fflush(part.get()) == 0 && ::fsync(::fileno(part.get())) == 0;
  if (!written) fail(url, CURLE_WRITE_ERROR, 0);
  const auto size = static_cast<int64_t>(fs::file_size(part_path));
  // The old copy goes first: it must never stand beside the note of the new one.
  const nlohmann::json note{{"etag", transfer.seen.etag}, {"modified", transfer.seen.modified}, {"size", size}};
  std::error_code error;
  fs::remove(file, error);
  write_file_atomically(sidecar, note.dump());
  fs::rename(part_path, file, error);
  if (error) fail(url, CURLE_WRITE_ERROR, 0);
  return file;
}

}  // namespace linac::storage
