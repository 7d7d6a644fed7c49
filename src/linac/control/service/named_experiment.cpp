#include "linac/control/service/named_experiment.h"

namespace linac::service {

int64_t named_experiment(catalog::Database& database, const catalog::Viewer& viewer, const std::string& name,
                         catalog::Visibility visibility) {
  if (name.empty()) return 0;
  catalog::refuse_hidden_experiment_name(database, viewer, name);
  const auto found = catalog::experiment_by_name(database, viewer, name);
  return found ? found->id : catalog::create_experiment(database, name, "", {}, viewer.user, visibility);
}

}  // namespace linac::service
