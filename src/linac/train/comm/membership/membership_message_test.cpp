#include "linac/train/comm/membership/membership_message.h"

#include <gtest/gtest.h>

#include <random>

namespace linac::comm {
namespace {

Message full_message() {
  const View view{.number = 7,
                  .proposer = 3,
                  .members = {{.seniority = 0, .key = 3, .address = "10.0.0.1:4000", .host = "a", .pid = 1, .share = 5},
                              {.seniority = 4, .key = ~uint64_t{0}, .address = "10.0.0.2:4001", .moment = {0, 17, 2}}},
                  .next_seniority = 5,
                  .fruitless = 1};
  Message message;
  message.type = Message::Type::kReport;
  message.from = 3;
  message.from_address = "10.0.0.1:4000";
  message.report = {.installed = 6, .accepted = view, .moment = {0, 17, 2}};
  message.view = view;
  message.member = view.members[1];
  message.activity = {.what = "compute, replica 3", .since_ms = 12, .waiting = true, .pace_s = 0.25};
  message.failure = {.code = 4, .text = "no space \xff left"};
  message.address = "10.0.0.3:1";
  message.former = 9;
  return message;
}

TEST(MembershipMessage, ComesBackAsItWas) {
  const Message sent = full_message(), got = decode_message(encode(sent));
  EXPECT_EQ(got.type, sent.type);
  EXPECT_EQ(got.view->members[1].key, ~uint64_t{0});
  EXPECT_EQ(got.view->members[0].share, 5);
  EXPECT_EQ(got.view->fruitless, 1);
  EXPECT_EQ(got.report.accepted->members[1].moment, (Moment{0, 17, 2}));
  EXPECT_EQ(got.report, sent.report);
  EXPECT_EQ(got.activity.pace_s, 0.25);
  EXPECT_TRUE(got.activity.waiting);
  EXPECT_EQ(got.failure.code, 4);
  EXPECT_EQ(got.failure.text, "no space \xef\xbf\xbd left") << "bytes that are no text are replaced";
  EXPECT_EQ(got.address, sent.address);
  EXPECT_EQ(got.former, 9u);
}

// Whatever arrives is a message or an exception.
TEST(MembershipMessage, AlteredBytesAreErrors) {
  const std::string whole = encode(full_message());
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole.substr(0, i % 3 == 0 ? random() % whole.size() : whole.size());
    for (int changes = static_cast<int>(random() % 4); changes > 0 && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = i % 2 == 0 ? static_cast<char>(random()) : whole[random() % whole.size()];
    try {
      decode_message(bytes);
    } catch (const std::exception&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_THROW(
      decode_message(R"({"type": 99, "from": 1, "from_address": "", "report": {"installed": 1, "moment": [0,0,0]}})"),
      std::exception);
  EXPECT_THROW(
      decode_message(R"({"type": 3, "from": 1, "from_address": "", "report": {"installed": 1, "moment": [0,0,0]}})"),
      std::exception)
      << "a proposal without its view";
  for (const char* const number : {"1e30", "-1.5", "3e9"}) {
    const std::string report = R"("report": {"installed": 1, "moment": [0,0,0]}})";
    EXPECT_THROW(decode_message(std::string(R"({"type": 0, "from_address": "", "from": )") + number + ", " + report),
                 std::runtime_error)
        << number;
  }
}

}  // namespace
}  // namespace linac::comm
