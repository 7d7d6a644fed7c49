#pragma once
// The figures of a report beside their verdicts, for looking up. Borrows the report. Read-only and thread-safe once
// made.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "linac/physics/report/showers/report.h"

namespace linac::report {

class Ledger {
 public:
  explicit Ledger(const ShowerReport& report);

  /// The figure over all events; nullptr if there is none.
  const physics::Figure* overall(const std::string& name) const;
  /// Of the figures of this name in bins the one farthest beyond its limit or, where no limit holds for bins, the one
  /// that exceeds its floor most, noise (physics/physics/gate.h) last; nullptr if there are none.
  const physics::Figure* worst_bin(const std::string& name) const;
  /// nullptr without a limit.
  const physics::Verdict* verdict(const physics::Figure& figure) const;
  /// Whether it is beyond a limit.
  bool failed(const physics::Figure& figure) const;
  /// How many of the figures of this name in bins failed.
  int failed_bins(const std::string& name) const;

 private:
  using Key = std::pair<std::string, std::pair<int, int>>;
  static Key key(const physics::Figure& figure);
  double badness(const physics::Figure& figure) const;

  std::map<Key, const physics::Figure*> overall_;
  std::map<std::string, std::vector<const physics::Figure*>> in_bins_;
  std::map<Key, const physics::Verdict*> verdicts_;
};

/// value / floor; 0 without a floor or for NaN.
double in_floors(const physics::Figure& figure);

/// Whether it is one of the distances that exist of every observable: "ks.response"; the pieces are then "ks" and
/// "response".
struct DistanceName {
  std::string distance, observable;  // empty for other figures
};
DistanceName distance_name(const std::string& figure_name);

}  // namespace linac::report
