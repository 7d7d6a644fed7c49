#pragma once
// The experiment that a job or a run names, as its user sees experiments.

#include <string>

#include "linac/control/catalog/experiments.h"

namespace linac::service {

/// Its number; made, for the viewer, if there is none; 0 without a name. kDenied for a name that another's private
/// experiment has.
int64_t named_experiment(catalog::Database& database, const catalog::Viewer& viewer, const std::string& name,
                         catalog::Visibility visibility);

}  // namespace linac::service
