#include "linac/control/study/foreign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/control/study/katib/experiment.h"
#include "linac/control/study/optuna/file.h"

namespace linac::study {

GivenStudy read_foreign(const std::string& file, const std::string& name) {
  const std::string text = read_file(file);
  if (!text.starts_with("{\"op_code\"")) {
    if (is_katib_experiment(text)) return from_katib(text, file);
    throw data_error(
        fmt::format("[study] {}: neither a journal file of Optuna nor an Experiment of Katib; see `linac study import "
                    "--help`",
                    file));
  }
  const std::vector<OptunaStudy> studies = parse_optuna_file(text, file);
  std::vector<std::string> names;
  for (const OptunaStudy& one : studies) {
    if (one.name == name || (name.empty() && studies.size() == 1)) return from_optuna(one);
    names.push_back(one.name);
  }
  throw user_error(fmt::format("[study] {}: {}; say which one: --name (there are {})", file,
                               name.empty() ? "has several studies" : "has no study '" + name + "'",
                               fmt::join(names, ", ")));
}

}  // namespace linac::study
