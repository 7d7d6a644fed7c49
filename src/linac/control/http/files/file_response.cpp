#include "linac/control/http/files/file_response.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/utf8.h"

namespace linac::http {
namespace {

struct Type {
  std::string_view ending, type;
};
// Shown by a browser. No HTML, SVG or XML: those can hold scripts.
constexpr std::array<Type, 16> kShown = {{{".txt", "text/plain; charset=utf-8"},
                                          {".log", "text/plain; charset=utf-8"},
                                          {".md", "text/plain; charset=utf-8"},
                                          {".yaml", "text/plain; charset=utf-8"},
                                          {".yml", "text/plain; charset=utf-8"},
                                          {".csv", "text/plain; charset=utf-8"},
                                          {".py", "text/plain; charset=utf-8"},
                                          {".cfg", "text/plain; charset=utf-8"},
                                          {".jsonl", "text/plain; charset=utf-8"},
                                          {".json", "application/json"},
                                          {".png", "image/png"},
                                          {".jpg", "image/jpeg"},
                                          {".jpeg", "image/jpeg"},
                                          {".gif", "image/gif"},
                                          {".webp", "image/webp"},
                                          {".mp4", "video/mp4"}}};

std::optional<int64_t> parsed(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Response file_response(Descriptor file, std::string_view name) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0)
    throw environment_error(fmt::format("[files] {}: cannot be read ({})", printable(name), std::strerror(errno)));
  Response response;
  const std::string_view leaf = name.substr(name.rfind('/') + 1);
  const auto shown =
      std::find_if(kShown.begin(), kShown.end(), [&](const Type& type) { return leaf.ends_with(type.ending); });
  response.type = shown == kShown.end() ? "application/octet-stream" : shown->type;
  response.headers = {
      {"Content-Disposition",
       fmt::format("{}; filename*=UTF-8''{}", shown == kShown.end() ? "attachment" : "inline", percent_encoded(leaf))},
      {"Content-Security-Policy", "sandbox; default-src 'none'"},
      {"Accept-Ranges", "bytes"},
      {"Cache-Control", "private, no-cache"}};
  response.file = FileBody{std::make_shared<Descriptor>(std::move(file)), 0, about.st_size};
  return response;
}

void prepare_range(const Request& request, Response& response) {
  std::string_view range = request.header("range");
  if (!range.starts_with("bytes=") || response.status != 200) return;
  range.remove_prefix(6);
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return;
  const auto from = parsed(range.substr(0, dash)), to = parsed(range.substr(dash + 1));
  const int64_t size = response.file->length;
  int64_t first, last;
  if (from) {
    if (!to && dash + 1 != range.size()) return;
    first = *from;
    last = std::min(to.value_or(size - 1), size - 1);
  } else if (dash == 0 && to) {  // the last so many
    first = std::max<int64_t>(0, size - *to);
    last = *to == 0 ? -1 : size - 1;
  } else {
    return;
  }
  if (first > last) {
    response.status = 416;
    response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    response.file->length = 0;
    return;
  }
  response.status = 206;
  response.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", first, last, size));
  response.file->offset += first;
  response.file->length = last - first + 1;
}

size_t read_piece(const FileBody& file, int64_t at, std::vector<char>& piece) {
  const size_t wanted = std::min(piece.size(), static_cast<size_t>(file.length - at));
  ssize_t got;
  do {
    got = ::pread(file.file->get(), piece.data(), wanted, file.offset + at);
  } while (got < 0 && errno == EINTR);
  return got < 0 ? 0 : static_cast<size_t>(got);
}

}  // namespace linac::http
