#pragma once
// Where the time of a worker's steps went: a part of the record (run_record.h), the words of `linac report` and of
// TensorBoard ("profile/forward"). Pure.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/job/record_fields.h"

namespace linac::job {

/// Of the updates that change one network. The replicas of a worker are computed side by side: the time of computing is
/// divided as the seconds of their threads are.
struct NetworkTime {
  static constexpr const char* kName = "NetworkTime";
  std::string network;
  double forward_s = 0, backward_s = 0, sum_s = 0, idle_s = 0, update_s = 0;

  template <class V>
  static void fields(V&& v) {
    v({"network", "", "that these updates change", Need::kNeeded}, &NetworkTime::network);
    v({"forward_s", "s", "forward passes, through other networks too", Need::kNeeded}, &NetworkTime::forward_s);
    v({"backward_s", "s", "backward passes, through other networks too", Need::kNeeded}, &NetworkTime::backward_s);
    v({"sum_s", "s", "the sum over replicas, as far as computing does not hide it", Need::kNeeded},
      &NetworkTime::sum_s);
    v({"idle_s", "s", "beside that: waiting for workers that had sent nothing of it yet", Need::kNeeded},
      &NetworkTime::idle_s);
    v({"update_s", "s", "the optimiser", Need::kNeeded}, &NetworkTime::update_s);
  }
};

/// Of the steps that counted.
struct StepTime {
  static constexpr const char* kName = "StepTime";
  int64_t steps = 0;
  double wall_s = 0, squares_s2 = 0, input_s = 0;
  std::vector<NetworkTime> networks;

  template <class V>
  static void fields(V&& v) {
    v({"steps", "", "so many", Need::kNeeded}, &StepTime::steps);
    v({"wall_s", "s", "from their begin to when they counted; what is in no part is between the parts", Need::kNeeded},
      &StepTime::wall_s);
    v({"squares_s2", "s²", "sum of the squares of their times", Need::kSpare, "unless an older linac wrote it"},
      &StepTime::squares_s2);
    v({"input_s", "s", "waiting for the next batch", Need::kNeeded}, &StepTime::input_s);
    v({"networks", "", "by network", Need::kNeeded}, &StepTime::networks);
  }

  /// An entry is made for one that is new.
  NetworkTime& of(const std::string& network) {
    const auto found = std::ranges::find(networks, network, &NetworkTime::network);
    return found != networks.end() ? *found : networks.emplace_back(NetworkTime{.network = network});
  }
  StepTime& operator+=(const StepTime& other) { return add(other, 1); }
  StepTime& operator-=(const StepTime& other) { return add(other, -1); }

 private:
  StepTime& add(const StepTime& other, int sign);
};

/// The parts of a step: in which it waits for its input, those of a network, and the rest.
struct NetworkPart {
  const char* name;
  double NetworkTime::*seconds;
  const char* meaning;  // a sentence
};
inline constexpr const char* kInputPart = "input";
inline constexpr const char* kOtherPart = "other";
inline constexpr std::array kNetworkParts{
    NetworkPart{"forward", &NetworkTime::forward_s, "Forward passes and losses of the worker's replicas."},
    NetworkPart{"backward", &NetworkTime::backward_s, "Backward passes."},
    NetworkPart{"sum", &NetworkTime::sum_s, "The sum over replicas, as far as computing does not hide it."},
    NetworkPart{"idle", &NetworkTime::idle_s, "Waiting for workers that still compute."},
    NetworkPart{"update", &NetworkTime::update_s, "The optimiser."}};

inline StepTime& StepTime::add(const StepTime& other, int sign) {
  steps += sign * other.steps;
  wall_s += sign * other.wall_s;
  squares_s2 += sign * other.squares_s2;
  input_s += sign * other.input_s;
  for (const NetworkTime& theirs : other.networks)
    for (const NetworkPart& part : kNetworkParts) of(theirs.network).*part.seconds += sign * theirs.*part.seconds;
  return *this;
}

inline double seconds_of(const StepTime& time, const NetworkPart& part) {
  double sum = 0;
  for (const NetworkTime& network : time.networks) sum += network.*part.seconds;
  return sum;
}

/// Standard deviation of a step over the mean; 0 for less than two, and where their squares are not told.
inline double scatter(const StepTime& time) {
  if (time.steps < 2 || time.wall_s <= 0) return 0;
  const double count = static_cast<double>(time.steps);
  const double squares = time.squares_s2 - time.wall_s * time.wall_s / count;
  return std::sqrt(std::max(0.0, squares) / (count - 1)) * count / time.wall_s;
}

/// What lies between the parts.
inline double other_s(const StepTime& time) {
  double parts = time.input_s;
  for (const NetworkPart& part : kNetworkParts) parts += seconds_of(time, part);
  return std::max(0.0, time.wall_s - parts);
}

}  // namespace linac::job
