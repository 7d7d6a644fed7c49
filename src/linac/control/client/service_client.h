#pragma once
// One service, as the verbs see it: requests that answer with JSON, and files up and down. Refusals and failures are
// errors that carry the service's own words. One thread.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/control/client/login.h"
#include "linac/io/net/http_client.h"

namespace linac::client {

using Query = std::vector<std::pair<std::string, std::string>>;

using Answer = net::HttpAnswer;

/// An answer of 4xx, in the service's words; an error of the user, or of data where the service says so.
class ServiceRefusal : public Error {
 public:
  ServiceRefusal(ErrorCode error, const std::string& message, int status, std::string code)
      : Error(error, message), status_(status), service_code_(std::move(code)) {}
  int status() const { return status_; }
  const std::string& service_code() const { return service_code_; }  // "INVALID_STATE"; empty: it said none

 private:
  int status_;
  std::string service_code_;
};

/// What holds for all requests of a client.
struct Manners {
  std::vector<std::string> headers{};  // beside its own: "Linac-Lease: ..."
  size_t answer_bytes_max = net::kHttpAnswerBytesMax;
  std::function<bool()> go_on{};  // see net::HttpRequest
};

class ServiceClient {
 public:
  /// Nothing is sent yet. User error for a token that would travel unencrypted to another host. One that names its
  /// service's certificate goes to nobody else at a loopback address (service_certificate.h).
  explicit ServiceClient(Login login);
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;

  const Login& login() const { return login_; }
  void set_manners(Manners manners) { manners_ = std::move(manners); }

  /// What went wrong is thrown: ServiceRefusal for 4xx (401 says how to log in), data error where the service says so,
  /// environment error for a service that is not there, does not answer or fails.
  nlohmann::json get(const std::string& path, const Query& query = {});
  nlohmann::json post(const std::string& path, const nlohmann::json& body);
  nlohmann::json put(const std::string& path, const nlohmann::json& body);
  nlohmann::json remove(const std::string& path, const Query& query = {});
  Answer get_text(const std::string& path, const Query& query = {});
  nlohmann::json post_bytes(const std::string& path, const Query& query, std::string_view bytes);
  /// `file` appears whole or not at all. Returns its bytes; more than `bytes_max` are an environment error.
  int64_t download(const std::string& path, const std::filesystem::path& file,
                   int64_t bytes_max = std::numeric_limits<int64_t>::max());
  nlohmann::json upload(const std::string& path, const std::filesystem::path& file);

  /// An answer whatever its status is; environment error if there is none.
  Answer request(const std::string& method, const std::string& path, const Query& query, std::string_view body,
                 const std::string& type);

 private:
  Answer perform(const std::string& path, const Query& query, net::HttpRequest request, const std::string& type);
  [[noreturn]] void refuse(const Answer& answer) const;
  nlohmann::json checked_json(const Answer& answer) const;
  nlohmann::json send_json(const char* method, const std::string& path, const nlohmann::json& body);

  Login login_;
  Manners manners_;
  net::HttpClient http_;
};

}  // namespace linac::client
