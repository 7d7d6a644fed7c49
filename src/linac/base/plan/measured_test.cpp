#include "linac/base/plan/measured.h"

#include <gtest/gtest.h>

#include <string>

#include "linac/base/base/test_errors.h"

namespace linac::plan {
namespace {

Measured example() {
  Measured measured;
  measured.job = "a";
  measured.work = "00ff";
  measured.start_s = {0.5};
  measured.wave_s = 0.12;
  measured.fixed_s = 0.01;
  measured.steps_seen = 3;
  measured.between_s = 0.2;
  measured.watts = 212.5;
  measured.updates = {{.buckets = {{1e6, 0.01}, {2e6, 0}}, .beside_s = 0.5}};
  measured.at_batches = {{32, 0.2, 0.02, 0.4, 1.5}};
  measured.steps = 100;
  measured.epochs = 10;
  return measured;
}

TEST(Measured, ReadsWhatItWrites) {
  const Measured again = read_measured(to_text(example()), "a.json");
  EXPECT_EQ(to_text(again), to_text(example()));
  EXPECT_EQ(again.between_s, 0.2);
  EXPECT_FALSE(again.end_s);
  EXPECT_EQ(again.watts, 212.5);
  ASSERT_EQ(again.at_batches.size(), 1u);
  EXPECT_EQ(again.at_batches[0].memory_gib, 1.5);
  ASSERT_EQ(again.updates.size(), 1u);
  EXPECT_EQ(again.updates[0].buckets[1].bytes, 2e6);
  EXPECT_DOUBLE_EQ(again.step_s(), 0.13);
}

TEST(Measured, RefusesWhatIsNone) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = to_text(example());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::pair<std::string, const char*> wrong[] = {
      {"", "no measurement"},
      {"[[[[[[[[[[[[[[[[[[[[", "no measurement"},
      {"{}", "no measurement"},
      {with("linac measured 3", "linac measured 2"), "no measurement"},
      {with("\"steps\": 100", "\"steps\": -1"), "'steps' is no number from 0 on"},
      {with("\"steps\": 100", "\"steps\": 0"), "the training has no step"},
      {with("\"steps\": 100", "\"steps\": \"many\""), "'steps' is of another kind"},
      {with("\"cores\": 1.0", "\"cores\": 0"), "cores, threads, replicas and batch"},
      {with("0.12", "1e999"), "no measurement"},
      {with("0.12", "-0.12"), "'wave_s' is no number"},
      {with("0.12", "0"), "no step was measured"},
      {with("\"start_s\"", "\"begin_s\""), "'start_s' is missing"},
      {with("\"memory_gib\": 1.5", "\"memory_gib\": -1.5"), "at_batches: 'memory_gib' is no number from 0 on"},
      {with("\"batch\": 32", "\"batch\": 0"), "'at_batches' has one without events"},
      {with("\"at_batches\": [", "\"at_batches\": [7,"), "at_batches: 'batch' is missing"},
      {with("212.5", "-212.5"), "'watts' is no number from 0 on"},
      {with("\"bytes\": 2000000.0", "\"bytes\": null"), "updates: 'bytes' is of another kind"}};
  for (const auto& [text, words] : wrong) {
    SCOPED_TRACE(words);
    expect_in(message_of([&, &given = text] { read_measured(given, "a.json"); }), {"a.json", words});
  }
}

}  // namespace
}  // namespace linac::plan
