#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/levels.h"
#include "linac/io/storage/sending.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/stores.h"
#include "linac/io/storage/streamed_copy.h"
#include "linac/io/storage/xrootd/library.h"

namespace linac::storage {
namespace {

using xrootd::Outcome;
using xrootd::Result;
using xrootd::State;

constexpr uint32_t kPieceBytes = 8U << 20;
constexpr int kAttempts = 4;
constexpr std::chrono::milliseconds kFirstWait{500};  // doubled after each failed attempt

struct Place {
  std::string server;  // "root://host:1094"
  std::string path;    // "/folder/file"
  std::string url() const { return server + "/" + path; }
};

/// root://HOST[:PORT]//PATH, as XRootD has it; one slash is as good. A question mark stands in patterns only: behind it
/// the client has other things than names.
Place pattern_of(const std::string& url) {
  const size_t host = url.find("://") + 3;
  const size_t slash = std::min(url.find('/', host), url.size());
  const size_t path = std::min(url.find_first_not_of('/', slash), url.size());
  if (slash == host || path == url.size() || url.find('@', host) < slash ||
      url.find_first_of("\r\n") != std::string::npos)
    throw user_error(
        fmt::format("[root] {}: no address of a file; write root://HOST[:PORT]//PATH", net::without_secrets(url)));
  return {url.substr(0, slash), url.substr(path - 1)};
}

Place place_of(const std::string& url) {
  if (url.find('?') != std::string::npos)
    throw user_error(
        fmt::format("[root] {}: a name with a question mark, which XRootD's client does not take; name the "
                    "file by a pattern, or give it another name",
                    net::without_secrets(url)));
  return pattern_of(url);
}

[[noreturn]] void fail(const Result& result, const std::string& what) {
  std::string text = result.text;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  const std::string message = fmt::format("[root] {}: {}", what, text);
  switch (result.outcome) {
    case Outcome::kAbsent:
      throw data_error(message + "; check the address");
    case Outcome::kDenied:
      throw data_error(message + "; check the token or the proxy (BEARER_TOKEN, BEARER_TOKEN_FILE, X509_USER_PROXY)");
    case Outcome::kUnreachable:
      throw Unreachable(ErrorCode::kEnvironment, message + "; check the address and the network");
    default:
      throw environment_error(message + "; try again later");
  }
}

/// Calls `work` until its result is no failure that another attempt may mend.
void perform(const std::string& what, const std::function<void(Result&)>& work) {
  for (int attempt = 1;; ++attempt) {
    Result result;
    work(result);
    if (result.outcome == Outcome::kDone) return;
    const bool may_change = result.outcome == Outcome::kFailed || result.outcome == Outcome::kUnreachable;
    // The client itself has called the server several times.
    const int attempts = result.outcome == Outcome::kUnreachable ? 2 : kAttempts;
    if (!may_change || attempt >= attempts) fail(result, what);
    const auto wait = kFirstWait * (1 << (attempt - 1));
    log::warn(fmt::format("[root] {}: {}; attempt {} of {} in {} ms", what, result.text, attempt + 1, attempts,
                          wait.count()));
    std::this_thread::sleep_for(wait);
  }
}

std::optional<State> state_if_there(const std::string& url) {
  std::optional<State> found;
  perform(url, [&](Result& result) {
    State state;
    xrootd::binding().stat(url.c_str(), &state, &result);
    if (result.outcome == Outcome::kDone) found = state;
    if (result.outcome == Outcome::kAbsent) result.outcome = Outcome::kDone;
  });
  return found;
}

State need_file(const std::string& url) {
  const auto state = state_if_there(url);
  if (state && state->is_folder == 0) return *state;
  throw data_error(fmt::format("[root] {}: {}; check the address", url, state ? "is a folder" : "no such file there"));
}

std::string version_of(const State& state) {
  return fmt::format("{}:{}:{}", state.size, state.changed_s, state.id);
}

/// A file on its server. One thread.
class OpenFile {
 public:
  OpenFile(std::string url, bool to_write) : url_(std::move(url)), to_write_(to_write) { open(); }
  ~OpenFile() {
    Result ignored;
    if (handle_ != nullptr) xrootd::binding().close(handle_, &ignored);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void read(int64_t offset, std::span<std::byte> bytes) {
    const std::string what =
        fmt::format("{}, bytes {} to {}", url_, offset, offset + static_cast<int64_t>(bytes.size()) - 1);
    perform(what, [&](Result& result) {
      if (handle_ == nullptr) open();
      const int64_t got =
          xrootd::binding().read(handle_, offset, bytes.data(), static_cast<uint32_t>(bytes.size()), &result);
      if (result.outcome == Outcome::kDone && got < static_cast<int64_t>(bytes.size())) {
        result.outcome = Outcome::kFailed;
        fmt::format_to_n(result.text, sizeof result.text - 1, "the server sends less than was asked for");
      }
      if (result.outcome != Outcome::kDone) drop();
    });
  }
  void write(int64_t offset, std::span<const std::byte> bytes) {
    Result result;
    xrootd::binding().write(handle_, offset, bytes.data(), static_cast<uint32_t>(bytes.size()), &result);
    if (result.outcome != Outcome::kDone) fail(result, url_);
  }
  void close() {
    Result result;
    xrootd::binding().close(std::exchange(handle_, nullptr), &result);
    if (result.outcome != Outcome::kDone) fail(result, url_);
  }

 private:
  void open() {
    perform(url_, [&](Result& result) { handle_ = xrootd::binding().open(url_.c_str(), to_write_ ? 1 : 0, &result); });
  }
  void drop() {
    Result ignored;
    xrootd::binding().close(std::exchange(handle_, nullptr), &ignored);
  }

  const std::string url_;
  const bool to_write_;
  void* handle_ = nullptr;
};

class XrootdReader : public Reader {
 public:
  explicit XrootdReader(const std::string& url) : url_(url), state_(need_file(url)), file_(url, false) {}
  int64_t size() const override { return state_.size; }
  std::string version() const override { return version_of(state_); }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    if (offset < 0 || offset + static_cast<int64_t>(bytes.size()) > state_.size)
      throw data_error(fmt::format("[root] {}: ends at byte {}, and more is asked for", url_, state_.size));
    if (bytes.empty()) return;
    for (size_t done = 0; done < bytes.size();) {
      const auto piece = bytes.subspan(done, std::min<size_t>(kPieceBytes, bytes.size() - done));
      file_.read(offset + static_cast<int64_t>(done), piece);
      done += piece.size();
      piece_is_done();
    }
    // An open file stays the one that it was only on some servers.
    if (version_of(need_file(url_)) != version())
      throw Changed(
          ErrorCode::kData,
          fmt::format("[root] {}: the file changed while it was read; run it again when nobody writes", url_));
  }

