// Requests beside a server of a few lines; downloads with ranges and retries are tested in storage, TLS and uploads
// with the real service (tests/service).

#include "linac/io/net/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "linac/base/base/descriptor.h"

namespace linac::net {
namespace {

// Answers each request on the loopback interface with the next of `answers`, and closes the connection.
class ShortServer {
 public:
  explicit ShortServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~ShortServer() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  const std::string& url() const { return url_; }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static bool is_whole(const std::string& request) {
    const size_t end = request.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const size_t length = request.find("Content-Length: ");
    return length > end || request.size() >= end + 4 + std::stoul(request.substr(length + 16));
  }

  void serve() {
    for (const std::string& answer : answers_) {
      const Descriptor peer(accept(listener_.get(), nullptr, nullptr));
      if (!peer) return;
      std::string request;
      char room[4096];
      while (!is_whole(request)) {
        const ssize_t size = recv(peer.get(), room, sizeof room, 0);
        if (size <= 0) break;
        request.append(room, static_cast<size_t>(size));
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  std::vector<std::string> answers_, requests_;
  std::mutex mutex_;
  Descriptor listener_;
  std::string url_;
  std::thread thread_;
};

std::string answer_with(const std::string& status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" +
         headers + "\r\n" + body;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HttpClient, SendsWhatItIsGivenAndTellsTheAnswer) {
  ShortServer server({answer_with("200 OK", "hello", "X-Kind:  odd \r\n"), answer_with("404 Not Found", "none"),
                      answer_with("201 Created", "")});
  HttpClient client({.user_agent = "test/1"});
  HttpAnswer answer = client.perform({.url = server.url() + "/a", .headers = {"Range: bytes=5-"}});
  EXPECT_EQ(answer.problem, HttpProblem::kNone) << answer.details;
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.header("x-kind"), "odd");
  EXPECT_EQ(answer.header("absent"), "");
  answer = client.perform({.url = server.url() + "/b", .method = "POST", .body = "some text"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "none");
  std::string left = "from a file";
  HttpRequest upload{.url = server.url() + "/c", .method = "PUT", .upload_bytes = static_cast<int64_t>(left.size())};
  upload.upload = [&](char* room, size_t bytes) {
    const size_t now = left.copy(room, std::min<size_t>(bytes, 4));
    left.erase(0, now);
    return now;
  };
  EXPECT_EQ(client.perform(upload).status, 201);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_TRUE(requests[0].starts_with("GET /a ")) << requests[0];
  EXPECT_TRUE(holds(requests[0], "Range: bytes=5-\r\n") && holds(requests[0], "User-Agent: test/1\r\n")) << requests[0];
  EXPECT_TRUE(requests[1].starts_with("POST /b ") && requests[1].ends_with("\r\n\r\nsome text")) << requests[1];
  EXPECT_TRUE(requests[2].starts_with("PUT /c ") && requests[2].ends_with("\r\n\r\nfrom a file")) << requests[2];
  EXPECT_FALSE(holds(requests[1], "Expect:"));
}

// libcurl takes what came before the connection ended for all headers: an object without size or version.
TEST(HttpClient, AnAnswerThatIsCutWithinItsHeadersIsBroken) {
  const std::string whole = answer_with("200 OK", "", "ETag: \"abc\"\r\n");
  std::vector<std::string> cut;
  for (const size_t size :
       {size_t{15}, size_t{17}, whole.find("Length: 0"), whole.find("ETag"), whole.size() - 6, whole.size() - 2})
    cut.push_back(whole.substr(0, size));
  cut.push_back("HTTP/1.1 100 Continue\r\n\r\n");
  cut.push_back(whole);
  ShortServer server(cut);
  HttpClient client;
  for (const char* const method : {"HEAD", "GET", "HEAD", "GET", "HEAD", "GET", "GET"}) {
    const HttpAnswer answer = client.perform({.url = server.url(), .method = method});
    EXPECT_EQ(answer.problem, HttpProblem::kBroken) << method << ", status " << answer.status;
    EXPECT_TRUE(worth_another_try(answer));
  }
  const HttpAnswer answer = client.perform({.url = server.url(), .method = "HEAD"});
  EXPECT_EQ(answer.problem, HttpProblem::kNone) << answer.details;
  EXPECT_EQ(answer.header("etag"), "\"abc\"");
}

TEST(HttpClient, GivesTheBodyAsItComesAndBreaksOffWhenAsked) {
  const std::string large(1 << 20, 'x');
  ShortServer server(
      {answer_with("206 Partial Content", large), answer_with("200 OK", large), answer_with("200 OK", "x")});
  HttpClient client;
  size_t got = 0;
  HttpRequest request{.url = server.url() + "/a"};
  request.receive = [&](const HttpAnswer& head, std::string_view bytes) {
    EXPECT_EQ(head.status, 206);
    EXPECT_EQ(head.header("content-length"), std::to_string(large.size()));
    got += bytes.size();
    return true;
  };
  EXPECT_EQ(client.perform(request).body, "");
  EXPECT_EQ(got, large.size());
  request.receive = [](const HttpAnswer&, std::string_view) { return false; };
  const HttpAnswer refused = client.perform(request);
  EXPECT_EQ(refused.problem, HttpProblem::kRefused);
  EXPECT_FALSE(worth_another_try(refused));
  request.receive = [](const HttpAnswer&, std::string_view) -> bool { throw std::runtime_error("mine"); };
  EXPECT_THROW(client.perform(request), std::runtime_error);
}

TEST(HttpClient, FollowsRedirectsOnlyWhereItMay) {
  const std::string there = answer_with("302 Found", "", "Location: /there\r\nETag: old\r\n");
  ShortServer server({there, answer_with("200 OK", "there"), there, there, there});
  const HttpAnswer followed = HttpClient({.redirects_max = 1}).perform({.url = server.url()});
  EXPECT_EQ(followed.body, "there");
  EXPECT_EQ(followed.header("etag"), "") << "a redirect's headers are not the answer's";
  EXPECT_EQ(HttpClient().perform({.url = server.url()}).status, 302);
  EXPECT_EQ(HttpClient({.redirects_max = 1}).perform({.url = server.url()}).problem, HttpProblem::kHopeless);
}

TEST(HttpClient, TellsProblemsApart) {
  HttpClient client;
  const HttpAnswer nobody = client.perform({.url = "http://127.0.0.1:1/"});
  EXPECT_EQ(nobody.problem, HttpProblem::kUnreachable);
  EXPECT_FALSE(nobody.what.empty() || nobody.details.empty());
  EXPECT_TRUE(worth_another_try(nobody));
  EXPECT_EQ(client.perform({.url = "file:///etc/hostname"}).problem, HttpProblem::kHopeless);
  ShortServer server({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"});
  const HttpAnswer cut = client.perform({.url = server.url()});
  EXPECT_EQ(cut.problem, HttpProblem::kBroken);
  EXPECT_TRUE(worth_another_try(cut));
  for (const auto& [status, again] : {std::pair{200, false}, {404, false}, {429, true}, {503, true}}) {
    HttpAnswer answer;
    answer.status = status;
    EXPECT_EQ(worth_another_try(answer), again) << status;
  }
}

TEST(HttpClient, AHeadBeyondAnyMeasureIsNamed) {
  ShortServer server({answer_with("200 OK", "hello", "X-Long: " + std::string(400'000, 'a') + "\r\n")});
  HttpClient client;
  const HttpAnswer answer = client.perform({.url = server.url()});
  EXPECT_EQ(answer.problem, HttpProblem::kHopeless);
  EXPECT_EQ(answer.what, "The head of its answer is too large");
}

TEST(Urls, PartsAndSecrets) {
  EXPECT_EQ(without_secrets("https://me:secret@host/a/b.h5?signed=1#x"), "https://host/a/b.h5");
  EXPECT_TRUE(is_loopback("http://localhost:5000") && is_loopback("http://[::1]:1/x") &&
              is_loopback("https://127.0.0.9"));
  EXPECT_FALSE(is_loopback("http://10.0.0.1:5000") || is_loopback("https://example.org") ||
               is_loopback("http://127.0.0.1.example.org"));
}

}  // namespace
}  // namespace linac::net
