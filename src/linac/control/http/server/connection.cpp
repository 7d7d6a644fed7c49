#include "linac/control/http/server/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/log.h"
#include "linac/base/base/utf8.h"
#include "linac/control/http/files/body_file.h"
#include "linac/control/http/files/disk_room.h"
#include "linac/control/http/files/file_response.h"
#include "linac/control/http/routes/error_response.h"
#include "linac/control/http/server/event_stream.h"
#include "linac/control/http/server/request_reader.h"
#include "linac/control/http/server/response_head.h"

// Conditions hold no co_await in this file: gcc 12 awaits the later conditions of an `else if` whatever the first one
// says.

namespace linac::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Outcome = RequestReader::Outcome;
using Seconds = Stream::Seconds;

constexpr Seconds kFirst{15}, kIdle{75}, kHead{15}, kBody{60}, kPiece{30}, kDrain{2}, kLinger{5};
constexpr uint64_t kDrainBytesMax = 256 * 1024;  // of the body of a refused request, so that its answer arrives
constexpr size_t kFilePieceBytes = 256 * 1024;

class Connection {
 public:
  Connection(ConnectionPlace place, Stream& stream, std::string from, Guest& guest)
      : place_(place), stream_(stream), reader_(stream), from_(std::move(from)), guest_(guest) {}

  Task<void> run() {
    place_.idle.insert(&stream_);
    guest_.waits();
    bool goes_on = co_await stream_.begin(kHead);
    place_.idle.erase(&stream_);
    while (goes_on && !place_.traffic.stopping) goes_on = co_await exchange();
    co_await stream_.end(kLinger);
    if (!unread_ || place_.traffic.stopping) co_return;
    place_.idle.insert(&stream_);
    guest_.waits();
    co_await stream_.linger(kLinger);
    place_.idle.erase(&stream_);
  }

 private:
  /// One request and its answer; whether another may follow.
  Task<bool> exchange() {
    Head head;
    head.from = from_;
    head.secure = place_.tls != nullptr;
    place_.idle.insert(&stream_);
    guest_.waits();
    const Outcome outcome = co_await reader_.read_head(head, guest_.proven() ? kIdle : kFirst, kHead);
    place_.idle.erase(&stream_);
    guest_.works();
    keep_ = outcome == Outcome::kDone && reader_.keep_alive();
    without_body_ = head.method == "HEAD";
    if (outcome == Outcome::kGone) co_return false;

    const auto begin = std::chrono::steady_clock::now();
    Admission admission;
    Response response;
    if (outcome != Outcome::kDone) {
      unread_ = true;
      response = bad_head(outcome);
    } else {
      admission = co_await place_.dispatcher.admit(std::move(head));
      response = co_await reply(admission);
      if (gone_) co_return false;
    }
    body_file_.reset();
    const int status = response.status;
    const bool sent = co_await send(response, admission.request);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    place_.traffic.answered(admission.route ? admission.route->name : "none", status, taken.count());
    co_return sent&& keep_;
  }

  static Response bad_head(Outcome outcome) {
    if (outcome == Outcome::kTooLarge)
      return refusal_response(
          "", 431, "INVALID_PARAMETER_VALUE",
          fmt::format("[service] the request's head is larger than {} bytes", RequestReader::kHeadBytesMax));
    return refusal_response("", 400, "INVALID_PARAMETER_VALUE", "[service] this is no HTTP request");
  }

  /// Reads the body, if the request may send one, and lets it be answered.
  Task<Response> reply(Admission& admission) {
    if (admission.refusal) {
      co_await drain();
      co_return std::move(*admission.refusal);
    }
    Request& request = admission.request;
    const Route& route = *admission.route;
    Outcome outcome = Outcome::kDone;
    std::exception_ptr failure;
    try {
      outcome = co_await read_body(route, request);
    } catch (...) {
      failure = std::current_exception();
    }
    if (request.body.size() > Traffic::kLargeBytes) place_.traffic.large = true;
    if (!failure && outcome == Outcome::kDone) {
      if (request.body.size() > LargeTurns::kTurnBytes) {
        co_await place_.large_turns.take();
      }
      Response response = co_await place_.dispatcher.answer(route, request);
      co_return response;
    }
    unread_ = true;
    keep_ = false;
    gone_ = outcome == Outcome::kGone;
    if (failure) co_return error_response(request.path, failure);
    if (outcome == Outcome::kTooLarge)
      co_return refusal_response(
          request.path, 413, "INVALID_PARAMETER_VALUE",
          fmt::format("[service] the body is larger than {} bytes; send less at a time", route.body_bytes_max));
    co_return refusal_response(request.path, 400, "INVALID_PARAMETER_VALUE",
                               "[service] the body is no HTTP, or did not come within a minute");
  }

  /// Reads and forgets a short body of a refused request, or ends the connection after the answer. Gives way meanwhile
  /// to whoever comes: a body that never does keeps nobody out.
  Task<void> drain() {
    if (!reader_.has_body()) co_return;
    if (reader_.expects_continue()) {
      keep_ = false;
      co_return;
    }
    place_.idle.insert(&stream_);
    guest_.waits();
    const Outcome outcome = co_await reader_.read_body(kDrainBytesMax, kDrain, kDrain, [](std::string_view) {});
    place_.idle.erase(&stream_);
    guest_.works();
    if (outcome != Outcome::kDone) {
      keep_ = false;
      unread_ = true;
    }
  }

