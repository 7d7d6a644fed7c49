#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/http.h"
#include "linac/io/storage/http_request.h"
#include "linac/io/storage/levels.h"
#include "linac/io/storage/percent.h"
#include "linac/io/storage/sending.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/stores.h"
#include "linac/io/storage/streamed_copy.h"
#include "linac/io/storage/xml_elements.h"

namespace linac::storage {
namespace {

constexpr int kRedirectsMax = 3;
constexpr int kMultiStatus = 207;
constexpr std::string_view kProperties =
    R"(<?xml version="1.0"?><D:propfind xmlns:D="DAV:"><D:prop><D:getcontentlength/><D:getlastmodified/><D:resourcetype/></D:prop></D:propfind>)";

std::string path_of(const std::string& url) {
  const size_t host = url.find("://") + 3;
  const size_t slash = url.find('/', host);
  if (slash == host || slash == std::string::npos || slash + 1 == url.size() || url.find('@', host) < slash ||
      url.find_first_of("\r\n") != std::string::npos)
    throw user_error(
        fmt::format("[dav] {}: no address of a file; write davs://HOST[:PORT]/PATH", net::without_secrets(url)));
  return url.substr(slash);
}
std::string server_of(const std::string& url) {
  return url.substr(0, url.size() - path_of(url).size());
}

net::HttpSettings settings_of(const std::string& url) {
  net::HttpSettings settings = http_settings(url);
  settings.redirects_max = 0;  // a body cannot be sent twice; followed here
  return settings;
}

/// One request, tried again where that helps; the answer whatever its status is.
net::HttpAnswer ask(const std::string& url, const std::string& method, std::vector<std::string> headers = {},
                    std::string_view body = {}) {
  net::HttpClient http(settings_of(url));
  std::string place = request_url(url);
  for (int attempt = 1, redirects = 0;;) {
    net::HttpRequest request{.url = place, .method = method, .headers = headers, .body = body};
    if (redirects == 0)
      for (std::string& line : token_headers(url)) request.headers.push_back(std::move(line));
    net::HttpAnswer answer = http.perform(request);
    const bool moved = answer.problem == net::HttpProblem::kNone && answer.status / 100 == 3;
    if (moved && ++redirects <= kRedirectsMax && !answer.header("location").empty()) {
      place = answer.header("location");
      continue;
    }
    if (attempt == kHttpAttempts || !net::worth_another_try(answer)) {
      if (answer.problem != net::HttpProblem::kNone || answer.status >= 500) fail_request(url, answer);
      return answer;
    }
    wait_for_attempt(url, answer, attempt++);
  }
}

struct Entry {
  std::string path;  // as it is, of a folder with a slash at its end
  int64_t size = 0;
  bool is_folder = false;
};

/// What is in a folder, or nothing if it is not there. Errors name `url`.
std::optional<std::vector<Entry>> listed(const std::string& url) {
  const net::HttpAnswer answer = ask(url, "PROPFIND", {"Depth: 1", "Content-Type: application/xml"}, kProperties);
  if (answer.status == 404) return std::nullopt;
  if (answer.status != kMultiStatus) fail_request(url, answer);
  std::string folder = path_of(url);
  std::vector<Entry> entries;
  Entry entry;
  bool is_answer = false;
  const bool whole = each_element(answer.body, [&](std::string_view path, std::string&& text) {
    if (path == "multistatus") is_answer = true;
    if (path == "multistatus/response/href") {
      const size_t host = text.find("://");
      entry.path = percent_decoded(
          host == std::string::npos ? text : text.substr(std::min(text.find('/', host + 3), text.size())));
    }
    if (path.ends_with("/prop/getcontentlength")) std::from_chars(text.data(), text.data() + text.size(), entry.size);
    if (path.ends_with("/prop/resourcetype/collection")) entry.is_folder = true;
    if (path == "multistatus/response") entries.push_back(std::exchange(entry, {}));
  });
  if (!whole || !is_answer)
    throw environment_error(fmt::format("[dav] {}: the server's list is none; does it speak WebDAV?", url));
  while (folder.ends_with('/')) folder.pop_back();
  std::erase_if(entries, [&](Entry& one) {
    while (one.path.ends_with('/')) one.path.pop_back();
    // Names only: what the server says of folders above is its own.
    const std::string name = one.path.substr(one.path.rfind('/') + 1);
    const bool is_itself = one.path.size() <= folder.size();
    one.path = folder + "/" + name + (one.is_folder ? "/" : "");
    return is_itself || name.empty() || name == "." || name == "..";
  });
  return entries;
}

/// When the file was written, as the server says it; empty where it says nothing, or where a second writing could have
/// the same date, as it has just been written.
std::string date_of(const std::string& url) {
  const net::HttpAnswer answer = ask(url, "PROPFIND", {"Depth: 0", "Content-Type: application/xml"}, kProperties);
  if (answer.status != kMultiStatus) fail_request(url, answer);
  std::string date;
  each_element(answer.body, [&](std::string_view path, std::string&& text) {
    if (path.ends_with("/prop/getlastmodified")) date = std::move(text);
  });
  const auto seconds = [](const std::string& text) -> time_t {
    std::tm parts{};
    return ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S", &parts) == nullptr ? -1 : ::timegm(&parts);
  };
  const time_t written = seconds(date), now = seconds(answer.header("date"));
  constexpr time_t kSettled_s = 3;
  const bool settled = written >= 0 && (now >= 0 ? now : std::time(nullptr)) - written >= kSettled_s;
  return settled ? date : "";
}

/// For servers that name no version of a file as web servers do: its date, asked for again after each read.
class DatedReader : public Reader {
 public:
  DatedReader(std::string url, std::unique_ptr<Reader> reader, std::string date)
      : url_(std::move(url)), reader_(std::move(reader)), date_(std::move(date)) {}
  int64_t size() const override { return reader_->size(); }
  std::string version() const override { return fmt::format("{} of {}", reader_->size(), date_); }
  std::unique_ptr<Reader> another() const override {
    return std::make_unique<DatedReader>(url_, reader_->another(), date_);
  }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    reader_->read(offset, bytes);
    if (date_of(url_) == date_) return;
    throw Changed(ErrorCode::kData,
                  fmt::format("[dav] {}: the file changed while it was read; run it again when nobody writes", url_));
  }

