// NVRTC. The real one judges programs where it is installed, since it works without a driver, and
// makes their PTX. Its machine code cannot be run here: in its place, the compiler that the build
// used for kernels makes code of the host from the same text and headers. Programs therefore have
// to be written as those of cuda/device are (cuda/device/kernel.cuh).
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/host/coverage.h"
#include "cuda/host/host_compiler.h"
#include "cuda/host/host_object.h"
#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"

namespace towerflow::cuda::host {
namespace {

/// Returns the entries of the real library; nullptr where it is not installed.
const Table* real() {
  static const Table* const found = []() -> const Table* {
    // Kept open: the entries point into it.
    void* const library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static Table table;
#define TOWERFLOW_ENTRY(name) table.name = reinterpret_cast<types::name>(dlsym(library, #name));
    TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    return empty_entries(table, Group::nvrtc).empty() ? &table : nullptr;
  }();
  return found;
}

struct Program {
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (judged != nullptr) real()->nvrtcDestroyProgram(&judged);
  }

  std::string text;
  std::vector<Header> headers;
  nvrtcProgram judged = nullptr;  ///< the program of the real library, if there is one
  std::string log, code;
};

auto& programs = *new LibraryHandles<nvrtcProgram, Program>;

/// Calls `body(program)`, which returns the status of the call.
template <class Body>
nvrtcResult with(nvrtcProgram handle, Body body) {
  const std::shared_ptr<Program> program = programs.find(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  try {
    return body(*program);
  } catch (const std::bad_alloc&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  }
}

/// Copies text with the 0 behind it, as NVRTC counts it.
nvrtcResult copy(const std::string& text, char* to) {
  if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::copy_n(text.c_str(), text.size() + 1, to);
  return NVRTC_SUCCESS;
}

bool wants_machine_code(std::string_view option) {
  return option.starts_with("--gpu-architecture=sm_") || option.starts_with("-arch=sm_");
}

/// Lets the real library compile a program.
nvrtcResult judge(Program& program, int count, const char* const* options) {
  const nvrtcResult status = real()->nvrtcCompileProgram(program.judged, count, options);
  std::size_t size = 0;
  real()->nvrtcGetProgramLogSize(program.judged, &size);
  std::string log(size, '\0');
  if (size > 0) real()->nvrtcGetProgramLog(program.judged, log.data());
  program.log = log.c_str();
  return status;
}

}  // namespace

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (real() != nullptr) return real()->nvrtcVersion(major, minor);
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = CUDART_VERSION / 1000;
  *minor = CUDART_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}

const char* nvrtcGetErrorString(nvrtcResult status) {
  if (real() != nullptr) return real()->nvrtcGetErrorString(status);
  switch (status) {
    case NVRTC_SUCCESS:
      return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_INVALID_INPUT:
      return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR unknown";
  }
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  if (program == nullptr || text == nullptr || count < 0) return NVRTC_ERROR_INVALID_INPUT;
  if (count > 0 && (headers == nullptr || names == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  try {
    auto made = std::make_shared<Program>();
    made->text = text;
    for (int i = 0; i < count; ++i) {
      if (names[i] == nullptr || headers[i] == nullptr) return NVRTC_ERROR_INVALID_INPUT;
      made->headers.push_back({names[i], headers[i]});
    }
    if (real() != nullptr) {
      const nvrtcResult status =
          real()->nvrtcCreateProgram(&made->judged, text, name, count, headers, names);
      if (status != NVRTC_SUCCESS) return status;
    }
    *program = programs.add(std::move(made));
    return NVRTC_SUCCESS;
  } catch (const std::bad_alloc&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  }
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || !programs.remove(*program)) return NVRTC_ERROR_INVALID_PROGRAM;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  return with(handle, [&](Program& program) {
    program.log.clear();
    program.code.clear();
    if (real() != nullptr) {
      const nvrtcResult status = judge(program, count, options);
      if (status != NVRTC_SUCCESS) return status;
    }
    if (!std::any_of(options, options + count, wants_machine_code)) return NVRTC_SUCCESS;
    const Compilation made = compile_for_host(program.text, program.headers);
    program.log += made.log;
    if (made.object.empty()) return NVRTC_ERROR_COMPILATION;
    program.code = HostObject::image_of(made.object);
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, std::size_t* size) {
  return with(handle, [&](const Program& program) {
    if (size == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    *size = program.log.size() + 1;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  return with(handle, [&](const Program& program) { return copy(program.log, log); });
}

/// Without the real library there is no PTX.
nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, std::size_t* size) {
  return with(handle, [&](const Program& program) {
    return program.judged == nullptr ? NVRTC_ERROR_INVALID_PROGRAM
                                     : real()->nvrtcGetPTXSize(program.judged, size);
  });
}

nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* text) {
  return with(handle, [&](const Program& program) {
    return program.judged == nullptr ? NVRTC_ERROR_INVALID_PROGRAM
                                     : real()->nvrtcGetPTX(program.judged, text);
  });
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, std::size_t* size) {
  return with(handle, [&](const Program& program) {
    if (size == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    *size = program.code.size();
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* code) {
  return with(handle, [&](const Program& program) {
    if (code == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    std::copy(program.code.begin(), program.code.end(), code);
    return NVRTC_SUCCESS;
  });
}

std::string fill_nvrtc(Table& table) {
  if (!has_host_compiler()) return "the emulation of NVRTC finds no compiler for the host";
#define TOWERFLOW_ENTRY(name) table.name = &host::name;
  TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  count_calls(table);
  return "";
}

}  // namespace towerflow::cuda::host
