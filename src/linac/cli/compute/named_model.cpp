#include "linac/cli/compute/named_model.h"

#include "linac/base/job/run_choice.h"
#include "linac/control/client/model_catalog.h"

namespace linac::cli {

std::string named_model(const std::string& text, std::string* fixed) {
  const job::RunChoice choice = job::split_choice(text);
  if (choice.which.empty() || client::is_model_address(text)) return client::local_model(text, fixed);
  return client::local_model(choice.run, fixed) + "@" + choice.which;
}

}  // namespace linac::cli
