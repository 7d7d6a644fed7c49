#include "linac/train/train/record/trace_file.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "linac/train/comm/test_in_process_group.h"

namespace linac::train {
namespace {

using Json = nlohmann::json;

trace::Recorded one_thread(const std::string& thread, std::vector<trace::Event> events) {
  trace::Recorded recorded;
  recorded.tracks.push_back({thread, std::move(events)});
  return recorded;
}

std::vector<Json> spans_of(const Json& trace, int pid) {
  std::vector<Json> spans;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("pid") == pid) spans.push_back(event);
  return spans;
}

TEST(TraceFile, PutsTheWorkersOnOneClock) {
  // Rank 1's clock is 1 ms ahead.
  const std::vector<std::string> parts{
      packed(one_thread("training", {{"inner", 5'000'100, 5'000'350}, {"step 1", 5'000'000, 5'001'000}}), "n1", 7,
             1000),
      packed(one_thread("in\"put\xff", {{"read \"a\"\n", 5'999'900, 6'000'001}}), "n2", 8, 1000)};
  const Json trace = Json::parse(trace_json(parts, {{0, 0}, {1'000'000, 2'500}}, {1, 1}));
  const std::vector<Json> first = spans_of(trace, 0), second = spans_of(trace, 1);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].at("name"), "step 1") << "what is within another span comes behind it";
  EXPECT_NEAR(first[0].at("ts").get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(first[0].at("dur").get<double>(), 1, 1e-9);
  EXPECT_NEAR(first[1].at("ts").get<double>(), 0.2, 1e-9);
  EXPECT_NEAR(first[1].at("dur").get<double>(), 0.25, 1e-9);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].at("ts"), 0) << "the first of all";
  EXPECT_EQ(second[0].at("name"), "read \"a\"\n");
  EXPECT_EQ(trace.at("otherData").at("workers").at(1).at("clock_error_us"), 2.5);
}

TEST(TraceFile, IsBoundedByWhatBeginsLast) {
  std::vector<trace::Event> events;
  for (int64_t i = 0; i < 1000; ++i) events.push_back({"span", 10 * i, 10 * i + 5});
  trace::Recorded recorded = one_thread("training", events);
  recorded.left_out = 3;
  for (const size_t bytes : {size_t{10}, size_t{4000}}) {
    const std::string part = packed(recorded, "n1", 7, bytes);
    const Json trace = Json::parse(trace_json({part}, {{}}, {1, 1}));
    const auto left_out = trace.at("otherData").at("workers").at(0).at("spans_left_out").get<size_t>();
    const std::vector<Json> spans = spans_of(trace, 0);
    EXPECT_EQ(spans.size() + left_out, 1003U);
    EXPECT_TRUE(part.size() <= bytes || spans.empty()) << part.size();
    if (bytes == 10) continue;
    ASSERT_GT(spans.size(), 100U);
    EXPECT_NEAR(spans.back().at("ts").get<double>(), 0.01 * static_cast<double>(spans.size() - 1), 1e-9);
  }
}

TEST(TraceFile, OfWorkersWithoutSpans) {
  const Json trace = Json::parse(trace_json({packed({}, "n1", 7, 1000), "no part"}, {{}, {}}, {1, 1}));
  EXPECT_TRUE(spans_of(trace, 0).empty());
  EXPECT_EQ(trace.at("otherData").at("workers").size(), 1U) << "what cannot be read is left out";
}

TEST(TraceFile, ComesTogetherAtRankZero) {
  auto groups = comm::make_in_process_groups(3, std::chrono::seconds(10));
  std::vector<std::future<std::string>> workers;
  for (auto& group : groups) {
    workers.push_back(std::async(std::launch::async, [&group] {
      const int64_t now = trace::now_ns();
      return gather_trace(*group, one_thread("training", {{"step 1", now, now + 10}}), {1, 1});
    }));
  }
  const Json trace = Json::parse(workers[0].get());
  EXPECT_EQ(workers[1].get() + workers[2].get(), "");
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(spans_of(trace, rank).size(), 1U);
  for (const Json& worker : trace.at("otherData").at("workers"))
    EXPECT_EQ(worker.at("clock_error_us") > 0, worker.at("rank") > 0) << worker;
}

TEST(TraceSteps, AreReadAsPeopleSayThem) {
  EXPECT_EQ(trace_steps_in("10:13"), (TraceSteps{10, 13}));
  EXPECT_EQ(trace_steps_in("7"), (TraceSteps{7, 7}));
  EXPECT_EQ(trace_steps_in(to_text({2, 9})), (TraceSteps{2, 9}));
  for (const char* const bad : {"", ":", "0", "0:3", "5:2", "-1:3", "1:", ":4", "1:2:3", "1.5", "nan", " 1", "1:2 ",
                                "99999999999999999999", "1:99999999999999999999"}) {
    EXPECT_FALSE(trace_steps_in(bad)) << bad;
    EXPECT_NE(is_trace_steps(bad), "") << bad;
  }
}

}  // namespace
}  // namespace linac::train
