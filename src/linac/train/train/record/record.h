#pragma once
// What the loops write into the record alike. Thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/physics/plot/losses.h"
#include "linac/train/train/loops/loop_words.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// A file of a data set (data::FileReport, data::TableFile), as LoopData::data() tells of it. Of one that has not been
/// opened, format and events are not known.
template <class File>
nlohmann::json file_json(const File& file) {
  nlohmann::json json{{"url", file.url}, {"bytes", file.bytes}, {"fingerprint", file.fingerprint}};
  if (!file.format.empty()) json["format"] = file.format;
  if (file.events >= 0) json["events"] = file.events;
  if constexpr (requires { file.made; }) {
    if (!file.made.empty()) json.update({{"stored", file.stored}, {"passed", file.passed}, {"made", file.made}});
  }
  return json;
}

/// A measure over the epochs, NaN where an epoch has none.
plot::LossLine loss_line(const std::vector<EpochRecord>& history, const std::string& label, const std::string& measure);

/// The charts of how the losses went, in the run's file of that.
Drawing drawing_of_losses(const std::string& tag, const std::string& title, std::vector<plot::LossChart> charts);

/// The same with a chart for each column over the epochs so far.
Drawing drawing_of_measures(const std::vector<Column>& columns, const std::vector<EpochRecord>& history,
                            const std::string& title);

}  // namespace linac::train
