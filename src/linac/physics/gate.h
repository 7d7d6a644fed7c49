#pragma once
// The gate: limits that a comparison's figures must keep. A YAML file:
//     limits:
//       - {figure: fpd, floor: 3}                    # at most three times the floor
//       - {figure: "ks.*", floor: 4, bins: true}     # every observable, in every bin
//       - {figure: response.mean, max: 0.02}         # absolute
//       - {figure: linearity, max: 0.01, floor: 3}   # both: the more generous one holds
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
  bool bins = false;   // also in the bins of energy and angle

  template <class V>
  void fields(V& v) {
    v("figure", figure, "name of a figure; '*' stands for any text");
    v("max", max, "the largest value that passes");
    v("floor", floor, "the same in units of the figure's floor; with both, the more generous one holds");
    v("bins", bins, "also in the bins of energy and angle");
  }
};

struct Gate {
  std::vector<Limit> limits;

  template <class V>
  void fields(V& v) {
    v("limits", limits, "what must hold");
  }
};

/// User error naming file, line and key for what is not such a file or asks for nothing.
Gate read_gate(const std::filesystem::path& path);

/// User error, with the nearest name, for a limit that names none of the known figures: to be asked before the work.
void need_known_figures(const Gate& gate, const std::vector<std::string>& known);

struct Verdict {
  Figure figure;
  double allowed = 0;
  bool passed() const { return figure.value <= allowed; }  // not for NaN
  double excess() const { return allowed > 0 ? figure.value / allowed : 0; }
};

/// One verdict for each figure that a limit names (the first limit that does), worst first. User error as
/// need_known_figures().
std::vector<Verdict> judge(const Gate& gate, const std::vector<Figure>& figures);

}  // namespace linac::physics
