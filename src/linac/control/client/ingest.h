#pragma once
// Brings the folder of a run into the catalog of a service, over HTTP: once, or again and again while the run goes on.
// The service knows what it has, so nothing is remembered here, and a broken transfer is simply repeated.

#include <cstdint>
#include <filesystem>
#include <string>

#include "linac/control/client/service_client.h"

namespace linac::client {

struct Ingested {
  std::string run, name, state;
  bool fresh = false;   // the service had not heard of it
  int64_t points = 0;   // new ones
  int64_t damaged = 0;  // lines that were none
};
/// One folder. One thread.
class FolderIngest {
 public:
  FolderIngest(ServiceClient& service, std::filesystem::path folder, std::string experiment)
      : service_(service), folder_(std::move(folder)), experiment_(std::move(experiment)) {}

  /// Sends what the folder has: all of it at the first call, what is new at later ones. User error for a folder without
  /// a line in metrics.jsonl or of a newer linac; those of ServiceClient, after which the next call sends all of it
  /// again.
  Ingested poll();

 private:
  void send_lines(Ingested& ingested);

  ServiceClient& service_;
  const std::filesystem::path folder_;
  const std::string experiment_;
  uint64_t file_ = 0;   // the inode of what was sent: a run that resumes puts another file in its place
  int64_t offset_ = 0;  // of the first byte that was not sent
};

/// Whether there is something to send yet.
bool has_lines(const std::filesystem::path& folder);

/// What names the run: its folder's first line says when, where and by which process it began, and is never rewritten.
std::string ingest_key(const std::filesystem::path& folder);

}  // namespace linac::client
