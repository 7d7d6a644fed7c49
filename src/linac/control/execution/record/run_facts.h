#pragma once
// What the other files of a run's folder say of it: the resolved job as parameters, run.json as tags and data sets.
// Bytes of strangers, read within bounds; what is not as expected is left out. Thread-safe functions.

#include <string>
#include <string_view>
#include <vector>

#include "linac/control/catalog/runs.h"

namespace linac::execution {

/// "train.optimizer.lr" → "0.001": the leaves of job.yaml; lists as one text. Empty if it is no YAML map.
catalog::Tags parameters_of(const std::string& job_yaml);

struct RunFacts {
  catalog::Tags tags;                    // "linac.version", "linac.host", ...
  std::vector<catalog::DataSet> inputs;  // files with their fingerprints
  std::string name, started, status, error;
};
RunFacts facts_of(const std::string& run_json);

/// Both: read before they are brought into the catalog, whose writing thread reads nothing that strangers wrote.
struct ReadFacts {
  catalog::Tags parameters;
  RunFacts run;
};
ReadFacts read_facts(const std::string& job_yaml, const std::string& run_json);

/// The last error in a log of linac, in a line; its last line if there is none.
std::string reason_in_log(std::string_view log);
/// Valid UTF-8 without control characters, at most `bytes_max` bytes.
std::string cleaned(std::string_view text, size_t bytes_max);

constexpr size_t kReasonBytesMax = 600, kFactFileBytesMax = 4 << 20, kJobFileBytesMax = 1 << 20, kParametersMax = 1000;

}  // namespace linac::execution
