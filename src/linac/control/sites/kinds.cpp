#include "linac/control/sites/site.h"

namespace linac::sites {

// Each in the file of its class.
Kind local_kind();
Kind ssh_kind();
Kind slurm_kind();
Kind mpi_kind();
Kind kubernetes_kind();
Kind panda_kind();

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll{
      local_kind(), ssh_kind(), slurm_kind(), mpi_kind(), kubernetes_kind(), panda_kind(),
  };
  return kAll;
}

const std::string& words_of_kinds() {
  static const std::string kWords = [] {
    std::string words = kinds().front().word;
    for (size_t i = 1; i < kinds().size(); ++i)
      words += (i + 1 < kinds().size() ? ", " : " or ") + std::string(kinds()[i].word);
    return words;
  }();
  return kWords;
}

}  // namespace linac::sites
