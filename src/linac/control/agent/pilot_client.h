#pragma once
// What an agent says to its service, and what the answers mean to it: docs/internals/decisions/pilots.md. A service is trusted to
// send jobs, and still bounded: no answer may fill the memory, no name lead out of a folder. One thread.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/control/client/service_client.h"
#include "linac/control/launch/pilots/words.h"

namespace linac::agent {

/// The lease is over, or never was: the work is to end at once, and nobody wants its files.
class LeaseOver : public Error {
 public:
  using Error::Error;
};
/// The service does not know the token any longer, or it is no agent's.
class TokenRefused : public Error {
 public:
  using Error::Error;
};

struct Lease {
  std::string label, secret;
};

struct RemoteFile {
  std::string name;  // below the run's folder; harmless
  int64_t bytes = 0;
};

/// Each call throws LeaseOver or TokenRefused where the service says so, and an environment error for everything that
/// may go well later: a service that is away, or answers as none of its kind.
class PilotClient {
 public:
  /// `go_on`: while false, calls break off within a second or so (environment error).
  PilotClient(client::Login login, std::function<bool()> go_on);

  struct Work {
    std::optional<launch::HandedWork> work;
    std::chrono::milliseconds lease{0};
  };
  Work ask(const launch::PilotAgent& agent, bool only_own, std::chrono::seconds wait);

  void begin(const Lease& lease);
  /// Whether it is to stop.
  bool renew(const Lease& lease, const launch::AttemptUse& use);
  /// Up to where the service has all of it.
  int64_t send_log(const Lease& lease, int64_t from, std::string_view bytes);
  int64_t send_lines(const Lease& lease, int64_t from, std::string_view bytes);
  std::vector<RemoteFile> files(const Lease& lease);
  void fetch(const Lease& lease, const RemoteFile& file, const std::filesystem::path& to);
  /// False for a file that is not there any more.
  bool put(const Lease& lease, const std::string& name, const std::filesystem::path& file);
  void remove(const Lease& lease, const std::string& name);
  void end(const Lease& lease, const launch::Exit& exit);

  static constexpr size_t kAnswerBytesMax = 8 << 20;

 private:
  void speak_for(const Lease& lease);
  int64_t send_piece(const Lease& lease, const char* what, int64_t from, std::string_view bytes);

  client::ServiceClient service_;
  const std::function<bool()> go_on_;
};

}  // namespace linac::agent
