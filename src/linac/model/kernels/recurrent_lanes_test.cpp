#include "linac/model/kernels/recurrent_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/rng.h"

namespace linac::kernels {
namespace {

constexpr int64_t kSteps = 801;

/// Particles of events: from 17 to about 630, 180 on average, as many short events as long ones.
std::vector<uint8_t> particle_mask(int64_t events) {
  std::vector<float> normal(static_cast<size_t>(events));
  fill_normal({}, normal);
  std::vector<uint8_t> mask(static_cast<size_t>(events * kSteps));
  for (int64_t event = 0; event < events; ++event) {
    const double length = std::clamp(163 * std::exp(0.41 * double{normal[static_cast<size_t>(event)]}), 17.0, 631.0);
    std::fill_n(mask.begin() + event * kSteps, static_cast<int64_t>(length), uint8_t{1});
  }
  return mask;
}

double idle_share(const LanePlan& plan) {
  double lane_steps = 0;
  for (const LaneGroup& group : plan.groups) lane_steps += static_cast<double>(group.steps * group.lanes());
  return 1 - static_cast<double>(plan.valid_steps) / lane_steps;
}

TEST(RecurrentLanes, EachValidStepOnceAndInOrder) {
  for (const int64_t events : {1, 16, 17, 40, 300}) {
    for (const TimeOrder order : {TimeOrder::kForwards, TimeOrder::kBackwards}) {
      std::vector<uint8_t> mask = particle_mask(events);
      for (size_t i = 5; i < mask.size(); i += 7) mask[i] = 0;  // holes
      std::fill_n(mask.begin(), events > 1 ? kSteps : 0, uint8_t{0});
      LanePlan plan;
      plan_lanes(events, kSteps, mask.data(), order, plan);
      std::vector<uint8_t> seen(mask.size());
      for (const LaneGroup& group : plan.groups) {
        EXPECT_EQ(group.by_begin.size(), group.by_end.size());
        for (const LaneVisit& visit : group.by_begin) {
          for (int64_t step = visit.begin; step < visit.end; ++step) {
            const int64_t row = group.rows_of(step)[visit.lane];
            ASSERT_EQ(row / kSteps, visit.event);
            ++seen[static_cast<size_t>(row)];
            if (step > visit.begin) {
              EXPECT_EQ(row > group.rows_of(step - 1)[visit.lane], order == TimeOrder::kForwards);
            }
          }
        }
        for (int64_t step = 0; step < group.steps; ++step) {
          const int64_t busy = std::count_if(group.rows_of(step), group.rows_of(step) + group.lanes(),
                                             [](int64_t row) { return row >= 0; });
          EXPECT_EQ(busy, std::count_if(group.by_begin.begin(), group.by_begin.end(), [&](const LaneVisit& visit) {
                      return visit.begin <= step && step < visit.end;
                    }));
        }
      }
      EXPECT_EQ(seen, mask);
      EXPECT_EQ(plan.empty_events, events > 1 ? std::vector<int64_t>{0} : std::vector<int64_t>{});
    }
  }
}

TEST(RecurrentLanes, FewLanesIdle) {
  for (const int64_t events : {128, 256, 1000}) {
    const std::vector<uint8_t> mask = particle_mask(events);
    LanePlan plan;
    plan_lanes(events, kSteps, mask.data(), TimeOrder::kForwards, plan);
    EXPECT_LT(idle_share(plan), 0.02) << events;
    EXPECT_GE(static_cast<int64_t>(plan.groups.size()), events / 128) << "threads have nothing to share";
  }
}

TEST(RecurrentLanes, EqualEventsFillTheLanes) {
  LanePlan plan;
  plan_lanes(128, 10, nullptr, TimeOrder::kForwards, plan);
  EXPECT_EQ(plan.groups.size(), 4U);
  EXPECT_EQ(plan.longest_group(), 10);
  EXPECT_EQ(idle_share(plan), 0);
}

TEST(RecurrentLanes, NothingToDo) {
  const std::vector<uint8_t> mask(30);
  LanePlan plan;
  plan_lanes(3, 10, mask.data(), TimeOrder::kForwards, plan);
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.empty_events.size(), 3U);
}

}  // namespace
}  // namespace linac::kernels
