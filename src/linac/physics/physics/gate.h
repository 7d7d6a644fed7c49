#pragma once
// The gate: limits that a comparison's figures must keep. A YAML file:
//     showers: 500                                  # fewer in reference or sample: nothing is judged
//     limits:
//       - {figure: response.mean, max: 0.02}                    # absolute
//       - {figure: fpd, floor: 3, cap: 0.5}                      # at most three times the floor, and never beyond 0.5
//       - {figure: "ks.*", floor: 4, cap: 0.2, bins: true}       # every observable, in every bin
//       - {figure: linearity, max: 0.01, floor: 3, cap: 0.05}    # max and floor: the more generous one holds
// A floor grows as the reference shrinks, and with it what it allows. So a limit in floors has a cap, an absolute one:
// however few the showers, no more is allowed.
// A figure is known to its uncertainty only, and chance alone makes it as large as its floor. So there are three ends,
// not two: within its limit for sure, beyond it for sure, and neither.
// The uncertainties of a few showers are themselves not known, and some figures (fpd) grow as samples shrink. So below
// the gate's number of showers there is no verdict.
// Values without locks; the functions are pure.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/physics/physics/comparison.h"

namespace linac::physics {

struct Limit {
  std::string figure;  // a name; '*' stands for any text
  double max = 0;      // 0: none
  double floor = 0;    // in units of the figure's floor; 0: none
  double cap = 0;      // what a floor never allows more than; above 0 where there is a floor
  bool bins = false;   // also in the bins of energy and angle

  template <class V>
  void fields(V& v) {
    v("figure", figure, "name of a figure; '*' stands for any text");
    v("max", max, "the largest value that passes");
    v("floor", floor, "the same in units of the figure's floor; with both, the more generous one holds");
    v("cap", cap, "no floor, however large, allows more than this");
    v("bins", bins, "also in the bins of energy and angle");
  }
};

struct Gate {
  int64_t showers = 100;  // in reference and sample; with fewer nothing is judged
  std::vector<Limit> limits;

  template <class V>
  void fields(V& v) {
    v("showers", showers, "the smallest reference and sample that are judged");
    v("limits", limits, "what must hold");
  }
};

/// User error naming file, line and key for what is not such a file or asks for nothing.
Gate read_gate(const std::filesystem::path& path);

/// User error, with the nearest name, for a limit that names none of the known figures: to be asked before the work.
void need_known_figures(const Gate& gate, const std::vector<std::string>& known);

enum class Judgement { kPassed, kUndecided, kFailed };
/// "passed", "undecided", "failed".
const char* to_string(Judgement judgement);

struct Verdict {
  Figure figure;
  double allowed = 0;

  /// value / allowed; infinite for what is no number.
  double excess() const;
  /// Passed: within the limit by two uncertainties or more. Failed: beyond it by more than two, and by as much beyond
  /// what chance gives between halves of the reference (the floor and twice its deviation); or no number. Undecided:
  /// the rest.
  Judgement judgement() const;
  bool passed() const { return judgement() == Judgement::kPassed; }
};

/// One verdict for each figure that a limit names (the first limit that does), the failed ones first, then the
/// undecided, each worst first, but those that are noise last. User error as need_known_figures().
std::vector<Verdict> judge(const Gate& gate, const std::vector<Figure>& figures);

/// Whether chance may have made all of it: smaller than its uncertainty.
bool is_noise(const Figure& figure);

}  // namespace linac::physics
