#include "linac/cli/control/study_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/child_process.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/cli/common/handed_verbs.h"
#include "linac/control/study/record.h"
#include "linac/control/study/trials_use.h"

namespace linac::cli {

void write_study_page(const nlohmann::json& record, const std::filesystem::path& out) {
  const TemporaryFolder folder;
  const auto file = folder / "study.json";
  write_file_atomically(file, record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / kDataProgram;
  ProcessStart start =
      start_program({.words = {program.string(), "report", "--study", file.string(), "--out", out.string()}},
                    {.others = ChildSettings::Others::kKept});
  if (!start)
    throw environment_error(fmt::format("[study] {}: cannot be started ({}); it belongs beside this program",
                                        program.string(), start.why()));
  if (!start.process.wait().well())
    throw environment_error(fmt::format("[study] {}: the page was not drawn; what is above says why", out.string()));
}

void write_study_page(const study::Journal& journal, const std::filesystem::path& out) {
  const auto folder = std::filesystem::absolute(journal.folder()).lexically_normal();
  const std::string name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  write_study_page(
      study::record_of(journal.ledger(), "Study " + name, study::folder_facts(journal.ledger(), journal.folder())),
      out);
}

}  // namespace linac::cli
