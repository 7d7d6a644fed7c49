#include "linac/base/base/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace linac::trace {
namespace {

const Track* track_named(const Recorded& recorded, const std::string& name) {
  const auto found = std::ranges::find(recorded.tracks, name, &Track::name);
  return found == recorded.tracks.end() ? nullptr : &*found;
}

TEST(Trace, KeepsWhatBeganWhileItWasWanted) {
  name_thread("main");
  { const Span before("before"); }
  auto half = std::make_unique<Span>("begun before");
  begin();
  half.reset();
  {
    const Span outer("step", 3);
    const Span inner("forward", -1, "generator");
  }
  std::thread([] {
    name_thread("other");
    const Span span("work");
  }).join();
  auto open = std::make_unique<Span>("open");
  const Recorded recorded = end();
  open.reset();
  ASSERT_EQ(recorded.tracks.size(), 2U);
  const Track* const main = track_named(recorded, "main");
  ASSERT_NE(main, nullptr);
  ASSERT_EQ(main->events.size(), 2U);
  EXPECT_EQ(main->events[0].name, "forward generator");
  EXPECT_EQ(main->events[1].name, "step 3");
  EXPECT_LE(main->events[1].begin_ns, main->events[0].begin_ns);
  EXPECT_LE(main->events[0].begin_ns, main->events[0].end_ns);
  EXPECT_LE(main->events[0].end_ns, main->events[1].end_ns);
  ASSERT_NE(track_named(recorded, "other"), nullptr) << "of a thread that has ended";
  EXPECT_EQ(recorded.left_out, 0);
  begin();
  EXPECT_TRUE(end().tracks.empty()) << "what was taken does not come again";
}

TEST(Trace, IsBounded) {
  constexpr int64_t kMore = 7;
  begin();
  for (int64_t i = 0; i < kEventsMax + kMore; ++i) add("one", i, i + 1);
  const Recorded recorded = end();
  ASSERT_EQ(recorded.tracks.size(), 1U);
  EXPECT_EQ(std::ssize(recorded.tracks[0].events), kEventsMax);
  EXPECT_EQ(recorded.left_out, kMore);
}

}  // namespace
}  // namespace linac::trace
