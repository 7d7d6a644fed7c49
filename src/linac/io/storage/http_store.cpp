#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/http.h"
#include "linac/io/storage/http_request.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/stores.h"
#include "linac/io/storage/streamed_copy.h"

namespace linac::storage {
namespace {

constexpr int64_t kSlowBytesPerS = 1024;  // fewer are no transfer: another connection does better

/// What the server says of a file.
struct FileState {
  int64_t size = -1;
  std::string etag, modified;
  bool has_ranges = true;
};

net::HttpSettings reader_settings(const std::string& url) {
  net::HttpSettings settings = http_settings(url);
  settings.stall_bytes_per_s = kSlowBytesPerS;
  return settings;
}

int64_t number_in(std::string_view text) {
  int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "bytes 0-9/1234": 1234.
int64_t whole_size(const net::HttpAnswer& answer) {
  const std::string range = answer.header("content-range");
  const size_t slash = range.rfind('/');
  return slash == std::string::npos ? -1 : number_in(std::string_view(range).substr(slash + 1));
}

FileState state_of(const net::HttpAnswer& answer, int64_t size) {
  return {size, answer.header("etag"), answer.header("last-modified"), answer.status == 206};
}

/// Asks for the first byte alone: a signed address may be good for GET only, and the answer says whether parts are
/// sent.
FileState look(net::HttpClient& http, const std::string& url) {
  for (int attempt = 1;; ++attempt) {
    net::HttpRequest request{.url = request_url(url), .headers = token_headers(url)};
    request.headers.emplace_back("Range: bytes=0-0");
    request.receive = [](const net::HttpAnswer& head, std::string_view) { return head.status != 200; };
    net::HttpAnswer answer = http.perform(request);
    const bool whole = answer.status == 200 && answer.problem == net::HttpProblem::kRefused;
    const bool answered = whole || answer.problem == net::HttpProblem::kNone;
    if (answered && answer.status == 200) return state_of(answer, number_in(answer.header("content-length")));
    if (answered && answer.status == 206 && whole_size(answer) >= 0) return state_of(answer, whole_size(answer));
    if (answered && answer.status == 416 && whole_size(answer) == 0) return state_of(answer, 0);
    if (answered && (answer.status == 206 || answer.status == 416)) {  // and it does not say the size
      FileState state = state_of(answer, -1);
      answer = http.perform({.url = request_url(url), .method = "HEAD", .headers = token_headers(url)});
      if (answer.problem == net::HttpProblem::kNone && answer.status == 200) {
        state.size = number_in(answer.header("content-length"));
        return state;
      }
    }
    // Some servers break off when they are asked for the first byte of an empty file.
    if (answer.problem == net::HttpProblem::kBroken && answer.status / 100 == 2) {
      const net::HttpAnswer head =
          http.perform({.url = request_url(url), .method = "HEAD", .headers = token_headers(url)});
      if (head.status == 200 && number_in(head.header("content-length")) == 0) return state_of(head, 0);
    }
    if (attempt == kHttpAttempts || !net::worth_another_try(answer)) fail_request(url, answer);
    wait_for_attempt(url, answer, attempt);
  }
}

class HttpReader : public Reader {
 public:
  explicit HttpReader(const std::string& url) : url_(url), http_(reader_settings(url)), state_(look(http_, url)) {
    if (state_.size < 0)
      throw data_error(fmt::format("[http] {}: the server does not say the file's size", net::without_secrets(url)));
  }
  HttpReader(const std::string& url, FileState state)
      : url_(url), http_(reader_settings(url)), state_(std::move(state)) {}

  int64_t size() const override { return state_.size; }
  std::string version() const override {
    if (!state_.has_ranges) return {};
    return state_.etag.empty() ? state_.modified : state_.etag;
  }
  std::unique_ptr<Reader> another() const override { return std::make_unique<HttpReader>(url_, state_); }

  void read(int64_t offset, std::span<std::byte> bytes) override {
    if (offset < 0 || offset + static_cast<int64_t>(bytes.size()) > state_.size)
      throw data_error(
          fmt::format("[http] {}: ends at byte {}, and more is asked for", net::without_secrets(url_), state_.size));
    for (int failed = 0; !bytes.empty();) {
      size_t got = 0;
      net::HttpAnswer answer = ask(offset, bytes, got);
      offset += static_cast<int64_t>(got);
      bytes = bytes.subspan(got);
      if (bytes.empty()) return;
      // What has come stays, and the attempts begin anew.
      if (got > 0) failed = 0;
      if (answer.problem == net::HttpProblem::kNone && answer.status == 206) {
        answer.problem = net::HttpProblem::kBroken;
        answer.what = "the server sends less than was asked for";
      }
      if (++failed == kHttpAttempts || answer.status == 416 || !net::worth_another_try(answer))
        fail_request(url_, answer);
      wait_for_attempt(url_, answer, failed);
    }
  }

 private:
  // One attempt; `got`: how many of the bytes came.
  net::HttpAnswer ask(int64_t offset, std::span<std::byte> bytes, size_t& got) {
    net::HttpRequest request{.url = request_url(url_), .headers = token_headers(url_)};
    request.headers.push_back(
        fmt::format("Range: bytes={}-{}", offset, offset + static_cast<int64_t>(bytes.size()) - 1));
    bool whole = false, fits = true, changed = false;
    // A server without ranges sends the whole file: no. The page that explains an error is not the file.
    request.receive = [&](const net::HttpAnswer& head, std::string_view piece) {
      piece_is_done();
      changed = is_another(head);
      whole = head.status == 200;
      if (whole || changed) return false;
      if (head.status != 206) return true;
      const std::string range = head.header("content-range");
      fits =
          piece.size() <= bytes.size() - got && (range.empty() || range.starts_with(fmt::format("bytes {}-", offset)));
      if (!fits) return false;
      std::memcpy(bytes.data() + got, piece.data(), piece.size());
      got += piece.size();
      return true;
    };
    net::HttpAnswer answer = http_.perform(request);
    const std::string name = net::without_secrets(url_);
    if (changed)
      throw Changed(
          ErrorCode::kData,
          fmt::format("[http] {}: the file changed while it was read; run it again when nobody writes", name));
    if (whole) throw data_error(fmt::format("[http] {}: the server sends no parts of files; work with a copy", name));
    if (!fits)
      throw data_error(
          fmt::format("[http] {}: the server sends other bytes than it was asked for; work with a copy", name));
    return answer;
  }

  bool is_another(const net::HttpAnswer& head) const {
    if (head.status != 200 && head.status != 206) return false;
    const int64_t size = head.status == 206 ? whole_size(head) : number_in(head.header("content-length"));
    if (size >= 0 && size != state_.size) return true;
    const std::string etag = head.header("etag"), modified = head.header("last-modified");
    if (!state_.etag.empty() && !etag.empty()) return etag != state_.etag;
    return !state_.modified.empty() && !modified.empty() && modified != state_.modified;
  }

  const std::string url_;
  net::HttpClient http_;
  FileState state_;
};

class HttpStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override { return {pattern}; }
  std::vector<Listed> list(const std::string& folder) const override {
    throw user_error(
        fmt::format("[http] {}: http has no listings; name the files one by one", net::without_secrets(folder)));
  }
  int64_t size(const std::string& url) const override { return open(url)->size(); }
  std::unique_ptr<Reader> open(const std::string& url) const override { return open_http(url); }
  std::filesystem::path local(const std::string& url) const override { return http_local(url); }
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

std::unique_ptr<Reader> open_http(const std::string& url) {
  return std::make_unique<HttpReader>(url);
}

const Store& http_store() {
  static const HttpStore store;
  return store;
}

}  // namespace linac::storage
