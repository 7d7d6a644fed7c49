#pragma once
// The program brought to hosts that have none: the archive that `make dist` makes, which needs nothing there but the
// host's C library. It lies below FOLDER/.programs by its checksum, so that each archive is brought once, launches that
// run keep theirs, and a copy that broke off is none. Thread-safe.

#include <cstdint>
#include <string>

#include "linac/control/sites/shell.h"

namespace linac::sites {

struct ProgramArchive {
  std::string file;  // of this host
  std::string sum;   // SHA-256
  int64_t bytes = 0;
};

/// Reads all of it. User error if it cannot be read, with `place` before it.
ProgramArchive program_archive(const std::string& file, const std::string& place);

/// Where the program is when it has been brought there.
std::string brought_program(const std::string& folder, const ProgramArchive& archive);

/// Says "linac: program there", "linac: program wanted", or "linac: program refused WHY" for a host on which it could
/// not run: another processor, an older C library, no /proc, a folder that is somebody else's.
std::string ask_program_script(const std::string& folder, const ProgramArchive& archive);

/// Brings it, unless it is there; several may bring it at the same time. It is started there once before it counts.
/// Environment error with the host's words.
void bring_program(const Shell& there, const std::string& folder, const ProgramArchive& archive);

}  // namespace linac::sites
