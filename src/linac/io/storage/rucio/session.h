#pragma once
// Requests to a Rucio server with a token of the user: tried again where that helps, and otherwise errors that name the
// data, the answer and a way out. The process has one token a server and account, for all sessions. One thread each.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/io/net/http_client.h"
#include "linac/io/storage/rucio/access.h"

namespace linac::storage::rucio {

class Session {
 public:
  explicit Session(Access access);

  const Access& access() const { return access_; }
  /// The lines of the answer, each a JSON value. `path` begins with a slash and is escaped (io/storage/percent.h);
  /// `what` is the data that is asked for, for errors. Data error for what Rucio does not know or refuses, Unreachable
  /// where nobody answers, environment error else.
  std::vector<nlohmann::json> get(const std::string& path, const std::string& what);
  std::vector<nlohmann::json> post(const std::string& path, const nlohmann::json& body, const std::string& what);
  /// Whether Rucio knows it; other errors as above.
  bool is_there(const std::string& path, const std::string& what);
  /// A POST that makes something, and whose answer says nothing.
  void make(const std::string& path, const nlohmann::json& body, const std::string& what);

 private:
  /// With a token; of a status below 500.
  net::HttpAnswer answered(const std::string& method, const std::string& path, const std::string& body);
  [[noreturn]] void refuse(const net::HttpAnswer& answer, const std::string& what) const;
  net::HttpAnswer tried(const net::HttpRequest& request);
  const std::string& token();
  std::string fetched_token();

  const Access access_;
  net::HttpClient client_;
  std::string token_;
  bool stored_token_refused_ = false;
};
}  // namespace linac::storage::rucio
