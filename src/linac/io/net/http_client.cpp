#include "linac/io/net/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"

namespace linac::net {
namespace {

// A server refuses a large body before it comes, if it knows how; no longer is it waited for.
constexpr long kExpectWait_ms = 100;
// libcurl's own 16 KiB take a call of the system, and several of its own, for each 16 KiB of a large body.
constexpr long kReceiveBytes = long{128} << 10;

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderLines = std::unique_ptr<curl_slist, ListFree>;

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  LINAC_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  return in_hex(std::span(digest, size));
}

HeaderLines header_lines(const HttpRequest& request) {
  HeaderLines lines;
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(lines.get(), line.c_str());
    if (longer != nullptr && !lines) lines.reset(longer);
  };
  // Or a body of some size waits a second for a server that does not know what is expected. libcurl 7.88 would sign the
  // empty line, which is not sent.
  if (!request.sign) add("Expect:");
  for (const std::string& line : request.headers) add(line);
  if (request.sign) {
    add("x-amz-content-sha256: " + (request.upload ? "UNSIGNED-PAYLOAD" : sha256(request.body)));
    if (!request.sign->session_token.empty()) add("x-amz-security-token: " + request.sign->session_token);
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// What libcurl's callbacks need. They must not throw: what `receive` or `upload` throws is kept for afterwards.
struct Exchange {
  CURL* curl;
  const HttpRequest& request;
  const std::function<bool()>& go_on;
  HttpAnswer answer{};
  bool headers_ended =
      false;  // an empty line has come: libcurl takes those of a connection that is cut before it for all
  std::exception_ptr thrown{};

  template <class Work>
  size_t guarded(size_t failed, const Work& work) {
    try {
      return work();
    } catch (...) {
      thrown = std::current_exception();
      return failed;
    }
  }

  size_t take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {
      answer.headers.clear();  // a redirect's come before the answer's
      headers_ended = false;
    }
    if (line == "\r\n" || line == "\n") headers_ended = true;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return line.size();
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = trimmed(line.substr(colon + 1));
    return line.size();
  }

  size_t take_body(std::string_view bytes) {
    read_status();
    if (request.receive) return request.receive(answer, bytes) ? bytes.size() : 0;
    if (answer.body.size() + bytes.size() > request.answer_bytes_max) return 0;
    answer.body.append(bytes);
    return bytes.size();
  }

  void read_status() {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
  }

  static size_t on_header(char* data, size_t, size_t size, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    return self.guarded(0, [&] { return self.take_header({data, size}); });
  }
  static size_t on_body(char* data, size_t, size_t size, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    return self.guarded(0, [&] { return self.take_body({data, size}); });
  }
  static int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& self = *static_cast<Exchange*>(context);
    return self.guarded(0, [&] { return self.go_on() ? size_t{1} : size_t{0}; }) == 1 ? 0 : 1;
  }
  static size_t on_upload(char* room, size_t, size_t size, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    return self.guarded(CURL_READFUNC_ABORT, [&] { return self.request.upload(room, size); });
  }
};

/// What to trust. libcurl has the system's of the machine that built it; the variables are OpenSSL's.
void set_authorities(CURL* curl, const HttpSettings& settings) {
  std::string file = settings.ca_file, folder = settings.ca_folder;
  if (file.empty() && folder.empty() && settings.ca_pem.empty()) {
    const auto said = [](const char* name) {
      return std::string(std::getenv(name) == nullptr ? "" : std::getenv(name));
    };
    file = said("SSL_CERT_FILE"), folder = said("SSL_CERT_DIR");
  }
  if (!file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, file.c_str());
  if (!folder.empty()) curl_easy_setopt(curl, CURLOPT_CAPATH, folder.c_str());
}

/// OpenSSL's check of what a server shows, in place of its own. The handshake then proves that it has the key.
int is_the_one(X509_STORE_CTX* check, void* wanted) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const X509* shown = X509_STORE_CTX_get0_cert(check);
  const bool is_it = shown != nullptr && X509_digest(shown, EVP_sha256(), digest, &size) == 1 &&
                     in_hex(std::span(digest, size)) == *static_cast<const std::string*>(wanted);
  X509_STORE_CTX_set_error(check, is_it ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  return is_it ? 1 : 0;
}

CURLcode trust_the_one(CURL*, void* context, void* wanted) {
  SSL_CTX_set_cert_verify_callback(static_cast<SSL_CTX*>(context), is_the_one, wanted);
  return CURLE_OK;
}

/// Refuses every server where libcurl cannot be told.
void set_certificate(CURL* curl, const std::string& sha256) {
  for (const CURLoption authorities : {CURLOPT_CAINFO, CURLOPT_CAPATH})
    curl_easy_setopt(curl, authorities, static_cast<const char*>(nullptr));  // not read for nothing
  curl_easy_setopt(curl, CURLOPT_SSL_CTX_DATA, &sha256);
  if (curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, trust_the_one) == CURLE_OK)
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
}

/// Whether somebody was there who was sent nothing: before the first byte the handshake has to be done.
bool met_stranger(CURL* curl, CURLcode code) {
  switch (code) {
    case CURLE_OK:
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_URL_MALFORMAT:
    case CURLE_ABORTED_BY_CALLBACK:
      return false;
    default:
      break;
  }
  long sent_bytes = 0;
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent_bytes);
  return sent_bytes == 0;
}

