#pragma once
// What the loops write into the record alike. Thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/plot/losses.h"
#include "linac/train/loop.h"
#include "linac/train/run_folder.h"
#include "linac/train/state.h"

namespace linac::train {

/// A file of a data set (data::FileReport, data::TableFile), as Loop::data() tells of it.
template <class File>
nlohmann::json file_json(const File& file) {
  return {{"url", file.url},
          {"format", file.format},
          {"events", file.events},
          {"bytes", file.bytes},
          {"fingerprint", file.fingerprint}};
}

/// A measure over the epochs, NaN where an epoch has none.
plot::LossLine loss_line(const std::vector<EpochRecord>& history, const std::string& label, const std::string& measure);

/// A chart for each column over the epochs so far, as images/losses.png.
DrawnPicture draw_measures(const std::vector<Column>& columns, const std::vector<EpochRecord>& history,
                           const std::string& title, const RunFolder& folder);

}  // namespace linac::train
