#pragma once
// The gate: limits that a comparison's figures must keep. A YAML file:
//     showers: 500                                  # fewer in reference or sample: nothing passes
//     limits:
//       - {figure: fpd, floor: 3}                    # at most three times the floor
//       - {figure: "ks.*", floor: 4, bins: true}     # every observable, in every bin
//       - {figure: response.mean, max: 0.02}         # absolute
//       - {figure: linearity, max: 0.01, floor: 3}   # both: the more generous one holds
//       - {figure: response.width, floor: 4, cap: 0.2}  # the floor counts up to 0.2, however few showers made it
// A floor grows as the reference shrinks, and with it what it allows. So a limit in floors has a cap, an absolute one:
// where the floor would allow more, the showers are too few to tell what matters. Three ends are possible, not two.
// Values without locks; the functions are pure.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/physics/comparison.h"

namespace linac::physics {

struct Limit {
  std::string figure;  // a name; '*' stands for any text
  double max = 0;      // 0: none
  double floor = 0;    // in units of the figure's floor; 0: none
  double cap = 0;      // what a floor never allows more than; 0: none
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
  int64_t showers = 0;  // in reference and sample; with fewer nothing passes
  std::vector<Limit> limits;

  template <class V>
  void fields(V& v) {
    v("showers", showers, "the smallest reference and sample that can pass");
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
  bool noisy = false;  // the floor would have allowed more than the cap
  double excess() const { return allowed > 0 ? figure.value / allowed : 0; }

  /// Failed: beyond the limit by more than the uncertainty, or NaN. Passed: within it, the uncertainty too where the
  /// floor does not speak for the noise, and the uncertainty is less than the limit. Undecided: the rest.
  Judgement judgement() const;
  bool passed() const { return judgement() == Judgement::kPassed; }
};

/// One verdict for each figure that a limit names (the first limit that does), the failed ones first, then the
/// undecided, each worst first. User error as need_known_figures().
std::vector<Verdict> judge(const Gate& gate, const std::vector<Figure>& figures);

}  // namespace linac::physics
