#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/s3/object.h"

namespace linac::storage::s3 {
namespace {

constexpr size_t kPartsMax = 10'000;  // docs.aws.amazon.com: multipart upload limits
constexpr const char* kContentType = "Content-Type: application/octet-stream";

/// Bytes [offset, offset + size) of what is written; stays valid until the next call.
using Part = std::function<std::string_view(size_t offset, size_t size)>;

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

/// An upload in parts. One that is not completed is aborted.
class Upload {
 public:
  Upload(Session& session, const Address& address) : session_(session), address_(address) {
    const Call call{.address = address_, .method = "POST", .query = {{"uploads", ""}}, .headers = {kContentType}};
    const auto id = parse_upload_id(session_.perform(call).http.body);
    if (!id) throw environment_error(fmt::format("[s3] {}: the server gives no upload id; try again", address.url()));
    id_ = *id;
  }
  ~Upload() {
    if (completed_) return;
    try {
      session_.perform({.address = address_, .method = "DELETE", .query = {{"uploadId", id_}}});
    } catch (const std::exception& error) {
      log::warn(
          fmt::format("[s3] {}: parts of an upload that failed stay on the server ({}); let a rule of the bucket "
                      "remove incomplete uploads",
                      address_.url(), error.what()));
    }
  }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  void add(std::string_view bytes) {
    const size_t number = etags_.size() + 1;
    const Call call{.address = address_,
                    .method = "PUT",
                    .query = {{"partNumber", std::to_string(number)}, {"uploadId", id_}},
                    .headers = {kContentType},
                    .body = bytes,
                    .part = fmt::format(", part {}", number)};
    etags_.push_back(session_.perform(call).http.header("etag"));
  }

  void complete(int64_t size) {
    std::string body = "<CompleteMultipartUpload>";
    for (size_t i = 0; i < etags_.size(); ++i)
      body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, xml_text(etags_[i]));
    body += "</CompleteMultipartUpload>";
    const Call call{.address = address_,
                    .method = "POST",
                    .query = {{"uploadId", id_}},
                    .headers = {"Content-Type: application/xml"},
                    .body = body,
                    .slow_answer = true};
    Attempts attempts(session_.patience());
    for (bool asked_before = false;; asked_before = true) {
      const Answer answer = session_.attempt(call);
      if (answer.good()) break;
      if (asked_before && answer.error.code == "NoSuchUpload" && is_there(size)) break;  // the first answer was lost
      if (!attempts.another(call, answer)) session_.fail(call, answer);
    }
    completed_ = true;
  }

 private:
  bool is_there(int64_t size) {
    const auto state = look_if_there(session_, address_);
    return state && state->size == size && state->etag.find(fmt::format("-{}\"", etags_.size())) != std::string::npos;
  }

  Session& session_;
  const Address& address_;
  std::string id_;
  std::vector<std::string> etags_;
  bool completed_ = false;
};

void write_parts(Session& session, const Address& address, size_t size, size_t part_bytes_least, const Part& part) {
  if (address.key.empty() || address.key.ends_with('/'))
    throw user_error(fmt::format("[s3] {}: a folder; name the object to write", address.url()));
  if (size <= part_bytes_least) {
    session.perform({.address = address, .method = "PUT", .headers = {kContentType}, .body = part(0, size)});
    return;
  }
  constexpr size_t kMebi = size_t{1} << 20;
  const size_t part_bytes = std::max(part_bytes_least, size / kPartsMax + kMebi);
  Upload upload(session, address);
  for (size_t offset = 0; offset < size; offset += part_bytes)
    upload.add(part(offset, std::min(part_bytes, size - offset)));
  upload.complete(static_cast<int64_t>(size));
}

}  // namespace

void write_object(Session& session, const Address& address, std::string_view content, size_t part_bytes_least) {
  write_parts(session, address, content.size(), part_bytes_least,
              [&](size_t offset, size_t size) { return content.substr(offset, size); });
}

void write_file_object(Session& session, const Address& address, const std::filesystem::path& file) {
  const auto cannot = [&](const std::string& why) {
    return environment_error(
        fmt::format("[s3] {}: {} cannot be read ({}); check it", address.url(), file.string(), why));
  };
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!opened && errno == ENOENT)
    throw data_error(fmt::format("[s3] {}: {}: no such file; check the path", address.url(), file.string()));
  if (!opened || ::fstat(opened.get(), &about) != 0) throw cannot(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw cannot("not a regular file");
  std::string room;
  write_parts(session, address, static_cast<size_t>(about.st_size), kPartBytes, [&](size_t offset, size_t size) {
    room.resize(size);
    for (size_t got = 0; got < size;) {
      const ssize_t n = ::pread(opened.get(), room.data() + got, size - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) throw cannot(n < 0 ? std::strerror(errno) : "it was cut meanwhile");
      got += static_cast<size_t>(n);
    }
    return std::string_view(room);
  });
}

}  // namespace linac::storage::s3
