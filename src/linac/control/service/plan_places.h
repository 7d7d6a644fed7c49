#pragma once
// Where a plan may send a job of this service: its host, the agents that ask for work, and the sites that an admin has
// declared, each as far as the caller may use it. Thread-safe.

#include <vector>

#include "linac/base/plan/places.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/launch/pilots/pilot_board.h"
#include "linac/control/service/context.h"
#include "linac/control/service/declared_sites.h"

namespace linac::service {

struct PlanPlaces {
  Context& context;
  const execution::Scheduler& scheduler;
  const DeclaredSites& sites;
  const launch::PilotBoard& pilots;

  /// Agents with the same cores, memory, GPUs and price are one place. Blocks on the catalog: whether somebody waits
  /// for a place is asked of the queue. `remarks` gets what is not known of them.
  std::vector<plan::Offer> offers(const Caller& caller, const plan::Book& book,
                                  std::vector<std::string>& remarks) const;
};

}  // namespace linac::service
