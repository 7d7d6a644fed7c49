#pragma once
// `linac agent`: takes jobs of a service by outgoing connections alone, carries them out on this host, and hands in
// what comes of them. docs/internals/decisions/pilots.md has the contract, docs/guide/launch.md the user's side.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/control/client/login.h"

namespace linac::agent {

struct AgentOptions {
  client::Login login;
  std::filesystem::path token_file;  // that its token is from: no job of others sees it; empty: from elsewhere
  std::string name;                  // empty: the host's
  std::filesystem::path folder;      // kept, so that another agent goes on there; empty: one that goes with this one
  std::string slots;                 // as launch::Slots::of_text() takes them; empty: the whole host
  std::vector<std::string> tags;
  double price = 0;                   // US dollars for an hour of the host; 0: nothing
  bool once = false;                  // one job
  bool only_own = false;              // jobs of the token's user alone
  bool trust_jobs = false;            // those of others run without a sandbox
  std::chrono::seconds idle_exit{0};  // ends after so long without work; 0: never
  std::chrono::seconds time_left{0};  // that this host is there; 0: no end is known
  std::chrono::seconds grace{120};    // before that end, for checkpoints
  std::filesystem::path program;      // linac
};

/// Until SIGTERM or SIGINT, which drain it: no new work, what runs saves a checkpoint and is handed in; a second one
/// ends it at once. Returns the exit status. User error for a folder in which another agent works.
int run_agent(const AgentOptions& options);

}  // namespace linac::agent
