#pragma once
// Requests over http(s), for whoever talks to a server: the files of a URL (storage), the service (client). The one
// place that knows libcurl. What goes wrong is in the answer and not thrown: what to say about it, and whether to try
// again, the caller knows. One thread a client; several clients do not meet.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linac::net {

struct HttpSettings {
  std::string user_agent = "linac";
  std::string ca_file{};    // certificates to trust, PEM; where neither these nor others are named: SSL_CERT_FILE's and
  std::string ca_folder{};  // SSL_CERT_DIR's, else the system's; the folder has them by their hashes
  std::string client_cert{}, client_key{};                    // PEM; a proxy has both in one file
  std::string ca_pem{}, client_cert_pem{}, client_key_pem{};  // the same as texts, for whoever has no files of them
  int redirects_max = 0;                                      // followed; 0: an answer like others
  bool use_proxy = true;                                      // that of the environment
  std::chrono::seconds connect_timeout{15};
  std::chrono::seconds stall_timeout{30};  // with fewer bytes a second, on average
  int64_t stall_bytes_per_s = 1;
  std::function<bool()> go_on{};  // of every request that has none of its own
};

enum class HttpProblem {
  kNone,         // there is an answer, whatever its status is
  kUnreachable,  // no such host, or nobody listens
  kBroken,       // on the way; another try may help
  kHopeless,     // the URL, the certificate, too many redirects
  kRefused,      // `receive` would not have it, or the answer is larger than answer_bytes_max
  kStranger,     // who answers did not prove to be the one that is trusted, and nothing of the request was sent
};

struct HttpAnswer {
  HttpProblem problem = HttpProblem::kNone;
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; of the last answer where redirects were followed
  std::string body;                            // unless `receive` took it
  std::string what, details;                   // of a problem, in libcurl's words: short, and as much as is known

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// Signs a request as Amazon's Signature Version 4 for S3. Such a request follows no redirect: the signature is for one
/// host, and where to turn to instead the caller decides.
struct AwsKeys {
  std::string region;  // letters, digits and dashes
  std::string id, secret;
  std::string session_token{};
};

inline constexpr size_t kHttpAnswerBytesMax = size_t{1} << 30;  // in memory

struct HttpRequest {
  std::string url;
  std::string method = "GET";
  std::vector<std::string> headers{};  // "Range: bytes=5-"
  std::optional<AwsKeys> sign{};       // a body is signed, what `upload` gives is not
  bool path_as_is = false;             // "a/../b" names that, and not "b"
  std::string_view body{};             // must live as long as the request
  /// In place of a body, `upload_bytes` in pieces: fills the room it is given, and returns how much of it.
  std::function<size_t(char* room, size_t bytes)> upload{};
  int64_t upload_bytes = 0;
  /// Takes the body as it comes; status and headers are known then. False breaks the request off.
  std::function<bool(const HttpAnswer& answer, std::string_view bytes)> receive{};
  size_t answer_bytes_max = kHttpAnswerBytesMax;  // without `receive`
  /// Asked about once a second, also while nothing comes: false breaks the request off (kBroken), and what it throws
  /// leaves perform().
  std::function<bool()> go_on{};
};

class HttpClient {
 public:
  /// Environment error if libcurl cannot start.
  explicit HttpClient(HttpSettings settings = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// From now on a server of https has to have the certificate with this SHA-256 (of its DER form, 64 hexadecimal
  /// digits), whatever is in it, and no other is trusted.
  void trust_only(std::string certificate_sha256);
  /// Keeps the connection for the next request to the same server.
  HttpAnswer perform(const HttpRequest& request);

 private:
  struct Handle;
  const HttpSettings settings_;
  std::unique_ptr<Handle> handle_;
};

/// Whether the same request may find another answer later.
bool worth_another_try(const HttpAnswer& answer);
/// How long the server wants to be left alone (Retry-After in seconds), at most half a minute; 0 if it does not say.
std::chrono::seconds wait_asked_for(const HttpAnswer& answer);

/// The URL without what may be secret in it: the user's name and password, and the query of a signed address.
std::string without_secrets(const std::string& url);
/// Whether the URL's host is this machine by its loopback address.
bool is_loopback(const std::string& url);

}  // namespace linac::net
