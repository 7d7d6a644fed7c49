#pragma once
// The energy of runs, of what their workers told. A machine's meter counts once at each moment, however many workers
// read it, also where these are of several runs side by side: where their times overlap, the mean of the powers that
// they tell. What models tell is of a worker, and adds up. Thread-safe for different objects.

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "linac/base/job/budget.h"
#include "linac/base/job/run_record.h"

namespace linac::job {

/// What the workers of a run told last.
class ToldEnergies {
 public:
  void add(const std::vector<WorkerAccount>& workers);
  std::vector<ToldEnergy> list() const;

 private:
  std::map<std::tuple<std::string, int64_t, double>, ToldEnergy> last_;  // by host, process and begin
};

/// Carbon dioxide of a kWh, in g, with where that is from; 0: not known.
struct Carbon {
  double g_per_kwh = 0;
  std::string from;
};
/// That of the budget, else that of the plan.
Carbon carbon_of(const Budget& budget, const Planned& planned);

/// W of a worker where its machine has no meter: the budget's, else the plan's; 0: not known.
double model_watts(const Budget& budget, const Planned& planned, int workers);

/// All of it, if any is measured.
std::optional<double> measured_kwh(std::vector<ToldEnergy> told);

/// "0.0123 kWh, of which 0.004 idle; 0.0049 kg of CO₂"; "not known".
std::string in_words(const RunEnergy& energy);

/// What cannot be, as a hand or another program writes it, is passed over.
RunEnergy energy_of(std::vector<ToldEnergy> told, const Carbon& carbon);

}  // namespace linac::job
