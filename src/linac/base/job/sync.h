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
  double beta = 0.9;
  OuterOptimizer outer;

  /// Whether groups of replicas train apart.
  bool is_apart() const { return mode != "exact"; }
  /// Whether each group goes on from weights of its own.
  bool is_elastic() const { return mode == "easgd"; }

  template <class V>
  void fields(V& v) {
    v("mode", mode,
      "exact: every step adds up all replicas. local: groups of replicas train apart, and come together every so many "
      "steps. easgd: so too, but each group goes on from weights of its own, which those of all pull at and follow "
      "(elastic averaging)");
    v("groups", groups, "apart: so many groups of equally many replicas; they change the result, unlike workers");
    v("every", every, "apart: steps of a round, after which the groups come together; an epoch ends a round too");
    v("begin", begin, "apart: so many steps are exact before the first round (post-local SGD)");
    v("moments", moments,
      "apart: what becomes of a group's optimiser where it comes together with others: keep (DiLoCo), average, or "
      "reset");
    v("exchange", exchange,
      "apart: of what travels between groups: fp32, bf16, or int8, whose error is carried to the next round");
    v("copies", copies,
      "apart: whether another group's workers have a copy of what a group keeps (moments, the error of int8, weights "
      "of easgd), so that workers that are lost change nothing; it travels in each round");
    v("beta", beta, "easgd: the moving rate; a group's weights and those of all move together by beta / groups");
    v("outer", outer, "of local");
  }
};

}  // namespace linac::job
