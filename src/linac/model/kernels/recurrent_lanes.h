#pragma once
// Which lane of the vectors computes which event, and when: events of different lengths one after the other in a lane,
// so that all lanes are busy until nearly the end. Values only; a function of the masks alone.

#include <cstdint>
#include <vector>

namespace linac::kernels {

inline constexpr int64_t kLaneBlock = 16;               // lanes of a vector row
inline constexpr int64_t kGroupLanes = 2 * kLaneBlock;  // lanes that advance together

/// The stay of an event in a lane: steps begin ... end - 1 of the lane's group.
struct LaneVisit {
  int64_t event, lane, begin, end;
};

/// Lanes that advance together, a thread's piece of work.
struct LaneGroup {
  int64_t blocks = 0, steps = 0;
  std::vector<LaneVisit> by_begin, by_end;  // the same visits, by rising begin and by falling end
  std::vector<int64_t> rows;                // [step][lane]: event * time steps + time step, or -1 where the lane idles

  int64_t lanes() const { return blocks * kLaneBlock; }
  const int64_t* rows_of(int64_t step) const { return rows.data() + step * lanes(); }
};

enum class TimeOrder { kForwards, kBackwards };

struct LanePlan {
  std::vector<LaneGroup> groups;
  std::vector<int64_t> empty_events;  // without a valid step: in no lane
  int64_t valid_steps = 0;

  int64_t longest_group() const;
};

/// mask [events][steps], not 0 where valid; null: all are. The longest events are placed first, each into the lane that
/// ends earliest (Graham, SIAM J. Appl. Math. 17 (1969) 416), then exchanges between lanes shorten the longest ones.
/// As many groups as hardly lengthen the whole, for threads to share.
void plan_lanes(int64_t events, int64_t steps, const uint8_t* mask, TimeOrder order, LanePlan& plan);

}  // namespace linac::kernels
