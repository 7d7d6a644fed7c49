#pragma once
// What a job of a grid does for a launch: a script of POSIX shell that PanDA's own transformation (runGen) starts in a
// folder of the job. Nothing is uploaded for it: it travels within the task. Pure, thread-safe.
//
// A job of a grid reaches no other one, so all workers of a launch are processes of one job.

#include <string>
#include <vector>

#include "linac/control/sites/panda/settings.h"

namespace linac::sites {

/// Data sets that PanDA brings to the job, and what they are in the job file.
struct PandaInput {
  std::string stream;              // "IN", "TEST": its placeholder is %IN
  std::string key;                 // "data.train"
  std::vector<std::string> names;  // "user.me:showers"
};

/// Those of the job's data that are rucio://. User error, beginning with `place`, for data that no job of a grid sees.
/// The file of scaling may be of this host: it is small, and goes with the script.
std::vector<PandaInput> panda_inputs(const Launch& launch, const std::string& place);

/// The file with the run's folder, of a launch that is kept nowhere else.
inline constexpr const char* kPandaOutput = "run.tgz";

/// The name of the file that has the run's folder, where the launch keeps it in a data set; else "".
std::string panda_output(const Launch& launch);

/// The script; its arguments are the files of each input, with commas. User error for a file of scaling that cannot go
/// with it.
std::string panda_script(const PandaSettings& settings, const Launch& launch, const std::vector<PandaInput>& inputs,
                         const std::string& place);

/// The command of the job that writes the script and starts it.
std::string panda_command(const std::string& script, const std::vector<PandaInput>& inputs);

}  // namespace linac::sites