  Task<Outcome> read_body(const Route& route, Request& request) {
    const uint64_t most = route.body == BodyKind::kNone ? kDrainBytesMax : route.body_bytes_max;
    if (reader_.content_length() && *reader_.content_length() > most) co_return Outcome::kTooLarge;
    if (reader_.has_body() && reader_.expects_continue()) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      const std::vector<asio::const_buffer> line = {asio::buffer(kContinue)};
      const bool told = co_await stream_.write(line, kPiece);
      if (!told) co_return Outcome::kGone;
    }
    RequestReader::Sink sink = [&](std::string_view bytes) { request.body.append(bytes); };
    if (route.body == BodyKind::kFile) {
      check_room(place_.uploads, static_cast<int64_t>(reader_.content_length().value_or(0)), place_.keep_free);
      body_file_.emplace(place_.uploads, place_.keep_free);
      request.body_file = body_file_->path();
      sink = [&](std::string_view bytes) { body_file_->append(bytes); };
    }
    const Seconds whole = route.body == BodyKind::kFile ? Seconds(0) : kBody;
    const Outcome outcome = co_await reader_.read_body(most, kPiece, whole, [&](std::string_view bytes) {
      place_.traffic.bytes_received_total += static_cast<int64_t>(bytes.size());
      sink(bytes);
    });
    co_return outcome;
  }

  /// Whether all of it went out.
  Task<bool> send(Response& response, const Request& request) {
    Dispatcher::secure(response, place_.tls != nullptr);
    if (response.pieces || response.body.size() > Traffic::kLargeBytes) place_.traffic.large = true;
    if (response.events) {
      keep_ = false;
      const bool sent = co_await send_events(response);
      co_return sent;
    }
    if (response.pieces && !without_body_) {
      const bool sent = co_await send_pieces(response);
      co_return sent;
    }
    if (response.file) prepare_range(request, response);
    if (place_.traffic.stopping) keep_ = false;
    const int64_t length = response.file ? response.file->length : static_cast<int64_t>(response.body.size());
    const std::string head = response_head(response, length, keep_);
    std::vector<asio::const_buffer> buffers = {asio::buffer(head)};
    if (!response.file && !without_body_) buffers.push_back(asio::buffer(response.body));
    bool sent = co_await stream_.write(buffers, kPiece);
    if (sent && response.file && !without_body_) sent = co_await send_file(*response.file);
    co_return sent;
  }

  Task<bool> send_file(const FileBody& file) {
    std::vector<char> piece(std::min<size_t>(kFilePieceBytes, static_cast<size_t>(file.length)));
    for (int64_t done = 0; done < file.length;) {
      const size_t filled = read_piece(file, done, piece);
      if (filled == 0) co_return false;  // it became shorter: end the connection rather than send what is not the file
      const std::vector<asio::const_buffer> buffers = {asio::buffer(piece.data(), filled)};
      const bool sent = co_await stream_.write(buffers, kPiece);
      if (!sent) co_return false;
      done += static_cast<int64_t>(filled);
    }
    co_return true;
  }

  /// In chunks; to a client that knows none, until the end of the connection.
  Task<bool> send_pieces(Response& response) {
    const bool chunks = !reader_.old();
    if (!chunks || place_.traffic.stopping) keep_ = false;
    if (chunks) response.headers.emplace_back("Transfer-Encoding", "chunked");
    std::string before = response_head(response, std::nullopt, keep_);
    for (bool more = true; more;) {
      const std::string piece = co_await response.pieces->next();
      more = !piece.empty();
      if (chunks) before += fmt::format("{:x}\r\n", piece.size());
      const std::string_view after = chunks ? "\r\n" : "";
      const std::vector<asio::const_buffer> buffers = {asio::buffer(before), asio::buffer(piece), asio::buffer(after)};
      const bool sent = co_await stream_.write(buffers, kPiece);
      if (!sent) co_return false;
      before.clear();
    }
    co_return true;
  }

  Task<bool> send_events(Response& response) {
    response.type = "text/event-stream";
    response.headers.emplace_back("X-Accel-Buffering", "no");
    const auto head =
        std::make_shared<const std::string>(response_head(response, std::nullopt, false) + "retry: 2000\n\n");
    std::vector<std::shared_ptr<const std::string>> events = {head};
    while (!response.events->ended()) {
      std::vector<asio::const_buffer> buffers;
      for (const auto& event : events) buffers.push_back(asio::buffer(*event));
      const bool sent = co_await stream_.write(buffers, kPiece);
      if (!sent) co_return false;
      events = co_await next_events(*response.events);
    }
    co_return true;
  }

  ConnectionPlace place_;
  Stream& stream_;
  RequestReader reader_;
  const std::string from_;
  Guest& guest_;
  std::optional<BodyFile> body_file_;
  bool keep_ = true, gone_ = false, without_body_ = false;
  bool unread_ = false;  // the client may still be sending a body that nobody wants
};

}  // namespace

Task<void> converse(ConnectionPlace place, tcp::socket socket, std::string from, std::shared_ptr<Guest> guest,
                    std::shared_ptr<Stream*> own_stream) {
  struct Count {
    Traffic& traffic;
    ~Count() { --traffic.connections; }
  };
  const Count count{place.traffic};
  boost::system::error_code error;
  socket.set_option(tcp::no_delay(true), error);
  const std::unique_ptr<Stream> stream = make_stream(std::move(socket), place.tls, place.own);
  *own_stream = stream.get();
  try {
    Connection connection(place, *stream, from, *guest);
    co_await connection.run();
  } catch (const std::exception& e) {
    log::error(fmt::format("[service] a connection from {} ended: {}", from, printable(e.what())));
  }
}

}  // namespace linac::http
