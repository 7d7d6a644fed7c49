#pragma once
// The page of a study of hyper-parameters. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/report/page/named_picture.h"
#include "linac/physics/report/study/record.h"

namespace linac::report {

/// The best over time, the front, importance, parallel coordinates, slices, the map of two parameters, curves, times:
/// those for which the study has enough.
std::vector<NamedPicture> draw(const StudyRecord& record);

/// One self-contained page (UTF-8) that opens offline, with every text escaped.
std::string to_html(const StudyRecord& record, const std::vector<NamedPicture>& pictures);

}  // namespace linac::report
