#pragma once
// The queue over HTTP: submitting, looking, cancelling, resuming, and the logs and folders of what runs. Tables for
// table.h; `scheduler` and `sites` outlive them.

#include <vector>

#include "linac/control/execution/scheduler.h"
#include "linac/control/launch/pilots/pilot_board.h"
#include "linac/control/service/context.h"
#include "linac/control/service/declared_sites.h"
#include "linac/control/service/http_words.h"
#include "linac/control/service/studies/conductor.h"

namespace linac::service {

std::vector<Route> job_routes(Context& context, execution::Scheduler& scheduler, const DeclaredSites& sites);
/// Studies that the queue carries out; `desks` and `conductor` outlive them.
std::vector<Route> submitted_study_routes(Context& context, Desks& desks, Conductor& conductor,
                                          execution::Scheduler& scheduler, const DeclaredSites& sites);
/// The folder and the log of a run, to be read.
std::vector<Route> run_file_routes(Context& context);
/// By which agents take work and hand it in; `board` outlives them.
std::vector<Route> pilot_routes(Context& context, execution::Scheduler& scheduler, launch::PilotBoard& board);
/// Runs that were made elsewhere, brought in by `linac ingest`.
std::vector<Route> ingest_routes(Context& context);

}  // namespace linac::service
