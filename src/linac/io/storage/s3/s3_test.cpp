// Addresses, keys, answers and faults, beside a server of a few lines; real servers are in tests/storage.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/s3/conditional.h"
#include "linac/io/storage/s3/download.h"
#include "linac/io/storage/s3/object.h"
#include "linac/io/storage/test_server.h"

namespace linac::storage::s3 {
namespace {

using test::Server;

constexpr const char* kSecret = "wJalrXUtnFEMIverysecret";

Environment variables(std::map<std::string, std::string> set) {
  return [set = std::move(set)](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? std::string() : found->second;
  };
}

Access access_to(const Server& server) {
  std::string url = server.url("");
  url.pop_back();
  return {.endpoint = url, .region = "us-east-1", .keys = net::AwsKeys{"us-east-1", "AKIDEXAMPLE", kSecret}};
}

const Patience kShort{.attempts = 4,
                      .attempts_unreachable = 2,
                      .first_wait = std::chrono::milliseconds(1),
                      .wait_max = std::chrono::milliseconds(4),
                      .stall = std::chrono::seconds(1)};

std::string reply(const std::string& status, const std::string& headers, const std::string& body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}", status, body.size(), headers,
                     body);
}

std::string refusal(const std::string& status, const std::string& code) {
  return reply(status, "",
               fmt::format("<?xml version=\"1.0\"?><Error><Code>{}</Code><Message>m</Message></Error>", code));
}

/// One object, whose answers to HEAD and to ranges are right.
struct FakeObject {
  std::string body = "0123456789", etag = "\"v1\"";

  std::string answer(const std::string& request) const {
    if (request.starts_with("HEAD"))
      return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: {}\r\nConnection: close\r\n\r\n", body.size(),
                         etag);
    const size_t match = request.find("If-Match: ");
    if (match != std::string::npos && !request.substr(match + 10).starts_with(etag))
      return refusal("412 Precondition Failed", "PreconditionFailed");
    const auto [first, size] = range(request);
    return reply(
        "206 Partial Content",
        fmt::format("ETag: {}\r\nContent-Range: bytes {}-{}/{}\r\n", etag, first, first + size - 1, body.size()),
        body.substr(first, size));
  }
  std::pair<size_t, size_t> range(const std::string& request) const {
    const size_t at = request.find("Range: bytes=");
    const size_t first = std::stoul(request.substr(at + 13));
    return {first, std::stoul(request.substr(request.find('-', at) + 1)) + 1 - first};
  }
};

