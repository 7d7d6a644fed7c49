#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "linac/base/error.h"
#include "linac/storage/http.h"
#include "linac/storage/http_request.h"
#include "linac/storage/storage.h"
#include "linac/storage/stores.h"

namespace linac::storage {
namespace {

/// The answer to a request for a part of a file, or for what is said of it.
struct Answer {
  int64_t size = -1;  // of the whole file, as the answer to HEAD says it
  size_t got = 0;
};

// The size with HEAD where `bytes` is empty, else bytes from `offset` on.
Answer ask(const std::string& url, int64_t offset, std::span<std::byte> bytes) {
  net::HttpClient http(http_settings());
  for (int attempt = 1;; ++attempt) {
    Answer found;
    net::HttpRequest request{.url = url};
    if (bytes.empty())
      request.method = "HEAD";
    else
      request.headers = {fmt::format("Range: bytes={}-{}", offset, offset + static_cast<int64_t>(bytes.size()) - 1)};
    // A server without ranges sends the whole file: no. The page that explains an error is not the file.
    request.receive = [&](const net::HttpAnswer& head, std::string_view piece) {
      if (head.status == 200 || piece.size() > bytes.size() - found.got) return false;
      if (head.status != 206) return true;
      std::memcpy(bytes.data() + found.got, piece.data(), piece.size());
      found.got += piece.size();
      return true;
    };
    const net::HttpAnswer answer = http.perform(request);
    const std::string length = answer.header("content-length");
    std::from_chars(length.data(), length.data() + length.size(), found.size);
    const bool answered = answer.problem == net::HttpProblem::kNone;
    if (answered && answer.status == (bytes.empty() ? 200 : 206)) return found;
    if (!bytes.empty() && answer.status == 200) {
      throw data_error(
          fmt::format("[http] {}: the server sends no parts of files; work with a copy", net::without_secrets(url)));
    }
    if (attempt == kHttpAttempts || !net::worth_another_try(answer)) fail_request(url, answer);
    wait_for_attempt(url, answer, attempt);
  }
}

class HttpReader : public Reader {
 public:
  explicit HttpReader(const std::string& url) : url_(url), size_(ask(url, 0, {}).size) {
    if (size_ < 0)
      throw data_error(fmt::format("[http] {}: the server does not say the file's size", net::without_secrets(url)));
  }
  int64_t size() const override { return size_; }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    if (bytes.empty()) return;
    if (offset < 0 || offset + static_cast<int64_t>(bytes.size()) > size_)
      throw data_error(
          fmt::format("[http] {}: ends at byte {}, and more is asked for", net::without_secrets(url_), size_));
    if (ask(url_, offset, bytes).got != bytes.size())
      throw data_error(fmt::format("[http] {}: the server sends less than was asked for", net::without_secrets(url_)));
  }

 private:
  std::string url_;
  int64_t size_;
};

class HttpStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override { return {pattern}; }
  std::vector<Listed> list(const std::string& folder) const override {
    throw user_error(
        fmt::format("[http] {}: http has no listings; name the files one by one", net::without_secrets(folder)));
  }
  int64_t size(const std::string& url) const override { return open(url)->size(); }
  std::unique_ptr<Reader> open(const std::string& url) const override { return std::make_unique<HttpReader>(url); }
  std::filesystem::path local(const std::string& url) const override { return download(url, cache_folder()); }
  void write(const std::string& url, std::string_view) const override { refuse_change(url); }
  void put(const std::string& url, const std::filesystem::path&) const override { refuse_change(url); }
  void need_writable(const std::string& url) const override { refuse_change(url); }
  void remove(const std::string& url) const override { refuse_change(url); }

 private:
  [[noreturn]] static void refuse_change(const std::string& url) {
    throw user_error(
        fmt::format("[http] {}: what http(s) serves is only read; give a path to write to", net::without_secrets(url)));
  }
};

}  // namespace

const Store& http_store() {
  static const HttpStore store;
  return store;
}

}  // namespace linac::storage
