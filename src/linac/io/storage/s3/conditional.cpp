#include "linac/io/storage/s3/conditional.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "linac/base/base/error.h"
#include "linac/io/storage/s3/object.h"

namespace linac::storage::s3 {
namespace {

std::optional<std::time_t> time_of(const std::string& text) {
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&parts);
}

bool says(const Answer& answer, int status, std::string_view code) {
  return answer.http.status == status && (answer.error.code.empty() || answer.error.code == code);
}

}  // namespace

std::optional<double> seconds_between(const std::string& from, const std::string& to) {
  const auto begin = time_of(from), end = time_of(to);
  if (!begin || !end) return std::nullopt;
  return std::max(0.0, std::difftime(*end, *begin));
}

std::optional<SmallFile> read_small(Session& session, const Address& address) {
  const Call call{.address = address};
  Attempts attempts(session.patience());
  for (;;) {
    Answer answer = session.attempt(call);
    if (answer.good()) {
      SmallFile file{std::move(answer.http.body), answer.http.header("etag"),
                     seconds_between(answer.http.header("last-modified"), answer.http.header("date"))};
      if (!file.version.empty()) return file;
      throw environment_error(
          fmt::format("[s3] {}: the server gives no ETag, by which one writer knows what another has written; keep "
                      "such a folder elsewhere",
                      address.url()));
    }
    if (says(answer, 404, "NoSuchKey")) return std::nullopt;
    if (!attempts.another(call, answer)) session.fail(call, answer);
  }
}

std::optional<std::string> replace(Session& session, const Address& address, std::string_view content,
                                   const std::string& version) {
  Call call{.address = address,
            .method = "PUT",
            .headers = {"Content-Type: application/json",
                        version.empty() ? std::string("If-None-Match: *") : "If-Match: " + version},
            .body = content};
  Attempts attempts(session.patience());
  for (;;) {
    const Answer answer = session.attempt(call);
    if (answer.good()) {
      const std::string etag = answer.http.header("etag");
      return etag.empty() ? look(session, address).etag : etag;
    }
    // 404: what is to be replaced is gone. 409: somebody else writes right now (ConditionalRequestConflict).
    if (answer.http.status == 412 || answer.http.status == 409 || says(answer, 404, "NoSuchKey")) return std::nullopt;
    // A server that knows no conditions and says so is as good as one that passes over them in silence.
    if (answer.http.status == 501 && call.headers.size() > 1) {
      call.headers.pop_back();
      continue;
    }
    if (!attempts.another(call, answer)) session.fail(call, answer);
  }
}

}  // namespace linac::storage::s3