 private:
  const std::string url_;
  const State state_;
  OpenFile file_;
};

struct Entry {
  std::string name;
  State state;
};

std::vector<Entry> listed(const std::string& url, bool may_be_absent) {
  std::vector<Entry> entries;
  perform(url, [&](Result& result) {
    entries.clear();
    const auto take = [](void* to, const char* name, const State* state) {
      static_cast<std::vector<Entry>*>(to)->push_back({name, *state});
    };
    xrootd::binding().list(url.c_str(), take, &entries, &result);
    if (may_be_absent && result.outcome == Outcome::kAbsent) result.outcome = Outcome::kDone;
  });
  return entries;
}

class XrootdStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override {
    const Place place = pattern_of(pattern);
    if (!is_pattern(place.path)) return {place.url()};
    std::vector<std::string> urls;
    for (const std::string& path : match_levels(place.path, [&](const std::string& prefix) {
           const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
           Level level;
           for (const Entry& entry : listed(place.server + "/" + folder, true)) {
             if (entry.state.is_folder != 0) level.folders.push_back(folder + entry.name + "/");
             if (entry.state.is_folder == 0) level.files.push_back(folder + entry.name);
           }
           return level;
         }))
      urls.push_back(Place{place.server, path}.url());
    // A file may be called as the pattern is.
    if (urls.empty() && pattern.find('?') == std::string::npos && state_if_there(place.url())) return {place.url()};
    if (urls.empty())
      throw data_error(fmt::format("[root] {}: no file matches this pattern; check folder and name", pattern));
    return urls;
  }

  std::vector<Listed> list(const std::string& folder) const override {
    Place place = place_of(folder);
    if (!place.path.ends_with('/')) place.path += '/';
    std::vector<Listed> files;
    for (const Entry& entry : listed(place.url(), false))
      if (entry.state.is_folder == 0) files.push_back({place.url() + entry.name, entry.state.size});
    std::sort(files.begin(), files.end(), [](const Listed& a, const Listed& b) { return a.url < b.url; });
    return files;
  }

  int64_t size(const std::string& url) const override { return need_file(place_of(url).url()).size; }
  std::unique_ptr<Reader> open(const std::string& url) const override {
    return std::make_unique<XrootdReader>(place_of(url).url());
  }
  std::filesystem::path local(const std::string& url) const override {
    const std::string named = place_of(url).url();
    return streamed_local("root", named, named);
  }
  void write(const std::string& url, std::string_view content) const override {
    send(url, pieces_of(content, kPieceBytes));
  }
  void put(const std::string& url, const std::filesystem::path& file) const override {
    send(url, pieces_of_file(file, kPieceBytes));
  }
  void need_writable(const std::string& url) const override { state_if_there(place_of(url).url()); }
  void remove(const std::string& url) const override {
    const std::string named = place_of(url).url();
    perform(named, [&](Result& result) {
      xrootd::binding().remove(named.c_str(), &result);
      if (result.outcome == Outcome::kAbsent) result.outcome = Outcome::kDone;
    });
  }

 private:
  /// Written under another name beside it, and moved when it is whole.
  static void send(const std::string& url, const Pieces& next) {
    const Place place = place_of(url);
    const std::string target = place.url();
    const std::string made = name_in_the_making(target);
    int64_t written = 0;
    try {
      OpenFile file(made, true);
      for (auto bytes = next(); !bytes.empty(); bytes = next()) {
        file.write(written, bytes);
        written += static_cast<int64_t>(bytes.size());
        piece_is_done();
      }
      file.close();
      if (const int64_t size = need_file(made).size; size != written)
        throw environment_error(
            fmt::format("[root] {}: the server keeps {} of {} bytes; check the space there", target, size, written));
      move_over(made, target);
    } catch (...) {
      Result ignored;
      xrootd::binding().remove(made.c_str(), &ignored);
      throw;
    }
  }
  /// Many servers move over no file: then the former one goes first, and for a moment there is none.
  static void move_over(const std::string& from, const std::string& to) {
    Result result;
    xrootd::binding().move(from.c_str(), to.c_str(), &result);
    if (result.outcome == Outcome::kDone) return;
    if (!state_if_there(to)) fail(result, to);
    perform(to, [&](Result& removed) {
      xrootd::binding().remove(to.c_str(), &removed);
      if (removed.outcome == Outcome::kAbsent) removed.outcome = Outcome::kDone;
    });
    perform(to, [&](Result& moved) { xrootd::binding().move(from.c_str(), to.c_str(), &moved); });
  }
};

}  // namespace

const Store& xrootd_store() {
  static const XrootdStore store;
  return store;
}

}  // namespace linac::storage
