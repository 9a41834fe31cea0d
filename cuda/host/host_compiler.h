#pragma once

#include <string>
#include <vector>

namespace towerflow::cuda::host {

/// A header, by the name with which it is included.
struct Header {
  std::string name, text;
};

/// What the compiler made of a text.
struct Compilation {
  std::string object;  ///< the bytes of a shared object; empty if there is an error
  std::string log;     ///< what the compiler said
};

/// Returns whether the compiler that the build used can be called.
bool has_host_compiler();

/// Compiles the text of kernels for the host, as the build compiles those of cuda/device. `headers`
/// are found by #include "..", those of the standard library in the system.
Compilation compile_for_host(const std::string& text, const std::vector<Header>& headers);

}  // namespace towerflow::cuda::host
