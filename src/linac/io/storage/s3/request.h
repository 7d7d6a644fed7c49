#pragma once
// Requests to an object store: signed, tried again with growing waits where that helps, and otherwise errors that name
// the object, the range, the answer and a way out. A session keeps its connection; one thread each.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "linac/io/storage/s3/access.h"
#include "linac/io/storage/s3/address.h"
#include "linac/io/storage/s3/xml.h"
#include "linac/io/storage/store.h"

namespace linac::storage::s3 {

/// How long a request is tried. Bytes that arrive begin it anew.
struct Patience {
  int attempts = 8;
  int attempts_unreachable = 4;  // nobody listens, or there is no such host
  std::chrono::milliseconds first_wait{250};
  std::chrono::milliseconds wait_max{8000};
  std::chrono::seconds all{120};  // no attempt begins after that
  std::chrono::seconds stall{30};
};

struct Call {
  Address address;
  std::string method = "GET";
  Query query{};
  std::vector<std::string> headers{};
  std::string_view body{};
  std::string part{};  // for errors: ", bytes 5 to 9"
  /// Takes the body of an answer 2xx in pieces; false breaks off. Without: it is in the answer, up to kXmlBytesMax.
  std::function<bool(const net::HttpAnswer& head, std::string_view bytes)> receive{};
  bool slow_answer = false;  // the server may work for minutes before it answers
};

struct Answer {
  net::HttpAnswer http;
  ErrorAnswer error;  // of a status that is none of success, or an error in the body of one
  bool good() const;
};

class Session {
 public:
  explicit Session(Access access, Patience patience = {});

  /// One attempt.
  Answer attempt(const Call& call);
  /// Tried until it is good, or an error.
  Answer perform(const Call& call);
  [[noreturn]] void fail(const Call& call, const Answer& answer) const;

  const Access& access() const { return access_; }
  const Patience& patience() const { return patience_; }

 private:
  bool is_secret(const std::string& text) const;

  const Access access_;
  const Patience patience_;
  net::HttpClient client_, slow_client_;
};

/// The attempts at one piece of work.
class Attempts {
 public:
  explicit Attempts(const Patience& patience);
  /// Waits before another one, with a warning. False where none may help, or patience is at its end.
  bool another(const Call& call, const Answer& failed);
  /// Something was reached: the count and the time begin anew.
  void begin_anew();

 private:
  const Patience& patience_;
  int failed_ = 0;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace linac::storage::s3
