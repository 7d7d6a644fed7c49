#pragma once
// One service, as the verbs see it: requests that answer with JSON, and files up and down. Refusals and failures are
// errors that carry the service's own words. One thread.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/client/login.h"
#include "linac/net/http_client.h"

namespace linac::client {

using Query = std::vector<std::pair<std::string, std::string>>;

using Answer = net::HttpAnswer;

class ServiceClient {
 public:
  /// Nothing is sent yet. User error for a token that would travel unencrypted to another host.
  explicit ServiceClient(Login login);
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;

  const Login& login() const { return login_; }

  /// What went wrong is thrown: user error for 4xx (401 says how to log in), data error where the service says so,
  /// environment error for a service that is not there, does not answer or fails.
  nlohmann::json get(const std::string& path, const Query& query = {});
  nlohmann::json post(const std::string& path, const nlohmann::json& body);
  nlohmann::json put(const std::string& path, const nlohmann::json& body);
  nlohmann::json remove(const std::string& path);
  Answer get_text(const std::string& path, const Query& query = {});
  nlohmann::json post_bytes(const std::string& path, const Query& query, std::string_view bytes);
  /// `file` appears whole or not at all. Returns its bytes.
  int64_t download(const std::string& path, const std::filesystem::path& file);
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
  net::HttpClient http_;
};

}  // namespace linac::client
