#pragma once
// A command's own view of this host: Linux namespaces made by bubblewrap (`bwrap`), which any account may use where the
// kernel lets it. In there it has no privileges, its processes are the only ones, files are read-only, and what is
// private to the account that starts it is not there: what View hides, what lies in its home under a name with a dot,
// /tmp, and the sockets of /run. Calls that it needs not are refused (fences.h). The network is the host's; so are the
// GPUs, where it was given some. Thread-safe.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/control/launch/command.h"

namespace linac::launch {

/// Why no sandbox can be had here, in a few words; "" if one was made and ended as it should. Starts a process.
std::string why_no_sandbox();

/// Folders with what a program loads, its own among them: for View::programs. Starts a process.
std::vector<std::string> needed_by(const std::string& program);

/// Descriptors that bwrap inherits.
struct SandboxFiles {
  int info;    // it tells about its first process
  int filter;  // call_filter()
  int more;    // further arguments, as variables_of_sandbox() writes them, where nobody else sees them; -1: none
};
/// What carries out `command`, which has a view, in a sandbox of that view. Environment error if bwrap is not there.
std::vector<std::string> sandboxed(const Command& command, const SandboxFiles& files);
/// Variables for within the sandbox: bwrap itself, which is outside, does not have them.
std::string variables_of_sandbox(const std::vector<std::pair<std::string, std::string>>& variables);

/// What a sandbox hides and what it shows; of the folders that a path lies in the innermost counts.
struct Places {
  std::vector<std::string> hidden{}, shown{};
  /// The folder because of which `path` is not there; "" if it is.
  std::string hidden_with(const std::string& path) const;
};
Places places_in(const View& view);

/// The first process of the sandbox, from what bwrap told; 0 if that cannot be read.
pid_t first_process(const std::string& told);

/// Whether `path` is `folder` or lies in it; both without links and "..".
bool lies_in(const std::string& path, const std::string& folder);

}  // namespace linac::launch
