#pragma once
// For tests: what an error says.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linac/base/base/error.h"

namespace linac {

/// What `act` throws; a failure of the test if nothing, or an error of another code.
template <class Act>
std::string message_of(ErrorCode code, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

/// The same of an error of the user's.
template <class Act>
std::string message_of(const Act& act) {
  return message_of(ErrorCode::kUser, act);
}

inline void expect_in(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

}  // namespace linac
