#pragma once
// Katib's Experiment (kubeflow.org/v1beta1) as a study: what is searched, the objective, the algorithm and early
// stopping. What its trials run is a pod's, and stays behind: another program asks and tells. Pure, thread-safe.

#include <string>

#include "linac/control/study/given.h"

namespace linac::study {

/// Whether the text is an Experiment, or says that it is one.
bool is_katib_experiment(const std::string& text);

/// A study without trials. User error naming the field for what linac lacks or what is no number; numbers are texts
/// there.
GivenStudy from_katib(const std::string& text, const std::string& where);

}  // namespace linac::study
