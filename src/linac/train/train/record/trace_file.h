#pragma once
// The trace of a run: what the threads of all workers did in some steps, as one file in the trace event format, which
// Perfetto and Chrome open (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). A process row a
// worker, a thread row a thread of it. Pure but for gather_trace(); thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/base/trace.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/record/trace_steps.h"

namespace linac::train {

/// How far another worker's clock is ahead of rank 0's, and how well that is known.
struct ClockOffset {
  int64_t ahead_ns = 0, error_ns = 0;
};

/// A worker's part on its way, in at most so many bytes: the spans that begin last are left out, and counted.
std::string packed(const trace::Recorded& recorded, const std::string& host, int64_t pid, size_t bytes_max);

/// The file's text, of the parts by rank. One that cannot be read is left out.
std::string trace_json(const std::vector<std::string>& parts, const std::vector<ClockOffset>& clocks,
                       const TraceSteps& steps);

/// Collective: the file's text at rank 0, elsewhere nothing. The workers' clocks are compared now: rank 0 asks each
/// some times, and the fastest answer counts (D. L. Mills, RFC 5905). Half of its way there and back bounds the error.
std::string gather_trace(comm::Group& group, const trace::Recorded& mine, const TraceSteps& steps);

}  // namespace linac::train