std::string part(Reader& reader, int64_t offset, size_t size) {
  std::string text(size, '?');
  reader.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

const Address kAddress{"bucket", "a"};

TEST(S3Address, KeysStayByteByByte) {
  const Address address = parse_address("s3://bucket/a b/%20+\xc3\xa4?#x");
  EXPECT_EQ(address.bucket, "bucket");
  EXPECT_EQ(address.key, "a b/%20+\xc3\xa4?#x");
  const Access path{.endpoint = "http://h:1", .region = "r"};
  EXPECT_EQ(request_url(path, address, {{"b", "x/y"}, {"a", ""}}),
            "http://h:1/bucket/a%20b/%2520%2B%C3%A4%3F%23x?a=&b=x%2Fy");
  const Access amazon{.endpoint = "https://s3.r.amazonaws.com", .bucket_in_host = true, .region = "r"};
  EXPECT_EQ(request_url(amazon, {"bucket", "k"}, {}), "https://bucket.s3.r.amazonaws.com/k");
  EXPECT_EQ(request_url(amazon, {"bu.cket", "k"}, {}), "https://s3.r.amazonaws.com/bu.cket/k");
  for (const char* bad : {"s3://", "s3:///key", "s3://a b/c", "s3://b..c/d", "s3://-b/c", "s3://b?x/c"})
    message_of(ErrorCode::kUser, [&] { parse_address(bad); });
  const std::string message = message_of(ErrorCode::kUser, [] { parse_address("s3://AKID:hush@bucket/key"); });
  EXPECT_EQ(message.find("hush"), std::string::npos) << message;
  message_of(ErrorCode::kUser, [] { parse_address("s3://bucket/" + std::string(1025, 'k')); });
}

TEST(S3Access, VariablesComeBeforeTheProfile) {
  const TemporaryFolder home;
  std::filesystem::create_directory(home / ".aws");
  write_file_atomically(home / ".aws/credentials",
                        "# c\n[default]\naws_access_key_id = D\naws_secret_access_key=DS\n[lab]\naws_access_key_id=L\n"
                        "aws_secret_access_key = LS\naws_session_token = LT\n");
  write_file_atomically(
      home / ".aws/config",
      "[default]\nregion = eu-west-1\n[profile lab]\nregion=eu-north-1\nendpoint_url = "
      "https://s3.lab.org/\nca_bundle=/ca.pem\ns3 =\n  region = no\n[profile sso]\nsso_session = x\n");
  const std::string folder = home.path().string();
  Access access = find_access(variables({{"HOME", folder}}));
  EXPECT_EQ(access.endpoint, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_TRUE(access.bucket_in_host);
  EXPECT_EQ(access.keys->id, "D");
  access = find_access(variables({{"HOME", folder}, {"AWS_PROFILE", "lab"}}));
  EXPECT_EQ(access.endpoint, "https://s3.lab.org");
  EXPECT_FALSE(access.bucket_in_host);
  EXPECT_EQ(access.region, "eu-north-1");
  EXPECT_EQ(access.keys->secret, "LS");
  EXPECT_EQ(access.keys->session_token, "LT");
  EXPECT_EQ(access.ca_file, "/ca.pem");
  access = find_access(variables({{"HOME", folder},
                                  {"AWS_ACCESS_KEY_ID", "E"},
                                  {"AWS_SECRET_ACCESS_KEY", "ES"},
                                  {"AWS_REGION", "r1"},
                                  {"S3_ENDPOINT", "h:9000"},
                                  {"S3_USE_HTTPS", "0"}}));
  EXPECT_EQ(access.keys->id, "E");
  EXPECT_EQ(access.keys->session_token, "");
  EXPECT_EQ(access.endpoint, "http://h:9000");
  EXPECT_FALSE(find_access(variables({{"HOME", folder}, {"AWS_NO_SIGN_REQUEST", "true"}})).keys);
  EXPECT_FALSE(find_access(variables({{"HOME", folder + "/none"}})).keys);
  EXPECT_NE(message_of(ErrorCode::kUser,
                       [&] {
                         find_access(variables({{"HOME", folder}, {"AWS_PROFILE", "sso"}}));
                       })
                .find("export-credentials"),
            std::string::npos);
  message_of(ErrorCode::kUser, [&] { find_access(variables({{"HOME", folder}, {"AWS_PROFILE", "none"}})); });
  message_of(ErrorCode::kUser, [&] { find_access(variables({{"AWS_ACCESS_KEY_ID", "E"}})); });
  message_of(ErrorCode::kUser, [&] { find_access(variables({{"AWS_ENDPOINT_URL", "ftp://x"}})); });
  message_of(ErrorCode::kUser, [&] { find_access(variables({{"AWS_REGION", "a:b"}})); });
  const std::string message = message_of(ErrorCode::kUser, [&] {
    find_access(
        variables({{"AWS_ACCESS_KEY_ID", "E"}, {"AWS_SECRET_ACCESS_KEY", std::string(kSecret) + "\r\nHost: x"}}));
  });
  EXPECT_EQ(message.find(kSecret), std::string::npos) << message;
}

TEST(S3Xml, ForeignAnswersAreBounded) {
  const auto page = parse_list(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "<Contents><Key>a%2Bb+c</Key><ETag>&quot;e&quot;</ETag><Size>12</Size></Contents>"
      "<Contents><Key>f</Key><ETag>g</ETag></Contents><Contents><Key>h</Key></Contents><CommonPrefixes><Prefix>d/</"
      "Prefix></CommonPrefixes>"
      "</ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->objects.at(0).key, "a+b c");
  EXPECT_EQ(page->objects.at(0).size, 12);
  EXPECT_EQ(page->objects.at(0).etag, "\"e\"");
  EXPECT_EQ(page->objects.at(1).etag, "\"g\"");
  EXPECT_EQ(page->objects.at(2).etag, "");
  EXPECT_EQ(page->prefixes.at(0), "d/");
  EXPECT_EQ(page->next, "t");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (const std::string& bad :
       {std::string(), std::string("<html></html>"), deep,
        std::string("<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>"),
        std::string(
            "<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></ListBucketResult>"),
        std::string("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
        std::string(
            "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><ListBucketResult>&b;</ListBucketResult>"),
        "<ListBucketResult><Prefix>" + std::string(100'000, 'x') + "</Prefix></ListBucketResult>"})
    EXPECT_FALSE(parse_list(bad)) << bad.substr(0, 60);
  const auto error = parse_error("<Error><Code>No&#10;Such</Code><Message>a\x1b[31m</Message></Error>");
  EXPECT_FALSE(error) << "an escape sequence is no XML";
  EXPECT_EQ(parse_error("<Error><Code>No&#10;Such</Code></Error>")->code, "No Such");
  EXPECT_FALSE(parse_error("<html><Code>x</Code></html>"));
  EXPECT_EQ(parse_upload_id("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"),
            "u");
}

TEST(S3Faults, StormsAndBrokenTransfersAreTriedAgain) {
  const FakeObject object;
  int request = 0;
  Server server([&](const std::string& text) {
    switch (++request) {
      case 1:
        return refusal("503 Slow Down", "SlowDown");
      case 2:
        return std::string();  // reset
      case 4:
        return refusal("500 Internal Server Error", "InternalError");
      case 5:  // cut after four bytes
        return std::string("HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\nETag: \"v1\"\r\n\r\n0123");
      case 6:
        return refusal("400 Bad Request", "RequestTimeout");
      default:
        return object.answer(text);
    }
  });
  ObjectReader reader(access_to(server), kAddress, kShort);
  EXPECT_EQ(reader.size(), 10);
  EXPECT_EQ(part(reader, 0, 10), "0123456789");
  EXPECT_NE(server.requests().back().find("Range: bytes=4-9"), std::string::npos) << "it goes on where it stopped";
}

TEST(S3Faults, AStormThatDoesNotEndIsAnErrorThatNamesIt) {
  const FakeObject object;
  Server server([&](const std::string& text) {
    return text.starts_with("HEAD") ? object.answer(text) : refusal("503 Slow Down", "SlowDown");
  });
  ObjectReader reader(access_to(server), kAddress, kShort);
  const std::string message = message_of(ErrorCode::kEnvironment, [&] { part(reader, 2, 5); });
  for (const char* word : {"s3://bucket/a", "bytes 2 to 6", "503 SlowDown", "4 attempts"})
    EXPECT_NE(message.find(word), std::string::npos) << message;
  EXPECT_EQ(server.requests().size(), 5U);
}

TEST(S3Faults, SilenceEnds) {
  const FakeObject object;
  Server server([&](const std::string& text) {
    if (text.starts_with("HEAD")) return object.answer(text);
    std::this_thread::sleep_for(std::chrono::milliseconds(1600));
    return std::string();
  });
  Patience once = kShort;
  once.attempts = 1;
  ObjectReader reader(access_to(server), kAddress, once);
  const auto begin = std::chrono::steady_clock::now();
  message_of(ErrorCode::kEnvironment, [&] { part(reader, 0, 10); });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(S3Faults, AnObjectThatChangesBetweenTwoRangesIsRefused) {
  FakeObject object;
  bool knows_if_match = true;
  Server server([&](const std::string& text) {
    const size_t match = text.find("If-Match: ");
    return object.answer(knows_if_match || match == std::string::npos ? text : text.substr(0, match) + "\r\n");
  });
  for (const bool known : {true, false}) {
    object = {};
    knows_if_match = known;
    ObjectReader reader(access_to(server), kAddress, kShort);
    EXPECT_EQ(part(reader, 0, 5), "01234");
    object = {"abcdefghij", "\"v2\""};
    const std::string message = message_of(ErrorCode::kData, [&] { part(reader, 5, 5); });
    EXPECT_NE(message.find("changed"), std::string::npos) << message;
  }
}

TEST(S3Faults, OtherBytesThanAskedForAreRefused) {
  const FakeObject object;
  for (const std::string& odd :
       {reply("200 OK", "", "0123456789"), reply("206 Partial Content", "Content-Range: bytes 3-9/10\r\n", "3456789"),
        reply("206 Partial Content", "", "0123456789abcdef")}) {
    Server server([&](const std::string& text) { return text.starts_with("HEAD") ? object.answer(text) : odd; });
    ObjectReader reader(access_to(server), kAddress, kShort);
    message_of(ErrorCode::kData, [&] { part(reader, 0, 10); });
  }
}

TEST(S3Faults, AnUnknownKeyIsNoMissingObject) {
  Server server([&](const std::string& text) {
    return text.starts_with("HEAD") ? reply("404 Not Found", "", "")
                                    : reply("403 Forbidden", "", "<Error><Code>InvalidAccessKeyId</Code></Error>");
  });
  Session session(access_to(server), kShort);
  const std::string message = message_of(ErrorCode::kEnvironment, [&] { look(session, kAddress); });
  EXPECT_NE(message.find("AWS_ACCESS_KEY_ID"), std::string::npos) << message;
}

TEST(S3Faults, RefusalsSayWhatToDo) {
  struct Case {
    const char *status, *code, *headers, *word;
    ErrorCode error;
  };
  for (const Case& at : {
           Case{"404 Not Found", "NoSuchBucket", "", "no such bucket", ErrorCode::kData},
           Case{"404 Not Found", "NoSuchKey", "", "no such object", ErrorCode::kData},
           Case{"403 Forbidden", "SignatureDoesNotMatch", "", "AWS_SECRET_ACCESS_KEY", ErrorCode::kEnvironment},
           Case{"403 Forbidden", "InvalidAccessKeyId", "", "AWS_ACCESS_KEY_ID", ErrorCode::kEnvironment},
           Case{"400 Bad Request", "ExpiredToken", "", "expired", ErrorCode::kEnvironment},
           Case{"403 Forbidden", "RequestTimeTooSkewed", "Date: Mon, 01 Jan 2001 00:00:00 GMT\r\n", "2001",
                ErrorCode::kEnvironment},
           Case{"301 Moved Permanently", "PermanentRedirect", "x-amz-bucket-region: eu-west-3\r\n",
                "AWS_REGION=eu-west-3", ErrorCode::kEnvironment},
           Case{"409 Conflict", "Odd", "", "409 Odd", ErrorCode::kEnvironment},
       }) {
    Server server([&](const std::string& text) {
      const std::string body =
          fmt::format("<Error><Code>{}</Code><Message>{} {}</Message></Error>", at.code, kSecret, text);
      const std::string whole = reply(at.status, at.headers, body);
      return text.starts_with("HEAD") ? whole.substr(0, whole.find("\r\n\r\n") + 4) : whole;
    });
    Session session(access_to(server), kShort);
    const std::string message = message_of(at.error, [&] { look(session, kAddress); });
    EXPECT_NE(message.find(at.word), std::string::npos) << message;
    EXPECT_EQ(message.find(kSecret), std::string::npos) << message;
    EXPECT_EQ(message.find("Signature="), std::string::npos) << message;
    EXPECT_LE(server.requests().size(), 2U) << "trying again does not help";
  }
}

TEST(S3Security, ARedirectIsNotFollowedAndTheSecretIsNotSent) {
  Server other([](const std::string&) { return test::ok("stolen", ""); });
  Server server(
      [&](const std::string&) { return reply("307 Temporary Redirect", "Location: " + other.url("x") + "\r\n", ""); });
  for (const bool with_keys : {true, false}) {
    Access access = access_to(server);
    if (!with_keys) access.keys.reset();
    Session session(access, kShort);
    message_of(ErrorCode::kEnvironment, [&] { session.perform({.address = kAddress}); });
  }
  EXPECT_TRUE(other.requests().empty());
  for (const std::string& request : server.requests()) {
    EXPECT_EQ(request.find(kSecret), std::string::npos);
    EXPECT_EQ(request.find("Authorization: AWS4-HMAC-SHA256") != std::string::npos,
              &request == &server.requests()[0] || request == server.requests()[0]);
  }
}

Patience unhurried() {
  Patience patience = kShort;
  patience.stall = std::chrono::seconds(20);
  return patience;
}

TEST(S3Upload, WhatFailsIsAborted) {
  std::atomic<int> aborted = 0, completed = 0;
  Server server([&](const std::string& text) {
    if (text.starts_with("POST /bucket/a?uploads="))
      return test::ok("<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>", "");
    if (text.starts_with("PUT /bucket/a?partNumber=2")) return refusal("403 Forbidden", "AccessDenied");
    if (text.starts_with("DELETE /bucket/a?uploadId=u1")) ++aborted;
    if (text.starts_with("POST /bucket/a?uploadId=u1")) ++completed;
    return test::ok("", "ETag: \"p\"\r\n");
  });
  Session session(access_to(server), unhurried());
  const std::string content(2 << 20, 'x');
  message_of(ErrorCode::kEnvironment, [&] { write_object(session, kAddress, content, 100); });
  EXPECT_EQ(aborted, 1);
  EXPECT_EQ(completed, 0);
}

TEST(S3Upload, AnErrorInAnAnswerOfSuccessIsOne) {
  int completions = 0;
  Server server([&](const std::string& text) {
    if (text.starts_with("POST /bucket/a?uploads="))
      return test::ok("<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>", "");
    if (text.starts_with("POST /bucket/a?uploadId="))
      return ++completions == 1 ? test::ok("<Error><Code>InternalError</Code></Error>", "")
                                : test::ok("<CompleteMultipartUploadResult/>", "");
    return test::ok("", "ETag: \"p\"\r\n");
  });
  Session session(access_to(server), unhurried());
  write_object(session, kAddress, std::string(101, 'x'), 100);
  EXPECT_EQ(completions, 2);
}

TEST(S3Conditions, WhatDoesNotHoldIsAValue) {
  std::string status = "200 OK", code, headers = "ETag: \"v2\"\r\n";
  Server server([&](const std::string& text) {
    const bool conditional =
        text.find("If-Match: \"v1\"") != std::string::npos || text.find("If-None-Match: *") != std::string::npos;
    if (code == "NotImplemented" && !conditional) return test::ok("", headers);
    return code.empty() ? reply(status, headers, "") : refusal(status, code);
  });
  Session session(access_to(server), unhurried());
  EXPECT_EQ(replace(session, kAddress, "x", "\"v1\""), "\"v2\"");
  EXPECT_EQ(replace(session, kAddress, "x", ""), "\"v2\"");
  for (const auto& [answer, why] : {std::pair{"412 Precondition Failed", "PreconditionFailed"},
                                    {"409 Conflict", "ConditionalRequestConflict"},
                                    {"404 Not Found", "NoSuchKey"}}) {
    status = answer;
    code = why;
    EXPECT_EQ(replace(session, kAddress, "x", "\"v1\""), std::nullopt);
  }
  status = "501 Not Implemented";
  code = "NotImplemented";
  EXPECT_EQ(replace(session, kAddress, "x", "\"v1\""), "\"v2\"") << "as one that passes over conditions";
  status = "404 Not Found";
  code = "NoSuchBucket";
  message_of(ErrorCode::kData, [&] { replace(session, kAddress, "x", ""); });
}

TEST(S3Conditions, TheAgeIsByTheServersClock) {
  std::string dates = "Date: Wed, 21 Oct 2015 07:30:05 GMT\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
  Server server([&](const std::string&) { return test::ok("{}", "ETag: \"v\"\r\n" + dates); });
  Session session(access_to(server), unhurried());
  const auto file = read_small(session, kAddress);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->content, "{}");
  EXPECT_EQ(file->version, "\"v\"");
  EXPECT_EQ(file->age_s, 125.0);
  for (const char* odd : {"Date: soon\r\n", ""}) {
    dates = odd;
    EXPECT_FALSE(read_small(session, kAddress)->age_s);
  }
  EXPECT_EQ(seconds_between("Wed, 21 Oct 2015 07:30:05 GMT", "Wed, 21 Oct 2015 07:30:00 GMT"), 0.0);
}

class S3Download : public ::testing::Test {
 protected:
  int gets(const Server& server) {
    int count = 0;
    for (const std::string& request : server.requests()) count += request.starts_with("GET");
    return count;
  }
  const TemporaryFolder cache_;
};

TEST_F(S3Download, ManyAtOnceFetchOnce) {
  const FakeObject object;
  Server server([&](const std::string& text) { return object.answer(text); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back(
        [&] { EXPECT_EQ(read_file(download(access_to(server), kAddress, cache_.path(), kShort)), object.body); });
  for (std::thread& thread : threads) thread.join();
  const auto file = download(access_to(server), kAddress, cache_.path(), kShort);
  const auto note = read_note(file);
  ASSERT_TRUE(note && note->sums);
  EXPECT_EQ(*note->sums, piece_sums_of(file));
  EXPECT_EQ(note->source, kAddress.url());
  EXPECT_EQ(gets(server), 1);
}

TEST_F(S3Download, AnObjectThatChangesMeanwhileIsFetchedAnew) {
  FakeObject object;
  bool changed = false;
  Server server([&](const std::string& text) {
    if (text.starts_with("GET") && !std::exchange(changed, true)) object = {"abc", "\"v2\""};
    return object.answer(text);
  });
  EXPECT_EQ(read_file(download(access_to(server), kAddress, cache_.path(), kShort)), "abc");
  object = {"defg", "\"v3\""};
  EXPECT_EQ(read_file(download(access_to(server), kAddress, cache_.path(), kShort)), "defg");
}

TEST_F(S3Download, TheCopyServesWhileTheServerIsAway) {
  const FakeObject object;
  auto server = std::make_unique<Server>([&](const std::string& text) { return object.answer(text); });
  const Access access = access_to(*server);
  download(access, kAddress, cache_.path(), kShort);
  server.reset();
  EXPECT_EQ(read_file(download(access, kAddress, cache_.path(), kShort)), object.body);
  message_of(ErrorCode::kEnvironment, [&] { download(access, {"bucket", "b"}, cache_.path(), kShort); });
}

TEST_F(S3Download, TheSameNameElsewhereIsAnotherObject) {
  const FakeObject one, two{"other", "\"v1\""};
  Server first([&](const std::string& text) { return one.answer(text); });
  Server second([&](const std::string& text) { return two.answer(text); });
  EXPECT_EQ(read_file(download(access_to(first), kAddress, cache_.path(), kShort)), one.body);
  EXPECT_EQ(read_file(download(access_to(second), kAddress, cache_.path(), kShort)), two.body);
}

TEST_F(S3Download, AnArchivedObjectIsToBeRestored) {
  const FakeObject object;
  Server server([&](const std::string& text) {
    return text.starts_with("HEAD") ? object.answer(text) : refusal("403 Forbidden", "InvalidObjectState");
  });
  const std::string message =
      message_of(ErrorCode::kEnvironment, [&] { download(access_to(server), kAddress, cache_.path(), kShort); });
  EXPECT_NE(message.find("archived"), std::string::npos) << message;
  EXPECT_NE(message.find("restore it first"), std::string::npos) << message;
  EXPECT_EQ(message.find("AWS_ACCESS_KEY_ID"), std::string::npos) << message;
}

TEST_F(S3Download, WhatFailsLeavesNothing) {
  const FakeObject object;
  Server server([&](const std::string& text) {
    return text.starts_with("HEAD") ? object.answer(text) : refusal("403 Forbidden", "AccessDenied");
  });
  message_of(ErrorCode::kEnvironment, [&] { download(access_to(server), kAddress, cache_.path(), kShort); });
  for (const auto& entry : std::filesystem::directory_iterator(cache_.path() / "s3"))
    EXPECT_EQ(entry.path().extension(), ".lock") << entry.path();
}

}  // namespace
}  // namespace linac::storage::s3
