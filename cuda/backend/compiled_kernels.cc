#include "cuda/backend/compiled_kernels.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string_view>

#include "core/graph/error.h"
#include "cuda/backend/driver.h"
#include "cuda/device/header_texts.h"

namespace towerflow::cuda {
namespace {

/// NVRTC has none of these, nor reads files: all of them are one header of ours.
constexpr const char* kStandardHeaders[] = {"cmath",  "cstddef",     "cstdint",       "cstring",
                                            "limits", "type_traits", "cuda_runtime.h"};
constexpr std::string_view kTheirText = "cuda/device/rtc_standard.h";

struct Headers {
  std::vector<const char*> names, texts;
};

const Headers& headers() {
  static const Headers all = [] {
    Headers made;
    const auto add = [&](const char* name, const char* text) {
      made.names.push_back(name);
      made.texts.push_back(text);
    };
    for (const HeaderText& header : rtc_headers()) {
      if (header.name != kTheirText) {
        add(header.name, header.text);
        continue;
      }
      for (const char* name : kStandardHeaders) add(name, header.text);
    }
    return made;
  }();
  return all;
}

}  // namespace

CompiledKernels::~CompiledKernels() {
  for (const auto& [text, compiled] : kernels_) {
    if (compiled.image != nullptr) driver_.table().cudaLibraryUnload(compiled.image);
  }
}

cudaKernel_t CompiledKernels::find(const cudaDeviceProp& card, const KernelSource& source) {
  std::call_once(asked_, [&] { has_compiler_ = has_compiler(); });
  if (!has_compiler_) return nullptr;
  const std::string architecture = fmt::format("sm_{}{}", card.major, card.minor);
  std::unique_lock lock(mutex_);
  Compiled& compiled = kernels_[{architecture, source.text}];
  lock.unlock();
  std::call_once(compiled.tried, [&] {
    const std::vector<char> code = machine_code(architecture, source);
    if (!code.empty()) load(compiled, code, source.name);
  });
  return compiled.kernel;
}

bool CompiledKernels::has_compiler() {
  try {
    driver_.need(Group::nvrtc);
  } catch (const errors::UnavailableError&) {
    return false;
  }
  return empty_entries(driver_.table(), Group::nvrtc).empty();
}

/// Returns nothing if NVRTC refuses the text, or does not know the card.
std::vector<char> CompiledKernels::machine_code(const std::string& architecture,
                                                const KernelSource& source) const {
  const Table& table = driver_.table();
  nvrtcProgram made = nullptr;
  const std::string file = source.name + ".cu";
  if (table.nvrtcCreateProgram(&made, source.text.c_str(), file.c_str(),
                               static_cast<int>(headers().names.size()), headers().texts.data(),
                               headers().names.data()) != NVRTC_SUCCESS) {
    return {};
  }
  const auto destroy = [&](nvrtcProgram program) { table.nvrtcDestroyProgram(&program); };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> program(made, destroy);
  // As in cuda/device/meson.build, since results must have the same bits.
  const std::string card = "--gpu-architecture=" + architecture;
  const char* const options[] = {card.c_str(), "--std=c++20", "--fmad=false", "--ftz=true",
                                 "--device-as-default-execution-space"};
  std::size_t size = 0;
  if (table.nvrtcCompileProgram(program.get(), static_cast<int>(std::size(options)), options) !=
          NVRTC_SUCCESS ||
      table.nvrtcGetCUBINSize(program.get(), &size) != NVRTC_SUCCESS) {
    return {};
  }
  std::vector<char> code(size);
  if (table.nvrtcGetCUBIN(program.get(), code.data()) != NVRTC_SUCCESS) return {};
  return code;
}

/// Leaves no kernel if the driver does not take the code.
void CompiledKernels::load(Compiled& compiled, const std::vector<char>& code,
                           const std::string& name) const {
  const Table& table = driver_.table();
  const bool loaded =
      table.cudaLibraryLoadData(&compiled.image, code.data(), nullptr, nullptr, 0, nullptr, nullptr,
                                0) == cudaSuccess &&
      table.cudaLibraryGetKernel(&compiled.kernel, compiled.image, name.c_str()) == cudaSuccess;
  if (!loaded) {
    compiled.kernel = nullptr;
    table.cudaGetLastError();
  }
}

}  // namespace towerflow::cuda
