#pragma once
// How the replicas of a training come together: job keys train.sync. Plain values.

#include <cstdint>
#include <string>

namespace linac::job {

/// What is made of the mean way of the groups in a round: DiLoCo (Douillard et al., arXiv:2311.08105), whose values
/// these are.
struct OuterOptimizer {
  double lr = 0.7, momentum = 0.9;
  bool nesterov = true;

  template <class V>
  void fields(V& v) {
    v("lr", lr, "of the mean way of the groups; 1 with momentum 0: the groups' weights are averaged");
    v("momentum", momentum, "of that mean from round to round, at least 0 and below 1");
    v("nesterov", nesterov, "whether the momentum looks ahead");
  }
};

struct Sync {
  std::string mode = "exact";
  int groups = 2;
  int64_t every = 100;
  int64_t begin = 0;
  std::string moments = "keep", exchange = "fp32";
  bool copies = true;
  OuterOptimizer outer;

  bool is_local() const { return mode == "local"; }

  template <class V>
  void fields(V& v) {
    v("mode", mode,
      "exact: every step adds up all replicas. local: groups of replicas train apart, and come together every so many "
      "steps");
    v("groups", groups, "local: so many groups of equally many replicas; they change the result, unlike workers");
    v("every", every, "local: steps of a round, after which the groups come together; an epoch ends a round too");
    v("begin", begin, "local: so many steps are exact before the first round (post-local SGD)");
    v("moments", moments,
      "local: what becomes of a group's optimiser where it comes together with others: keep (DiLoCo), average, or "
      "reset");
    v("exchange", exchange,
      "local: of what travels between groups: fp32, bf16, or int8, whose error is carried to the next round");
    v("copies", copies,
      "local: whether another group's workers have a copy of what a group keeps (moments, the error of int8), so that "
      "workers that are lost change nothing; it travels in each round");
    v("outer", outer, "");
  }
};

}  // namespace linac::job
