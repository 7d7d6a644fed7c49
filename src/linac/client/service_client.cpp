#include "linac/client/service_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/version.h"

namespace linac::client {
namespace {

using nlohmann::json;

constexpr long kConnectTimeout_s = 10;
constexpr long kStallTimeout_s = 120;  // without a byte; a request may wait 30 s for news
constexpr size_t kAnswerBytesMax = 1 << 30;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool loopback(const std::string& server) {
  const size_t begin = server.find("://") + 3;
  const std::string host = server.substr(begin, server.find_first_of(server[begin] == '[' ? "]" : ":/", begin) - begin);
  return host == "localhost" || host == "[::1" || host.starts_with("127.");
}

}  // namespace

struct ServiceClient::Handle {
  CURL* curl = curl_easy_init();
  ~Handle() { curl_easy_cleanup(curl); }
};

struct ServiceClient::Transfer {
  std::string method = "GET", type;
  std::string_view body;
  std::FILE* upload = nullptr;
  int64_t upload_bytes = 0;
  std::FILE* download = nullptr;  // for an answer of 2xx
  CURL* curl = nullptr;
  Answer answer;

  static size_t on_body(char* data, size_t, size_t size, void* context) {
    auto& transfer = *static_cast<Transfer*>(context);
    long status = 0;
    curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer.download != nullptr && status / 100 == 2) return std::fwrite(data, 1, size, transfer.download);
    if (transfer.answer.body.size() + size > kAnswerBytesMax) return 0;
    transfer.answer.body.append(data, size);
    return size;
  }

  static size_t on_header(char* data, size_t, size_t size, void* context) {
    const std::string_view line(data, size);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return size;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front()))) value.remove_prefix(1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back()))) value.remove_suffix(1);
    static_cast<Transfer*>(context)->answer.headers[name] = value;
    return size;
  }

  static size_t on_read(char* data, size_t, size_t size, void* context) {
    return std::fread(data, 1, size, static_cast<Transfer*>(context)->upload);
  }
};

ServiceClient::ServiceClient(Login login) : login_(std::move(login)), handle_(std::make_unique<Handle>()) {
  if (handle_->curl == nullptr) throw Error(ErrorCode::kInternal, "[client] libcurl cannot be used");
  if (!login_.token.empty() && login_.server.starts_with("http://") && !loopback(login_.server)) {
    throw user_error(fmt::format(
        "[client] the token would travel unencrypted to {}; use https:// (linac serve --tls-cert), or a tunnel",
        login_.server));
  }
}

ServiceClient::~ServiceClient() = default;

Answer ServiceClient::perform(const std::string& path, const Query& query, Transfer& transfer) {
  CURL* curl = transfer.curl = handle_->curl;
  curl_easy_reset(curl);
  std::string url = login_.server + path;
  for (size_t i = 0; i < query.size(); ++i)
    url += (i == 0 ? "?" : "&") + encoded(query[i].first) + "=" + encoded(query[i].second);
  std::unique_ptr<curl_slist, ListFree> headers(curl_slist_append(nullptr, "Expect:"));
  const auto add_header = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer != nullptr && !headers) headers.reset(longer);
  };
  if (!login_.token.empty()) add_header("Authorization: Bearer " + login_.token);
  if (!transfer.type.empty()) add_header("Content-Type: " + transfer.type);
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectTimeout_s);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallTimeout_s);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, (std::string("linac/") + kVersion).c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Transfer::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, Transfer::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  if (!login_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, login_.ca_file.c_str());
  // A service of one's own host is not behind a proxy.
  if (loopback(login_.server)) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (transfer.upload != nullptr) {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, Transfer::on_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(transfer.upload_bytes));
  } else if (transfer.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, transfer.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, transfer.method.c_str());
  const CURLcode result = curl_easy_perform(curl);
  if (result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST) {
    throw environment_error(
        fmt::format("[client] no service at {} ({}); start one with `linac serve`, or name another with --server or "
                    "LINAC_SERVER",
                    login_.server, reason[0] != 0 ? reason : curl_easy_strerror(result)));
  }
  if (result != CURLE_OK) {
    throw environment_error(fmt::format("[client] {}: the request broke off ({}); try again", login_.server,
                                        reason[0] != 0 ? reason : curl_easy_strerror(result)));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  transfer.answer.status = static_cast<int>(status);
  return std::move(transfer.answer);
}

