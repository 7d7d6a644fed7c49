#include "linac/control/http/server/request_reader.h"
#include "linac/base/base/lower_ascii.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace linac::http {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

using Clock = std::chrono::steady_clock;

/// Whole seconds, so that the last one is not cut short.
Stream::Seconds left_of(Clock::time_point begun, Stream::Seconds limit) {
  return std::chrono::ceil<Stream::Seconds>(begun + limit - Clock::now());
}

bool too_slow(Clock::duration taken, int64_t bytes) {
  const auto late = std::chrono::duration_cast<Stream::Seconds>(taken - RequestReader::kSlowStart).count();
  return late > 0 && bytes < late * RequestReader::kBytesPerSecondMin;
}

// Where a body ends by another coding than `chunked` it cannot be told from the next request (RFC 9112, 6.1).
bool knows_framing(const http::request<http::empty_body>& message) {
  const size_t codings = message.count(http::field::transfer_encoding);
  return codings == 0 || (codings == 1 && message.version() >= 11 && message.count(http::field::content_length) == 0 &&
                          beast::iequals(message[http::field::transfer_encoding], "chunked"));
}

void fill(Head& head, const http::request<http::empty_body>& message) {
  head.method = std::string(message.method_string());
  head.target = std::string(message.target());
  for (const auto& field : message) {
    std::string& value = head.headers[lower_ascii(field.name_string())];
    if (!value.empty()) value += ", ";
    value += std::string(field.value());
  }
}

}  // namespace

Task<bool> RequestReader::more(Stream::Seconds limit) {
  constexpr size_t kReadBytes = 64 * 1024;
  const size_t bytes = co_await stream_.read_some(buffer_.prepare(kReadBytes), limit);
  buffer_.commit(bytes);
  co_return bytes > 0;
}

Task<RequestReader::Outcome> RequestReader::read_head(Head& head, Stream::Seconds wait, Stream::Seconds limit) {
  head_.emplace();
  head_->header_limit(kHeadBytesMax);
  head_->body_limit(boost::none);
  std::optional<Clock::time_point> begun;
  while (!head_->is_header_done()) {
    if (buffer_.size() > 0) {
      if (!begun) begun = Clock::now();
      error_code error;
      buffer_.consume(head_->put(buffer_.data(), error));
      if (error == http::error::header_limit) co_return Outcome::kTooLarge;
      if (error && error != http::error::need_more) co_return Outcome::kBroken;
      if (head_->is_header_done()) break;
      if (buffer_.size() > kHeadBytesMax) co_return Outcome::kTooLarge;
    }
    const Stream::Seconds left = begun ? left_of(*begun, limit) : wait;
    if (left.count() <= 0) co_return Outcome::kGone;
    const bool came = co_await more(left);
    if (!came) co_return Outcome::kGone;
  }
  if (!knows_framing(head_->get())) co_return Outcome::kBroken;
  fill(head, head_->get());
  keep_alive_ = head_->keep_alive();
  old_ = head_->get().version() < 11;
  expects_continue_ = beast::iequals(head_->get()[http::field::expect], "100-continue");
  content_length_.reset();
  if (head_->content_length()) content_length_ = *head_->content_length();
  co_return Outcome::kDone;
}

Task<RequestReader::Outcome> RequestReader::read_body(uint64_t bytes_max, Stream::Seconds piece_limit,
                                                      Stream::Seconds whole_limit, Sink sink) {
  if (!has_body()) co_return Outcome::kDone;
  if (content_length_ && *content_length_ > bytes_max) co_return Outcome::kTooLarge;
  const auto begin = std::chrono::steady_clock::now();
  int64_t received = 0;
  http::request_parser<http::buffer_body> body(std::move(*head_));
  head_.reset();
  body.body_limit(bytes_max);
  body.eager(true);
  // Of what is known to be small no more than that: a thousand connections may wait for their next request.
  std::string piece(std::clamp<uint64_t>(content_length_.value_or(kPieceBytes), 1, kPieceBytes), '\0');
  while (!body.is_done()) {
    error_code error = http::error::need_more;
    if (buffer_.size() > 0) {
      auto& place = body.get().body();
      place.data = piece.data();
      place.size = piece.size();
      place.more = true;
      error = {};
      buffer_.consume(body.put(buffer_.data(), error));
      if (const size_t filled = piece.size() - place.size; filled > 0) sink({piece.data(), filled});
      if (error == http::error::need_buffer) continue;
      if (error == http::error::body_limit) co_return Outcome::kTooLarge;
      if (error && error != http::error::need_more) co_return Outcome::kBroken;
      if (body.is_done()) break;
    }
    const bool came = co_await more(piece_limit);
    if (!came) co_return Outcome::kGone;
    const auto taken = std::chrono::steady_clock::now() - begin;
    if (whole_limit.count() > 0 && taken > whole_limit) co_return Outcome::kBroken;
    received += static_cast<int64_t>(buffer_.size());
    if (whole_limit.count() == 0 && too_slow(taken, received)) co_return Outcome::kBroken;
  }
  co_return Outcome::kDone;
}

}  // namespace linac::http
