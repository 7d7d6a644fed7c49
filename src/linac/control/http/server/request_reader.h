#pragma once
// Requests out of a stream of bytes (Beast's parser, fed by hand): first the head, then, when it is known what the
// request may send, its body in pieces. For the one coroutine of its connection.

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "linac/control/http/routes/dispatcher.h"
#include "linac/control/http/server/stream.h"

namespace linac::http {

class RequestReader {
 public:
  explicit RequestReader(Stream& stream) : stream_(stream) {}

  enum class Outcome { kDone, kGone, kTooLarge, kBroken };  // broken: no HTTP, or no end within the time

  /// The next request's head into `head` (all but `from` and `secure`): its first byte within `wait`, all of it within
  /// `limit` from there.
  Task<Outcome> read_head(Head& head, Stream::Seconds wait, Stream::Seconds limit);
  bool keep_alive() const { return keep_alive_; }
  bool old() const { return old_; }  // HTTP/1.0: takes no chunks
  bool expects_continue() const { return expects_continue_; }
  std::optional<uint64_t> content_length() const { return content_length_; }
  bool has_body() const { return head_ && !head_->is_done(); }

  /// The body, piece by piece; `sink` may throw. `whole_limit`: of the whole body; 0: it may take as
  /// long as it comes at kBytesPerSecondMin, after the first kSlowStart.
  using Sink = std::function<void(std::string_view)>;
  Task<Outcome> read_body(uint64_t bytes_max, Stream::Seconds piece_limit, Stream::Seconds whole_limit, Sink sink);

  static constexpr uint32_t kHeadBytesMax = 32 * 1024;
  static constexpr size_t kPieceBytes = 256 * 1024;
  static constexpr int64_t kBytesPerSecondMin = 1024;
  static constexpr Stream::Seconds kSlowStart{20};

 private:
  Task<bool> more(Stream::Seconds limit);

  Stream& stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> head_;
  bool keep_alive_ = false, expects_continue_ = false, old_ = false;
  std::optional<uint64_t> content_length_;
};

}  // namespace linac::http