HttpProblem problem_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpProblem::kNone;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return HttpProblem::kUnreachable;
    case CURLE_WRITE_ERROR:
      return HttpProblem::kRefused;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return HttpProblem::kHopeless;
    default:
      return HttpProblem::kBroken;
  }
}

}  // namespace

struct HttpClient::Handle {
  CURL* curl = nullptr;
  std::string certificate_sha256{};  // the only one that is trusted; empty: see the settings
  ~Handle() { curl_easy_cleanup(curl); }
};

HttpClient::HttpClient(HttpSettings settings) : settings_(std::move(settings)), handle_(std::make_unique<Handle>()) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once == CURLE_OK) handle_->curl = curl_easy_init();
  if (handle_->curl == nullptr) throw environment_error("[http] libcurl cannot start; check its installation");
}

HttpClient::~HttpClient() = default;

void HttpClient::trust_only(std::string certificate_sha256) {
  handle_->certificate_sha256 = std::move(certificate_sha256);
}

HttpAnswer HttpClient::perform(const HttpRequest& request) {
  CURL* const curl = handle_->curl;
  curl_easy_reset(curl);
  Exchange exchange{.curl = curl, .request = request, .go_on = request.go_on ? request.go_on : settings_.go_on};
  const HeaderLines headers = header_lines(request);
  char details[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, settings_.redirects_max > 0 && !request.sign ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, static_cast<long>(settings_.redirects_max));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings_.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(settings_.stall_bytes_per_s));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings_.stall_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, settings_.user_agent.c_str());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, details);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, Exchange::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Exchange::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  if (request.receive) curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kReceiveBytes);
  if (exchange.go_on) {
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, Exchange::on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  }
  if (handle_->certificate_sha256.empty())
    set_authorities(curl, settings_);
  else
    set_certificate(curl, handle_->certificate_sha256);
  if (!settings_.client_cert.empty()) curl_easy_setopt(curl, CURLOPT_SSLCERT, settings_.client_cert.c_str());
  if (!settings_.client_key.empty()) curl_easy_setopt(curl, CURLOPT_SSLKEY, settings_.client_key.c_str());
  // libcurl keeps no copy: the settings live as long as the handle.
  const auto set_text = [&](CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
    curl_easy_setopt(curl, option, &blob);
  };
  set_text(CURLOPT_CAINFO_BLOB, settings_.ca_pem);
  set_text(CURLOPT_SSLCERT_BLOB, settings_.client_cert_pem);
  set_text(CURLOPT_SSLKEY_BLOB, settings_.client_key_pem);
  if (!settings_.use_proxy) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (request.path_as_is) curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  if (request.sign) {
    const std::string scope = "aws:amz:" + request.sign->region + ":s3";
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scope.c_str());
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, kExpectWait_ms);
    curl_easy_setopt(curl, CURLOPT_USERNAME, request.sign->id.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, request.sign->secret.c_str());
  }
  if (request.upload) {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, Exchange::on_upload);
    curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.upload_bytes));
  } else if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  const CURLcode code = curl_easy_perform(curl);
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  exchange.read_status();
  exchange.answer.problem = problem_of(code);
  if (!handle_->certificate_sha256.empty() && met_stranger(curl, code))
    exchange.answer.problem = HttpProblem::kStranger;
  if (code == CURLE_OUT_OF_MEMORY && !exchange.headers_ended) {  // what libcurl calls a header beyond its limit
    exchange.answer.problem = HttpProblem::kHopeless;
    exchange.answer.what = exchange.answer.details = "The head of its answer is too large";
  } else if (code != CURLE_OK) {
    exchange.answer.what = curl_easy_strerror(code);
    exchange.answer.details = details[0] != 0 ? details : exchange.answer.what;
  } else if (!exchange.headers_ended || exchange.answer.status < 200) {
    exchange.answer.problem = HttpProblem::kBroken;
    exchange.answer.what = exchange.answer.details = "The answer ends before its headers do";
  }
  return std::move(exchange.answer);
}

bool worth_another_try(const HttpAnswer& answer) {
  switch (answer.problem) {
    case HttpProblem::kNone:
      return answer.status >= 500 || answer.status == 408 || answer.status == 416 || answer.status == 429;
    case HttpProblem::kUnreachable:
    case HttpProblem::kBroken:
      return true;
    default:
      return false;
  }
}

std::chrono::seconds wait_asked_for(const HttpAnswer& answer) {
  constexpr std::chrono::seconds kMost{30};
  const std::string named = answer.header("retry-after");
  int seconds = 0;
  std::from_chars(named.data(), named.data() + named.size(), seconds);
  return std::clamp(std::chrono::seconds(seconds), std::chrono::seconds(0), kMost);
}

std::string without_secrets(const std::string& url) {
  std::string text = url.substr(0, url.find_first_of("?#"));
  const size_t host = text.find("://") + 3;
  const size_t at = text.find('@', host);
  if (at < text.find('/', host)) text.erase(host, at + 1 - host);
  return text;
}

bool is_loopback(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  const std::string host = url.substr(begin, url.find_first_of(url[begin] == '[' ? "]" : ":/", begin) - begin);
  in_addr address = {};  // a name may begin like an address
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  constexpr uint32_t kLoopbackNetwork = 127;
  return host == "localhost" || host == "[::1" || (is_address && ntohl(address.s_addr) >> 24 == kLoopbackNetwork);
}

}  // namespace linac::net
