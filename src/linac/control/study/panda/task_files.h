#pragma once
// A study as a hyper-parameter task of PanDA: what `phpo --loadJson conf.json` reads. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>

#include "linac/control/study/study_file.h"

namespace linac::study {

struct PandaTaskFiles {
  nlohmann::json conf, space;  // conf.json, and space.json, which it names
};

/// `container`: an image with linac in it, for the steering, which docker runs at iDDS, and the evaluation; `data_set`:
/// of the training, may be empty. The evaluation reads the study from study.yaml. User error for a study that PanDA
/// cannot carry out, naming the key: conditions, constraints, steps, several objectives, pruners, populations, or a
/// point whose words may be more than the catalog of iDDS keeps; and for an image that is a folder, as docker has none.
PandaTaskFiles panda_task_files(const Study& study, const std::string& container, const std::string& data_set);

}  // namespace linac::study
