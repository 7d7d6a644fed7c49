#include "linac/control/client/service_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/version.h"
#include "linac/control/client/service_certificate.h"

namespace linac::client {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kConnectTimeout{10};
constexpr std::chrono::seconds kStallTimeout{120};  // a request may wait 30 s for news

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// Of an answer that may be anything; empty if it has no such text.
std::string text_of(const json& answer, const char* field) {
  if (!answer.is_object()) return "";
  const auto found = answer.find(field);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

net::HttpSettings settings_of(const Login& login) {
  // A service of one's own host is not behind a proxy.
  return {.user_agent = std::string("linac/") + kVersion,
          .ca_file = login.ca_file,
          .use_proxy = !net::is_loopback(login.server),
          .connect_timeout = kConnectTimeout,
          .stall_timeout = kStallTimeout};
}

}  // namespace

ServiceClient::ServiceClient(Login login) : login_(std::move(login)), http_(settings_of(login_)) {
  if (!login_.token.empty() && login_.server.starts_with("http://") && !net::is_loopback(login_.server)) {
    throw user_error(fmt::format(
        "[client] the token would travel unencrypted to {}; use https:// (linac serve --tls-cert), or a tunnel",
        login_.server));
  }
  http_.trust_only(certificate_of_service(login_));
}

Answer ServiceClient::perform(const std::string& path, const Query& query, net::HttpRequest request,
                              const std::string& type) {
  request.url = (certificate_of_service(login_).empty() ? login_.server : by_tls(login_.server)) + path;
  for (size_t i = 0; i < query.size(); ++i)
    request.url += (i == 0 ? "?" : "&") + percent_encoded(query[i].first) + "=" + percent_encoded(query[i].second);
  if (!login_.token.empty()) request.headers.push_back("Authorization: Bearer " + login_.token);
  if (!type.empty()) request.headers.push_back("Content-Type: " + type);
  request.headers.insert(request.headers.end(), manners_.headers.begin(), manners_.headers.end());
  request.answer_bytes_max = manners_.answer_bytes_max;
  request.go_on = manners_.go_on;
  Answer answer = http_.perform(request);
  if (answer.problem == net::HttpProblem::kUnreachable) {
    throw environment_error(
        fmt::format("[client] no service at {} ({}); start one with `linac serve`, or name another with --server or "
                    "LINAC_SERVER",
                    login_.server, answer.details));
  }
  if (answer.problem == net::HttpProblem::kStranger) {
    throw environment_error(fmt::format(
        "[client] who answers at {} did not prove to be the service of this token, and was not sent it ({}); a service "
        "with a new key makes new tokens (linac serve token --new), and where a proxy of this host speaks for it "
        "LINAC_UNPROVEN=1 sends them all the same",
        login_.server, answer.details));
  }
  if (answer.problem != net::HttpProblem::kNone) {
    throw environment_error(
        fmt::format("[client] {}: the request broke off ({}); try again", login_.server, answer.details));
  }
  return answer;
}

void ServiceClient::refuse(const Answer& answer) const {
  const json problem = json::parse(answer.body, nullptr, false);
  std::string what = text_of(problem, "detail");
  if (what.empty()) what = text_of(problem, "message");
  if (what.empty()) what = fmt::format("[client] {} answered with status {}", login_.server, answer.status);
  if (answer.status == 401)
    what += fmt::format("; `linac login --server {}` or LINAC_TOKEN says who you are", login_.server);
  if (answer.status >= 500 || answer.status == 429) throw environment_error(what);
  const std::string code = text_of(problem, "code");
  throw ServiceRefusal(code == "FAILED_PRECHECKS" ? ErrorCode::kData : ErrorCode::kUser, what, answer.status, code);
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
  return perform(path, query, {.url = {}, .method = method, .body = body}, type);
}

json ServiceClient::get(const std::string& path, const Query& query) {
  return checked_json(request("GET", path, query, "", ""));
}

json ServiceClient::send_json(const char* method, const std::string& path, const json& body) {
  const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return checked_json(request(method, path, {}, text, "application/json"));
}

json ServiceClient::post(const std::string& path, const json& body) {
  return send_json("POST", path, body);
}

json ServiceClient::put(const std::string& path, const json& body) {
  return send_json("PUT", path, body);
}

json ServiceClient::remove(const std::string& path, const Query& query) {
  return checked_json(request("DELETE", path, query, "", ""));
}

json ServiceClient::post_bytes(const std::string& path, const Query& query, std::string_view bytes) {
  return checked_json(request("POST", path, query, bytes, "application/octet-stream"));
}

Answer ServiceClient::get_text(const std::string& path, const Query& query) {
  Answer answer = request("GET", path, query, "", "");
  if (answer.status / 100 != 2) refuse(answer);
  return answer;
}

int64_t ServiceClient::download(const std::string& path, const std::filesystem::path& file, int64_t bytes_max) {
  if (file.has_parent_path()) make_folder(file.parent_path());
  const std::filesystem::path part = file.string() + fmt::format(".part.{}", ::getpid());
  File stream(std::fopen(part.c_str(), "wbe"));
  if (!stream) throw environment_error(fmt::format("[client] {}: cannot be written", part.string()));
  net::HttpRequest request;
  std::string refusal;  // what the service says where it does not send the file
  int64_t room = bytes_max;
  request.receive = [&](const Answer& head, std::string_view bytes) {
    if (head.status / 100 == 2 && (room -= static_cast<int64_t>(bytes.size())) < 0) return false;
    if (head.status / 100 == 2) return std::fwrite(bytes.data(), 1, bytes.size(), stream.get()) == bytes.size();
    if (refusal.size() + bytes.size() > net::kHttpAnswerBytesMax) return false;
    refusal += bytes;
    return true;
  };
  Answer answer;
  try {
    answer = perform(path, {}, request, "");
  } catch (...) {
    ::unlink(part.c_str());
    throw;
  }
  const bool written = std::fflush(stream.get()) == 0;
  const int64_t bytes = std::ftell(stream.get());
  stream.reset();
  if (answer.status / 100 != 2) {
    ::unlink(part.c_str());
    answer.body = std::move(refusal);
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
  net::HttpRequest request;
  request.method = "PUT";
  request.upload = [&](char* room, size_t size) { return std::fread(room, 1, size, stream.get()); };
  request.upload_bytes = static_cast<int64_t>(bytes);
  const Answer answer = perform(path, {}, request, "application/octet-stream");
  if (answer.status / 100 != 2) refuse(answer);
  const json parsed = json::parse(answer.body, nullptr, false);
  return parsed.is_discarded() ? json::object() : parsed;
}

}  // namespace linac::client