void ServiceClient::refuse(const Answer& answer) const {
  const json problem = json::parse(answer.body, nullptr, false);
  std::string what = problem.is_object() ? problem.value("detail", problem.value("message", "")) : "";
  if (what.empty()) what = fmt::format("[client] {} answered with status {}", login_.server, answer.status);
  if (answer.status == 401)
    throw user_error(fmt::format("{}; `linac login --server {}` or LINAC_TOKEN says who you are", what, login_.server));
  if (answer.status >= 500 || answer.status == 429) throw environment_error(what);
  const bool of_data = problem.is_object() && problem.value("code", "") == "FAILED_PRECHECKS";
  throw Error(of_data ? ErrorCode::kData : ErrorCode::kUser, what);
}

json ServiceClient::checked_json(const Answer& answer) const {
  if (answer.status / 100 != 2) refuse(answer);
  json parsed = json::parse(answer.body, nullptr, false);
  if (parsed.is_discarded())
    throw environment_error(
        fmt::format("[client] {} answers, but not as a linac service does; is --server right?", login_.server));
  return parsed;
}

Answer ServiceClient::request(const std::string& method, const std::string& path, const Query& query,
                              std::string_view body, const std::string& type) {
  Transfer transfer;
  transfer.method = method;
  transfer.body = body;
  transfer.type = type;
  return perform(path, query, transfer);
}

json ServiceClient::get(const std::string& path, const Query& query) {
  return checked_json(request("GET", path, query, "", ""));
}

json ServiceClient::post(const std::string& path, const json& body) {
  const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return checked_json(request("POST", path, {}, text, "application/json"));
}

json ServiceClient::post_bytes(const std::string& path, const Query& query, std::string_view bytes) {
  return checked_json(request("POST", path, query, bytes, "application/octet-stream"));
}

Answer ServiceClient::get_text(const std::string& path, const Query& query) {
  Answer answer = request("GET", path, query, "", "");
  if (answer.status / 100 != 2) refuse(answer);
  return answer;
}

int64_t ServiceClient::download(const std::string& path, const std::filesystem::path& file) {
  if (file.has_parent_path()) make_folder(file.parent_path());
  const std::filesystem::path part = file.string() + fmt::format(".part.{}", ::getpid());
  File stream(std::fopen(part.c_str(), "wbe"));
  if (!stream) throw environment_error(fmt::format("[client] {}: cannot be written", part.string()));
  Transfer transfer;
  transfer.download = stream.get();
  Answer answer;
  try {
    answer = perform(path, {}, transfer);
  } catch (...) {
    ::unlink(part.c_str());
    throw;
  }
  const bool written = std::fflush(stream.get()) == 0;
  const int64_t bytes = std::ftell(stream.get());
  stream.reset();
  if (answer.status / 100 != 2) {
    ::unlink(part.c_str());
    refuse(answer);
  }
  if (!written || !put_in_place(part, file)) {
    ::unlink(part.c_str());
    throw environment_error(fmt::format("[client] {}: cannot be written; check space and permissions", file.string()));
  }
  return bytes;
}

json ServiceClient::upload(const std::string& path, const std::filesystem::path& file) {
  const File stream(std::fopen(file.c_str(), "rbe"));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (!stream || error) throw user_error(fmt::format("[client] {}: cannot be read; give a file", file.string()));
  Transfer transfer;
  transfer.method = "PUT";
  transfer.type = "application/octet-stream";
  transfer.upload = stream.get();
  transfer.upload_bytes = static_cast<int64_t>(bytes);
  const Answer answer = perform(path, {}, transfer);
  if (answer.status / 100 != 2) refuse(answer);
  const json parsed = json::parse(answer.body, nullptr, false);
  return parsed.is_discarded() ? json::object() : parsed;
}

std::string ServiceClient::encoded(const std::string& text, bool keep_slashes) {
  std::string result;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain || (c == '/' && keep_slashes))
      result += c;
    else
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

}  // namespace linac::client
