#include "linac/io/storage/s3/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/break_off.h"

namespace linac::storage::s3 {
namespace {

constexpr size_t kErrorBytesMax = 64 << 10;
constexpr int64_t kSlowBytesPerS = 1024;  // fewer are no transfer: another connection does better
constexpr std::chrono::seconds kSlowAnswer{300};

constexpr std::string_view kWorthAnother[] = {
    "SlowDown",   "InternalError",       "RequestTimeout",       "ServiceUnavailable",
    "Throttling", "ThrottlingException", "RequestLimitExceeded", "BandwidthLimitExceeded",
};

struct Meaning {
  std::string_view code;
  ErrorCode error;
  std::string_view what, way_out;
};
// docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html; the last ones stand for answers without a body.
constexpr Meaning kMeanings[] = {
    {"NoSuchBucket", ErrorCode::kData, "there is no such bucket", "check its name, and AWS_ENDPOINT_URL"},
    {"NoSuchKey", ErrorCode::kData, "there is no such object", "check the address"},
    {"NoSuchUpload", ErrorCode::kEnvironment, "the server has forgotten the upload", "write it again"},
    {"InvalidAccessKeyId", ErrorCode::kEnvironment, "the server does not know the access key",
     "check AWS_ACCESS_KEY_ID or AWS_PROFILE"},
    {"SignatureDoesNotMatch", ErrorCode::kEnvironment, "the secret key is not the one of the access key",
     "check AWS_SECRET_ACCESS_KEY"},
    {"ExpiredToken", ErrorCode::kEnvironment, "the session token has expired", "get new keys"},
    {"InvalidToken", ErrorCode::kEnvironment, "the session token is not valid", "check AWS_SESSION_TOKEN"},
    {"RequestTimeTooSkewed", ErrorCode::kEnvironment, "this host's clock is wrong", "set the clock"},
    {"PreconditionFailed", ErrorCode::kData, "the object changed while it was read", "run it again when nobody writes"},
    {"InvalidRange", ErrorCode::kData, "the object is shorter than it was", "run it again when nobody writes"},
    {"EntityTooLarge", ErrorCode::kEnvironment, "the object is too large for the server", "write several files"},
    {"QuotaExceeded", ErrorCode::kEnvironment, "the server's quota is used up", "remove objects, or ask for more"},
    {"XMinioStorageFull", ErrorCode::kEnvironment, "the server's disk is full", "remove objects"},
    {"AccessDenied", ErrorCode::kEnvironment, "access is denied",
     "check AWS_ACCESS_KEY_ID, AWS_PROFILE and what they may do in this bucket"},
    {"InvalidObjectState", ErrorCode::kEnvironment, "the object is archived (Glacier)",
     "restore it first, e.g. aws s3api restore-object, and run it again when that is done"},
    {"401", ErrorCode::kEnvironment, "access is denied", "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
    {"403", ErrorCode::kEnvironment, "access is denied", "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
    {"404", ErrorCode::kData, "there is no such object", "check the address"},
    {"412", ErrorCode::kData, "the object changed while it was read", "run it again when nobody writes"},
    {"416", ErrorCode::kData, "the object is shorter than it was", "run it again when nobody writes"},
};

const Meaning* meaning_of(const Answer& answer) {
  const std::string status = std::to_string(answer.http.status);
  for (const std::string_view name : {std::string_view(answer.error.code), std::string_view(status)})
    for (const Meaning& meaning : kMeanings)
      if (meaning.code == name) return &meaning;
  return nullptr;
}

bool is_worth_another(const Answer& answer) {
  const bool by_code =
      std::find(std::begin(kWorthAnother), std::end(kWorthAnother), answer.error.code) != std::end(kWorthAnother);
  return by_code || (answer.http.status != 416 && net::worth_another_try(answer.http));
}

std::string words_of(const Answer& answer) {
  if (answer.http.problem != net::HttpProblem::kNone) return answer.http.what;
  return fmt::format("the server answers {}{}{}", answer.http.status, answer.error.code.empty() ? "" : " ",
                     answer.error.code);
}

/// Half of the wait is random: many workers that were refused together do not come again together.
std::chrono::milliseconds wait_of(const Patience& patience, const Answer& failed, int attempts) {
  auto wait = std::min(patience.first_wait * (1 << std::min(attempts - 1, 16)), patience.wait_max);
  static thread_local std::minstd_rand random{std::random_device()()};
  wait -= wait * static_cast<int>(random() % 512) / 1024;
  return std::max(wait, std::chrono::milliseconds(net::wait_asked_for(failed.http)));
}

std::string region_of(const Answer& answer) {
  const std::string named = answer.http.header("x-amz-bucket-region");
  const std::string& region = named.empty() ? answer.error.region : named;
  const bool fits =
      std::all_of(region.begin(), region.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  return fits && region.size() <= 64 ? region : "";
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

net::HttpSettings settings(const Access& access, int64_t bytes_per_s, std::chrono::seconds stall) {
  return {.ca_file = access.ca_file, .stall_timeout = stall, .stall_bytes_per_s = bytes_per_s, .go_on = need_to_go_on};
}

}  // namespace

bool Answer::good() const {
  return http.problem == net::HttpProblem::kNone && http.status >= 200 && http.status < 300 && error.code.empty();
}

Session::Session(Access access, Patience patience)
    : access_(std::move(access)),
      patience_(patience),
      client_(settings(access_, kSlowBytesPerS, patience.stall)),
      slow_client_(settings(access_, 1, kSlowAnswer)) {}

Answer Session::attempt(const Call& call) {
  net::HttpRequest request{.url = request_url(access_, call.address, call.query), .method = call.method};
  request.headers = call.headers;
  request.body = call.body;
  request.sign = access_.keys;
  request.path_as_is = true;
  std::string body;
  request.receive = [&](const net::HttpAnswer& head, std::string_view bytes) {
    piece_is_done();
    const bool good = head.status >= 200 && head.status < 300;
    if (good && call.receive) return call.receive(head, bytes);
    if (body.size() + bytes.size() > (good ? kXmlBytesMax : kErrorBytesMax)) return false;
    body.append(bytes);
    return true;
  };
  Answer answer;
  answer.http = (call.slow_answer ? slow_client_ : client_).perform(request);
  answer.http.body = std::move(body);
  // An answer of success may be an error after all: of a server that began to answer before it knew.
  if (auto error = parse_error(answer.http.body)) answer.error = std::move(*error);
  if (is_secret(answer.error.message)) answer.error.message.clear();
  if (is_secret(answer.error.code)) answer.error.code = "an error";
  return answer;
}

Answer Session::perform(const Call& call) {
  Attempts attempts(patience_);
  for (;;) {
    Answer answer = attempt(call);
    if (answer.good()) return answer;
    if (!attempts.another(call, answer)) fail(call, answer);
  }
}

// A server that sends back what it got.
bool Session::is_secret(const std::string& text) const {
  if (!access_.keys) return false;
  for (const std::string& part : {access_.keys->id, access_.keys->secret, access_.keys->session_token})
    if (!part.empty() && text.find(part.substr(0, 64)) != std::string::npos) return true;
  return false;
}

void Session::fail(const Call& call, const Answer& answer) const {
  const std::string where = fmt::format(
      "[s3] {}{}", call.address.key.empty() ? "s3://" + call.address.bucket : call.address.url(), call.part);
  const std::string server = net::without_secrets(access_.endpoint);
  if (answer.http.problem != net::HttpProblem::kNone) {
    const bool unreachable = answer.http.problem == net::HttpProblem::kUnreachable;
    const std::string message =
        fmt::format("{}: {} (server {}, after {} attempts); check AWS_ENDPOINT_URL and the network", where,
                    answer.http.what, server, unreachable ? patience_.attempts_unreachable : patience_.attempts);
    if (unreachable) throw Unreachable(ErrorCode::kEnvironment, message);
    if (answer.http.problem == net::HttpProblem::kBroken) throw Temporary(ErrorCode::kEnvironment, message);
    throw environment_error(message);
  }
  const std::string words = fmt::format("{} answers {}{}{}", server, answer.http.status,
                                        answer.error.code.empty() ? "" : " ", answer.error.code);
  if (const std::string region = region_of(answer); !region.empty() && region != access_.region) {
    throw environment_error(
        fmt::format("{}: the bucket is in region {} ({}); set AWS_REGION={}", where, region, words, region));
  }
  if (answer.error.code == "RequestTimeTooSkewed") {
    throw environment_error(fmt::format("{}: this host's clock is wrong ({}: here it is {}, there {}); set the clock",
                                        where, words, now_text(), answer.http.header("date").substr(0, 40)));
  }
  if (const Meaning* const meaning = meaning_of(answer)) {
    const bool denied = answer.http.status == 403 || answer.http.status == 401;
    const std::string message = fmt::format("{}: {} ({}{}); {}", where, meaning->what, words,
                                            denied && !access_.keys ? ", asked without keys" : "", meaning->way_out);
    if (answer.http.status == 412 || answer.http.status == 416) throw Changed(meaning->error, message);
    throw Error(meaning->error, message);
  }
  const std::string said = answer.error.message.empty() ? "" : fmt::format(" (it says: {})", answer.error.message);
  if (is_worth_another(answer)) {
    throw Temporary(ErrorCode::kEnvironment,
                    fmt::format("{}: {}{} after {} attempts; try again later", where, words, said, patience_.attempts));
  }
  throw environment_error(fmt::format("{}: {}{}; check the address and AWS_ENDPOINT_URL", where, words, said));
}

Attempts::Attempts(const Patience& patience) : patience_(patience) {
  begin_anew();
}

void Attempts::begin_anew() {
  failed_ = 0;
  end_ = std::chrono::steady_clock::now() + patience_.all;
}

bool Attempts::another(const Call& call, const Answer& failed) {
  ++failed_;
  const bool unreachable = failed.http.problem == net::HttpProblem::kUnreachable;
  const int attempts_max = unreachable ? patience_.attempts_unreachable : patience_.attempts;
  if (!is_worth_another(failed) || failed_ >= attempts_max) return false;
  const auto wait = wait_of(patience_, failed, failed_);
  if (std::chrono::steady_clock::now() + wait > end_) return false;
  const std::string text = fmt::format("[s3] {}{}: {}; attempt {} of {} in {} ms", call.address.url(), call.part,
                                       words_of(failed), failed_ + 1, attempts_max, wait.count());
  BackgroundWork::is_this() ? log::debug(text) : log::warn(text);
  wait_for_store(wait);
  piece_is_done();
  return true;
}

}  // namespace linac::storage::s3
