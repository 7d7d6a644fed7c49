#include "linac/control/sites/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "linac/base/base/percent.h"
#include "linac/base/base/utf8.h"
#include "linac/io/net/http_client.h"

namespace linac::sites {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kDockerHub = "registry-1.docker.io";
constexpr size_t kAnswerBytesMax = 1 << 20;
constexpr size_t kWordsMax = 200;  // of a server's own

bool is_word(const std::string& text, const char* also) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(also).find(c) != std::string_view::npos;
  });
}

// Bearer realm="https://auth.example.org/token",service="registry",scope="repository:a:pull"
std::map<std::string, std::string> challenge(const std::string& header) {
  std::map<std::string, std::string> words;
  if (!header.starts_with("Bearer ") && !header.starts_with("bearer ")) return words;
  size_t at = 7;
  while (at < header.size()) {
    const size_t equals = header.find("=\"", at);
    if (equals == std::string::npos) break;
    const size_t end = header.find('"', equals + 2);
    if (end == std::string::npos) break;
    const size_t begin = header.find_first_not_of(", ", at);
    words[header.substr(begin, equals - begin)] = header.substr(equals + 2, end - equals - 2);
    at = end + 1;
  }
  return words;
}

class Registry {
 public:
  Registry(std::string host, Clock::time_point until)
      : base_((net::is_loopback("http://" + host) ? "http://" : "https://") + host),
        until_(until),
        client_({.redirects_max = 3, .connect_timeout = std::chrono::seconds(5)}) {}

  net::HttpAnswer ask(const std::string& method, const std::string& url, std::vector<std::string> headers) {
    net::HttpRequest request{.url = url, .method = method, .headers = std::move(headers)};
    request.answer_bytes_max = kAnswerBytesMax;
    request.go_on = [this] { return Clock::now() < until_; };
    return client_.perform(request);
  }

  net::HttpAnswer manifest(const ImageReference& image) {
    const std::string url = fmt::format("{}/v2/{}/manifests/{}", base_, image.repository, image.version);
    std::vector<std::string> headers{
        "Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
        "application/vnd.docker.distribution.manifest.list.v2+json, "
        "application/vnd.docker.distribution.manifest.v2+json"};
    net::HttpAnswer answer = ask("HEAD", url, headers);
    if (answer.status != 401) return answer;
    const std::string token = token_of(answer.header("www-authenticate"), image);
    if (token.empty()) return answer;
    headers.push_back("Authorization: Bearer " + token);
    return ask("HEAD", url, headers);
  }

 private:
  // "" where nobody gives one to who is nobody.
  std::string token_of(const std::string& header, const ImageReference& image) {
    const std::map<std::string, std::string> words = challenge(header);
    const auto word = [&](const char* name) {
      const auto at = words.find(name);
      return at == words.end() ? std::string() : at->second;
    };
    const std::string realm = word("realm");
    if (!realm.starts_with("https://") && !(realm.starts_with("http://") && net::is_loopback(realm))) return "";
    const auto answer =
        ask("GET",
            fmt::format("{}{}service={}&scope={}", realm, realm.find('?') == std::string::npos ? '?' : '&',
                        percent_encoded(word("service")), percent_encoded("repository:" + image.repository + ":pull")),
            {});
    const auto body = nlohmann::json::parse(answer.body, nullptr, false);
    if (answer.status != 200 || !body.is_object()) return "";
    for (const char* const name : {"token", "access_token"})
      if (const auto at = body.find(name); at != body.end() && at->is_string() && is_word(*at, "-._~+/=")) return *at;
    return "";
  }

  const std::string base_;
  const Clock::time_point until_;
  net::HttpClient client_;
};

}  // namespace

std::optional<ImageReference> image_reference(const std::string& text) {
  std::string rest = text;
  ImageReference image;
  const size_t slash = rest.find('/');
  const std::string first = rest.substr(0, slash);
  if (slash != std::string::npos && (first.find_first_of(".:") != std::string::npos || first == "localhost")) {
    image.registry = first == "docker.io" ? kDockerHub : first;
    rest = rest.substr(slash + 1);
  } else {
    image.registry = kDockerHub;
  }
  if (const size_t at = rest.find('@'); at != std::string::npos) {
    image.version = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (image.version.find(':') == std::string::npos || !is_word(image.version, ":+._-")) return {};
  }
  if (const size_t colon = rest.rfind(':'); colon != std::string::npos) {
    if (image.version.empty()) image.version = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (image.version.empty()) return {};
  }
  if (image.version.empty()) image.version = "latest";
  image.repository =
      image.registry == kDockerHub && rest.find('/') == std::string::npos && !rest.empty() ? "library/" + rest : rest;
  const bool good = is_word(image.registry, ".-:[]") && is_word(image.repository, "/._-") &&
                    image.repository.find("..") == std::string::npos && !image.repository.starts_with('/') &&
                    is_word(image.version, ":+._-");
  return good ? std::optional(image) : std::nullopt;
}

Finding ask_registry(const std::string& address, std::chrono::seconds patience) {
  const size_t scheme = address.find("://");
  const std::string shown = printable(address);
  const auto found = [&](bool good, const std::string& words, bool doubtful) {
    return Finding{good, "image", shown + ": " + words, doubtful};
  };
  if (scheme != std::string::npos && !address.starts_with("docker://") && !address.starts_with("oras://"))
    return found(true, "cannot be asked for from here", true);
  const auto image = image_reference(scheme == std::string::npos ? address : address.substr(scheme + 3));
  if (!image) return found(false, "is no name of an image; write REGISTRY/NAME:VERSION", false);
  const Clock::time_point until = Clock::now() + patience;
  const auto answer = Registry(image->registry, until).manifest(*image);
  if (Clock::now() >= until)
    return found(true, fmt::format("{} has not answered for {} s; not looked at", image->registry, patience.count()),
                 true);
  if (answer.problem != net::HttpProblem::kNone)
    return found(true,
                 fmt::format("{} is not reached from here ({}); not looked at", image->registry,
                             printable(answer.what.substr(0, kWordsMax))),
                 true);
  if (answer.status == 200) return found(true, image->registry + " has it", false);
  if (answer.status == 404)
    return found(false, image->registry + " has no such image; push it (make image), or name another one", false);
  if (answer.status == 401 || answer.status == 403)
    return found(true, image->registry + " shows it to nobody without a login; not looked at", true);
  return found(true, fmt::format("{} answers {}; not looked at", image->registry, answer.status), true);
}

}  // namespace linac::sites
