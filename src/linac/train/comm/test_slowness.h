#pragma once
// What tests bound by time is this many times longer in the builds of sanitizers, where the code is that much slower.

namespace linac::comm::testing {

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define LINAC_TEST_SLOWNESS 4
#elif __has_feature(address_sanitizer)
#define LINAC_TEST_SLOWNESS 2
#endif
#endif
#ifndef LINAC_TEST_SLOWNESS
#define LINAC_TEST_SLOWNESS 1
#endif

inline constexpr int kSlowness = LINAC_TEST_SLOWNESS;

}  // namespace linac::comm::testing
