#include "linac/model/kernels/recurrent_lanes.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace linac::kernels {
namespace {

// A group of one block computes this much longer than half a group of two: its tiles use a weight only once.
constexpr double kSingleBlockCost = 1.05;
// What a plan may cost over the cheapest one, if it has more groups for threads to share.
constexpr double kSharingCost = 1.07;
// Exchanges between lanes end when this share of the steps idles.
constexpr double kIdleShare = 1.0 / 128;
constexpr int kExchangesPerLane = 8;

struct Event {
  int64_t event, length;
};

struct Lane {
  std::vector<Event> events;
  int64_t steps = 0;
};

int64_t groups_of(int64_t blocks) {
  return (blocks + 1) / 2;
}
int64_t blocks_of_a_group(int64_t blocks) {
  return std::min<int64_t>(blocks, 2);
}

/// Each group's share of the events, which are sorted by falling length: there and back over the groups, so that their
/// sums are nearly equal.
std::vector<std::vector<Event>> deal(const std::vector<Event>& events, int64_t groups) {
  std::vector<std::vector<Event>> shares(static_cast<size_t>(groups));
  for (size_t i = 0; i < events.size(); ++i) {
    const size_t count = shares.size(), turn = i % (2 * count);
    shares[turn < count ? turn : 2 * count - 1 - turn].push_back(events[i]);
  }
  return shares;
}

std::vector<Lane> fill_lanes(const std::vector<Event>& events, int64_t count) {
  std::vector<Lane> lanes(static_cast<size_t>(count));
  using Ending = std::pair<int64_t, size_t>;  // steps, lane
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
  for (size_t i = 0; i < lanes.size(); ++i) endings.emplace(0, i);
  for (const Event& event : events) {
    Lane& lane = lanes[endings.top().second];
    lane.events.push_back(event);
    lane.steps += event.length;
    const Ending next{lane.steps, endings.top().second};
    endings.pop();
    endings.push(next);
  }
  return lanes;
}

int64_t longest(const std::vector<Lane>& lanes) {
  return std::max_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.steps < b.steps; })
      ->steps;
}

/// Moves an event of the longest lane to another lane, perhaps against a shorter one, where that brings both nearest to
/// each other. False if nothing shortens the lane.
bool exchange_one(std::vector<Lane>& lanes) {
  Lane& from =
      *std::max_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.steps < b.steps; });
  struct {
    int64_t longer;
    Lane* to;
    size_t given, taken;  // `taken` may be one past the last: none
  } best{from.steps, nullptr, 0, 0};
  for (Lane& to : lanes) {
    if (&to == &from) continue;
    for (size_t given = 0; given < from.events.size(); ++given) {
      for (size_t taken = 0; taken <= to.events.size(); ++taken) {
        const int64_t back = taken < to.events.size() ? to.events[taken].length : 0;
        const int64_t change = from.events[given].length - back;
        const int64_t longer = std::max(from.steps - change, to.steps + change);
        if (longer < best.longer) best = {longer, &to, given, taken};
      }
    }
  }
  if (best.to == nullptr) return false;
  Lane& to = *best.to;
  const Event given = from.events[best.given];
  from.events.erase(from.events.begin() + static_cast<int64_t>(best.given));
  if (best.taken < to.events.size()) {
    from.events.push_back(to.events[best.taken]);
    to.events.erase(to.events.begin() + static_cast<int64_t>(best.taken));
  }
  to.events.push_back(given);
  for (Lane* lane : {&from, &to}) {
    lane->steps = 0;
    for (const Event& event : lane->events) lane->steps += event.length;
  }
  return true;
}

void even_out(std::vector<Lane>& lanes) {
  double steps = 0;
  for (const Lane& lane : lanes) steps += static_cast<double>(lane.steps);
  const double enough = steps / static_cast<double>(lanes.size()) * (1 + kIdleShare);
  for (size_t i = 0; i < kExchangesPerLane * lanes.size(); ++i) {
    if (static_cast<double>(longest(lanes)) <= enough || !exchange_one(lanes)) return;
  }
}

/// The number of blocks of lanes: as many as there are events, halved while that makes the whole much cheaper.
int64_t choose_blocks(const std::vector<Event>& events) {
  struct Choice {
    int64_t blocks;
    double cost;
  };
  std::vector<Choice> choices;
  for (int64_t i = (static_cast<int64_t>(events.size()) + kLaneBlock - 1) / kLaneBlock; i > 0; i /= 2) {
    const int64_t blocks = i == 1 ? 1 : 2 * groups_of(i);
    double steps = 0;
    for (const auto& share : deal(events, groups_of(blocks)))
      steps += static_cast<double>(longest(fill_lanes(share, blocks_of_a_group(blocks) * kLaneBlock)));
    choices.push_back({blocks, steps * (blocks == 1 ? kSingleBlockCost : 2.0)});
  }
  double cheapest = choices.front().cost;
  for (const Choice& choice : choices) cheapest = std::min(cheapest, choice.cost);
  for (const Choice& choice : choices) {
    if (choice.cost <= kSharingCost * cheapest) return choice.blocks;
  }
  return choices.back().blocks;
}

}  // namespace

int64_t LanePlan::longest_group() const {
  int64_t steps = 0;
  for (const LaneGroup& group : groups) steps = std::max(steps, group.steps);
  return steps;
}

void plan_lanes(int64_t events, int64_t steps, const uint8_t* mask, TimeOrder order, LanePlan& plan) {
  plan = {};
  std::vector<Event> placed;
  for (int64_t event = 0; event < events; ++event) {
    int64_t length = steps;
    if (mask != nullptr) length -= std::count(mask + event * steps, mask + (event + 1) * steps, uint8_t{0});
    plan.valid_steps += length;
    if (length > 0)
      placed.push_back({event, length});
    else
      plan.empty_events.push_back(event);
  }
  if (placed.empty()) return;
  std::stable_sort(placed.begin(), placed.end(), [](const Event& a, const Event& b) { return a.length > b.length; });
  const int64_t blocks = choose_blocks(placed);
  for (const auto& share : deal(placed, groups_of(blocks))) {
    LaneGroup& group = plan.groups.emplace_back();
    group.blocks = blocks_of_a_group(blocks);
    std::vector<Lane> lanes = fill_lanes(share, group.lanes());
    even_out(lanes);
    group.steps = longest(lanes);
    group.rows.assign(static_cast<size_t>(group.steps * group.lanes()), -1);
    for (int64_t lane = 0; lane < group.lanes(); ++lane) {
      int64_t step = 0;
      for (const Event& event : lanes[static_cast<size_t>(lane)].events) {
        group.by_begin.push_back({event.event, lane, step, step + event.length});
        const int64_t end = step + event.length;
        for (int64_t i = 0; step < end; ++i) {
          const int64_t row = event.event * steps + (order == TimeOrder::kForwards ? i : steps - 1 - i);
          if (mask == nullptr || mask[row] != 0) group.rows[static_cast<size_t>(step++ * group.lanes() + lane)] = row;
        }
      }
    }
    group.by_end = group.by_begin;
    std::stable_sort(group.by_begin.begin(), group.by_begin.end(),
                     [](const LaneVisit& a, const LaneVisit& b) { return a.begin < b.begin; });
    std::stable_sort(group.by_end.begin(), group.by_end.end(),
                     [](const LaneVisit& a, const LaneVisit& b) { return a.end > b.end; });
  }
}

}  // namespace linac::kernels
