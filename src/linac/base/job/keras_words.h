#pragma once
// Words that users of Keras know, and what they are in a job. Thread-safe functions.

#include <string>

namespace linac::job {

/// For an argument of compile(), fit() or a callback, what sets it here, e.g. "train.optimizer.lr"; "" for others.
std::string keras_setting(const std::string& name);

}  // namespace linac::job
