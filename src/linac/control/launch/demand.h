#pragma once
// How much an attempt needs, and how much there is. Plain values.

#include <cstdint>
#include <string>
#include <vector>

namespace linac::launch {

struct Demand {
  int64_t cores = 1;
  int64_t memory_mb = 0;  // 0: not said
  int64_t gpus = 0;
  int64_t seconds_max = 0;  // that it may run, where that is known; 0: no limit
  // Where it makes a difference on whose machine it runs (control/launch/pilots):
  std::string user{};                // whose attempt it is
  std::vector<std::string> tags{};   // that the machine must have
  std::vector<std::string> avoid{};  // hosts by their names, which are not to run it

  friend bool operator==(const Demand&, const Demand&) = default;
};

struct Capacity {
  Demand all;   // that one attempt could ever have
  Demand free;  // that a further one may be started with now; of a system with a queue of its own, what this one takes
};

/// Room for one more attempt.
struct Vacancy {
  Demand all, free;    // when nothing runs there, and now; seconds_max: the time that is left there
  std::string user{};  // whose attempts it is for; "": anybody's
  std::vector<std::string> tags{};
  std::string host{};  // "": not known before an attempt has begun
};

/// Why `wanted` can never be had of `all`; "" if it can.
std::string why_never(const Demand& wanted, const Demand& all);

}  // namespace linac::launch