 private:
  const std::string url_;
  const std::unique_ptr<Reader> reader_;
  const std::string date_;
};

class DavStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override {
    const std::string path = path_of(pattern), server = server_of(pattern);
    if (!is_pattern(path)) return {pattern};
    std::vector<std::string> urls;
    for (const std::string& found : match_levels(path, [&](const std::string& prefix) {
           const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
           Level level;
           for (const Entry& entry : listed(server + folder).value_or(std::vector<Entry>()))
             (entry.is_folder ? level.folders : level.files).push_back(entry.path);
           return level;
         }))
      urls.push_back(server + found);
    // A file may be called as the pattern is.
    if (urls.empty() && ask(pattern, "HEAD").status == 200) return {pattern};
    if (urls.empty())
      throw data_error(fmt::format("[dav] {}: no file matches this pattern; check folder and name", pattern));
    return urls;
  }
  std::vector<Listed> list(const std::string& folder) const override {
    const std::string named = folder.ends_with('/') ? folder : folder + "/";
    const auto entries = listed(named);
    if (!entries) throw data_error(fmt::format("[dav] {}: no such folder there; check the address", folder));
    std::vector<Listed> files;
    for (const Entry& entry : *entries)
      if (!entry.is_folder) files.push_back({server_of(named) + entry.path, entry.size});
    std::sort(files.begin(), files.end(), [](const Listed& a, const Listed& b) { return a.url < b.url; });
    return files;
  }
  int64_t size(const std::string& url) const override { return open(url)->size(); }
  std::unique_ptr<Reader> open(const std::string& url) const override {
    path_of(url);
    auto reader = open_http(url);
    if (!reader->version().empty()) return reader;
    const std::string date = date_of(url);
    if (date.empty()) return reader;
    return std::make_unique<DatedReader>(url, std::move(reader), date);
  }
  std::filesystem::path local(const std::string& url) const override {
    path_of(url);
    return http_local(url);
  }
  void write(const std::string& url, std::string_view content) const override {
    send(url, static_cast<int64_t>(content.size()), [&] {
      return [content](char* room, size_t bytes) mutable {
        const size_t size = content.copy(room, bytes);
        content.remove_prefix(size);
        return size;
      };
    });
  }
  void put(const std::string& url, const std::filesystem::path& file) const override {
    const auto source = Source::of_file(file, file.string());
    send(url, source->size(), [&] {
      return [stream = std::shared_ptr(Source::stream(source))](char* room, size_t bytes) {
        piece_is_done();
        return stream->read(std::as_writable_bytes(std::span(room, bytes)));
      };
    });
    source->need_unchanged();
  }
  void need_writable(const std::string& url) const override {
    const std::string folder = url.substr(0, url.rfind('/') + 1);
    const net::HttpAnswer answer = ask(folder, "PROPFIND", {"Depth: 0", "Content-Type: application/xml"}, kProperties);
    if (answer.status != kMultiStatus && answer.status != 404) fail_request(url, answer);
  }
  void remove(const std::string& url) const override {
    path_of(url);
    const net::HttpAnswer answer = ask(url, "DELETE");
    if (answer.status / 100 != 2 && answer.status != 404) fail_request(url, answer);
  }

