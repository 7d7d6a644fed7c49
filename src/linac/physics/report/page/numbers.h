#pragma once
// Numbers as people read them. Pure, thread-safe.

#include <string>

namespace linac::report {

/// Three significant digits: "0.0432", "1.20×10⁻⁷", "not a number".
std::string short_number(double value);

/// As many digits as the uncertainty (standard deviation) carries, two of its own: "0.0432 ± 0.0051",
/// "(1.20 ± 0.25)×10⁻⁷"; without an uncertainty short_number().
std::string with_uncertainty(double value, double uncertainty);

/// "41 %"; "4.2 %"; "–" for NaN.
std::string percent(double fraction);

/// A ratio: "0.41", "2.3", "87", "1200", "1.6×10⁷".
std::string times(double ratio);

/// The same for value / limit, never rounded across 1: "0.99", "1.01".
std::string share_of_limit(double ratio);

}  // namespace linac::report
