#pragma once
// Errors of TorchScript, for people.

#include <exception>
#include <string>

namespace linac::nn::script {

/// The reason: TorchScript shows the code first and the reason last; LibTorch alone has its stack there.
std::string reason(const std::exception& error);

}  // namespace linac::nn::script