 private:
  using Upload = std::function<size_t(char* room, size_t bytes)>;

  /// Sent under another name beside it, and moved when it is whole.
  static void send(const std::string& url, int64_t size, const std::function<Upload()>& begin) {
    path_of(url);
    const std::string made = name_in_the_making(url);
    try {
      net::HttpAnswer answer = upload(made, size, begin);
      if (answer.status == 404 || answer.status == 409) {
        make_folders(made);
        answer = upload(made, size, begin);
      }
      if (answer.status / 100 != 2) fail_request(url, answer);
      if (const int64_t there = open_http(made)->size(); there != size)
        throw environment_error(
            fmt::format("[dav] {}: the server keeps {} of {} bytes; check the space there", url, there, size));
      move_over(made, url);
    } catch (...) {
      try {
        ask(made, "DELETE");
      } catch (const Error&) {  // the first error says more
      }
      throw;
    }
  }

  static net::HttpAnswer upload(const std::string& url, int64_t size, const std::function<Upload()>& begin) {
    net::HttpClient http(settings_of(url));
    std::string place = request_url(url);
    for (int attempt = 1, redirects = 0;;) {
      net::HttpRequest request{.url = place, .method = "PUT"};
      if (redirects == 0) request.headers = token_headers(url);
      request.upload = begin();
      request.upload_bytes = size;
      net::HttpAnswer answer = http.perform(request);
      const bool moved = answer.status / 100 == 3 && !answer.header("location").empty();
      if (moved && ++redirects <= kRedirectsMax) {
        place = answer.header("location");
        continue;
      }
      if (attempt == kHttpAttempts || !net::worth_another_try(answer)) {
        if (answer.problem != net::HttpProblem::kNone || answer.status >= 500) fail_request(url, answer);
        return answer;
      }
      wait_for_attempt(url, answer, attempt++);
    }
  }

  static void make_folders(const std::string& url) {
    const std::string path = path_of(url), server = server_of(url);
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const net::HttpAnswer answer = ask(server + path.substr(0, slash + 1), "MKCOL");
      // 405: it is there.
      if (answer.status / 100 != 2 && answer.status != 405 && answer.status != 409) fail_request(url, answer);
    }
  }

  /// Some servers move over no file: then the former one goes first, and for a moment there is none.
  static void move_over(const std::string& from, const std::string& to) {
    const std::vector<std::string> headers{"Destination: " + request_url(to), "Overwrite: T"};
    net::HttpAnswer answer = ask(from, "MOVE", headers);
    if (answer.status / 100 != 2 && ask(to, "HEAD").status == 200) {
      ask(to, "DELETE");
      answer = ask(from, "MOVE", headers);
    }
    if (answer.status / 100 != 2) fail_request(to, answer);
    if (request_url(to).ends_with(path_of(to)) || ask(to, "HEAD").status == 200) return;
    // XRootD takes the escaped name of the destination for its name.
    const std::string escaped = server_of(to) + request_url(to).substr(request_url(server_of(to)).size());
    answer = ask(escaped, "MOVE", {"Destination: " + request_url(server_of(to)) + path_of(to), "Overwrite: T"});
    if (answer.status / 100 != 2) fail_request(to, answer);
  }
};

}  // namespace

const Store& dav_store() {
  static const DavStore store;
  return store;
}

}  // namespace linac::storage
