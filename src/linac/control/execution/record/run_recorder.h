#pragma once
// Brings what a run's folder says into the catalog: of a run of this service while it goes on (RunFollower), of one
// that was made elsewhere as `linac ingest` sends it. The functions work within the transaction that they are given.

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linac/base/base/redactor.h"
#include "linac/control/catalog/database.h"
#include "linac/control/execution/host.h"
#include "linac/control/execution/record/run_facts.h"
#include "linac/control/execution/record/run_lines.h"

namespace linac::execution {

RunCursor cursor_of(catalog::Database& database, const std::string& run);
/// Adds what `read` has, if the catalog's cursor is still the one from which it was read; kState else.
void add_lines(catalog::Database& database, const std::string& run, const ReadLines& read);
/// Parameters that the run has not got yet, tags and inputs.
void add_facts(catalog::Database& database, const std::string& run, const ReadFacts& read);

/// Follows one folder. One thread.
class RunFollower {
 public:
  /// Hears of an audit that has found somebody, within the transaction that brings its line into the catalog.
  using Audited = std::function<void(catalog::Database&, const job::AuditLine&)>;
  RunFollower(Host& host, std::string run, std::filesystem::path folder, Audited audited = {})
      : host_(host), run_(std::move(run)), folder_(std::move(folder)), audited_(std::move(audited)) {}

  /// Reads at most kChunkBytesMax of what is new and writes it into the catalog, without the values that `redactor`
  /// knows; true if there may be more at once. Environment error if the catalog cannot be written: nothing is lost
  /// then, the next call begins there again.
  bool poll(const Redactor& redactor);
  /// Everything that is there, facts included.
  void finish(const Redactor& redactor);

  static constexpr size_t kChunkBytesMax = 4 << 20;
  static constexpr std::chrono::seconds kFactsEvery{5};

 private:
  bool read_lines(const Redactor& redactor);
  void read_facts(const Redactor& redactor);

  Host& host_;
  const std::string run_;
  const std::filesystem::path folder_;
  const Audited audited_;
  uint64_t inode_ = 0;  // of the file that was read last
  std::string job_, run_json_;
  std::chrono::steady_clock::time_point facts_read_{};
};

}  // namespace linac::execution
