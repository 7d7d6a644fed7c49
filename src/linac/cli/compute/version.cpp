#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/version.h"
#include "linac/cli/compute/verbs.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/models/torch_threads.h"

namespace linac::cli {

void add_version_verb(CLI::App& app) {
  auto* verb = add_handed_verb(app, "version");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "as JSON");
  verb->footer("Example: linac version --json");
  verb->callback([json] {
    const char* isa = kernels::to_string(kernels::best_isa());
    if (*json) {
      const nlohmann::ordered_json content{
          {"version", kVersion}, {"libtorch", models::torch_version()}, {"isa", isa}, {"build_type", kBuildType}};
      fmt::print("{}\n", content.dump());
    } else {
      fmt::print("linac {} (LibTorch {}, {}, {})\n", kVersion, models::torch_version(), isa, kBuildType);
    }
  });
}

}  // namespace linac::cli
