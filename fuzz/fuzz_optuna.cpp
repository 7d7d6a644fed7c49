// A journal file of Optuna. What is read, however damaged, is a study whose trials its own space takes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "linac/base/base/error.h"
#include "linac/control/study/optuna/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace linac;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    for (const study::OptunaStudy& study : study::parse_optuna_file(text, "fuzz")) {
      const study::GivenStudy given = study::from_optuna(study);
      tune::History history(given.study.space(), given.study.directions());
      for (size_t i = 0; i < given.trials.size(); ++i) {
        const study::GivenTrial& trial = given.trials[i];
        const auto number = static_cast<int64_t>(i);
        history.start(number, trial.point);
        for (const auto& [step, value] : trial.curve) history.report(number, step, value);
        if (trial.state == tune::State::kComplete) history.complete(number, trial.values);
      }
      if (history.objectives() > 1) history.front();
    }
  } catch (const Error&) {  // any other exception is a finding
  }
  return 0;
}
