#pragma once
// The folder of a run on an agent's host, and the run's folder at the service: what an attempt needs from there, and
// what is new here on its way there. One thread.
//
// Log and record go as they grow. Of the checkpoints the newest alone goes, and the best; with it go curves and
// pictures. Models and report go at the end. A checkpoint is looked for before the record is sent and sent after it, so
// the record at the service is never older than the checkpoint beside it.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "linac/control/agent/pilot_client.h"

namespace linac::agent {

class FolderSync {
 public:
  /// `folder`: of the run; `log`: what its processes print.
  FolderSync(PilotClient& client, Lease lease, std::filesystem::path folder, std::filesystem::path log);

  /// Makes the folder what the run is at the service, but for older checkpoints.
  void fetch();
  /// Sends what is new; throws as PilotClient does, and the next call goes on where this one was.
  void send();
  /// All of it. Nobody writes there any more.
  void send_last();

  static constexpr size_t kPieceBytes = 1 << 20;

 private:
  struct State {
    uint64_t inode = 0;
    int64_t size = -1, changed_ns = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  static State state_of(const std::filesystem::path& file);
  std::vector<std::string> files() const;
  void send_log();
  void send_record();
  void send_file(const std::string& name);
  void send_snapshot(const std::string& name);
  void send_some(const std::vector<std::string>& files, bool last);

  PilotClient& client_;
  const Lease lease_;
  const std::filesystem::path folder_, log_;
  int64_t log_sent_ = 0;
  uint64_t record_ = 0;  // the inode of what was sent: a run that resumes puts another file in its place
  int64_t record_sent_ = 0;
  std::map<std::string, State> known_;  // files as the service has them
  std::set<std::string> snapshots_;     // that the service has
  bool remote_seen_ = false;            // these are all
};

}  // namespace linac::agent
