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

/// In what order groups that take turns meet the weights of all.
struct TurnSchedule {
  int64_t seed = 0;
  double delays = 2;

  template <class V>
  void fields(V& v) {
    v("seed", seed, "another order of the groups' turns, drawn with train.seed");
    v("delays", delays,
      "each group's turn comes up to so many turns late, drawn anew in each round (and for each layer with hybrid); 0: "
      "one after the other");
  }
};

/// Gradient energy matching (Hermans and Louppe, arXiv:1805.08469).
struct EnergyMatching {
  double kappa = 1, momentum = 0.9;

  template <class V>
  void fields(V& v) {
    v("kappa", kappa, "the energy of the mean way that all groups together are to have; above 4 it may diverge");
    v("momentum", momentum, "of the mean of a group's ways, at least 0 and below 1");
  }
};

struct Sync {
  std::string mode = "exact";
  int groups = 2;
  int64_t every = 100;
  int64_t begin = 0;
  std::string moments = "keep", exchange = "fp32";
  bool copies = true;
  double beta = 0.9, push = 1;
  int64_t max_staleness = 0;
  std::string replay;
  OuterOptimizer outer;
  EnergyMatching gem;
  TurnSchedule schedule;

  /// Whether groups of replicas train apart.
  bool is_apart() const { return mode != "exact"; }
  /// Whether each group goes on from weights of its own.
  bool is_elastic() const { return mode == "easgd"; }
  /// Whether the groups meet the weights of all one after the other, and not as a mean.
  bool takes_turns() const { return mode == "downpour" || mode == "eamsgd" || mode == "gem" || mode == "hybrid"; }

  template <class V>
  void fields(V& v) {
    v("mode", mode,
      "exact: every step adds up all replicas. local: groups of replicas train apart, and come together every so many "
      "steps. easgd: so too, but each group goes on from weights of its own, which those of all pull at and follow "
      "(elastic averaging). In turns, as where nobody waits, by a schedule that is drawn: downpour (parameter server), "
      "eamsgd (easgd in turns), gem (gradient energy matching), hybrid (downpour with turns of its own for each "
      "layer)");
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
    v("beta", beta,
      "easgd, eamsgd: the moving rate; a group's weights and those of all move together by beta / groups");
    v("push", push, "downpour, hybrid: the part of a group's way that the weights of all go in its turn");
    v("max_staleness", max_staleness,
      "in turns: at most so many turns of others between two of a group, so the schedule's delays are cut; the least "
      "is "
      "groups - 1; 0: no bound");
    v("replay", replay,
      "the folder of a run of the same job: groups begin anew where they had to there, since workers were lost");
    v("outer", outer, "of local");
    v("gem", gem, "");
    v("schedule", schedule, "");
  }
};

}  // namespace linac::job
