#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "cuda/table/table.h"

namespace towerflow::cuda {

/// Writes arguments and results of calls as text that is the same in every run.
class CallText {
 public:
  /// Types of handles have names.
  template <class T>
  static constexpr const char* handle_name() {
    if constexpr (std::is_same_v<T, cudaStream_t>) return "stream";
    if constexpr (std::is_same_v<T, cudaEvent_t>) return "event";
    if constexpr (std::is_same_v<T, cudaGraph_t>) return "graph";
    if constexpr (std::is_same_v<T, cudaGraphExec_t>) return "executable";
    if constexpr (std::is_same_v<T, cudaGraphNode_t>) return "node";
    if constexpr (std::is_same_v<T, cudaLibrary_t>) return "library";
    if constexpr (std::is_same_v<T, cudaKernel_t>) return "kernel";
    if constexpr (std::is_same_v<T, cublasLtHandle_t>) return "cublasLt";
    if constexpr (std::is_same_v<T, cublasLtMatmulDesc_t>) return "matmul";
    if constexpr (std::is_same_v<T, cublasLtMatrixLayout_t>) return "layout";
    if constexpr (std::is_same_v<T, cublasLtMatmulPreference_t>) return "preference";
    if constexpr (std::is_same_v<T, cudnnHandle_t>) return "cudnn";
    if constexpr (std::is_same_v<T, cudnnTensorDescriptor_t>) return "tensor";
    if constexpr (std::is_same_v<T, cudnnLRNDescriptor_t>) return "lrn";
    if constexpr (std::is_same_v<T, ncclComm_t>) return "communicator";
    if constexpr (std::is_same_v<T, nvrtcProgram>) return "program";
    return nullptr;
  }

  /// An argument before the call. What the call writes is not known yet: empty.
  template <class T>
  std::string before(const T& argument) {
    if constexpr (handle_name<T>() != nullptr) {
      return numbered(handle_name<T>(), argument);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      return std::to_string(argument);
    } else if constexpr (std::is_same_v<T, const char*>) {
      return quoted(argument);
    } else if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*>) {
      return pointer(argument);
    } else if constexpr (std::is_same_v<T, const cudaLaunchConfig_t*>) {
      return launch(argument);
    } else if constexpr (std::is_same_v<T, const cudaKernelNodeParams*>) {
      return launch(argument);
    } else if constexpr (std::is_pointer_v<T>) {
      return is_written<T>() && argument != nullptr ? "" : argument == nullptr ? "null" : "..";
    } else {
      return "..";
    }
  }
  /// What the call wrote, for an argument that was empty before.
  template <class T>
  std::string after([[maybe_unused]] const T& argument) {
    if constexpr (is_written<T>()) {
      using Target = std::remove_pointer_t<T>;
      if constexpr (handle_name<Target>() != nullptr) {
        return "-> " + numbered(handle_name<Target>(), *argument);
      } else {
        return "-> " + std::to_string(*argument);
      }
    } else {
      return "";
    }
  }

  /// Gives numbers to an allocation, or forgets it.
  void add_memory(const char* kind, const void* address, std::size_t bytes);
  void remove_memory(const void* address);
  /// Gives the kernel's name to a handle.
  void add_kernel(const void* kernel, const char* name);
  /// Forgets the number of a handle: its address may be used again.
  void remove_handle(const void* handle);

 private:
  /// Whether a parameter is an output worth noting: a handle or a number, no amount of bytes and no
  /// time.
  template <class T>
  static constexpr bool is_written() {
    if constexpr (std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>>) {
      using Target = std::remove_pointer_t<T>;
      return handle_name<Target>() != nullptr || std::is_same_v<Target, int>;
    } else {
      return false;
    }
  }

  struct Range {
    std::size_t bytes;
    std::string name;
  };

  std::string numbered(const char* kind, const void* handle);
  std::string pointer(const void* address) const;
  static std::string quoted(const char* text);
  std::string launch(const cudaLaunchConfig_t* config);
  std::string launch(const cudaKernelNodeParams* params);

  std::map<std::string, int, std::less<>> last_numbers_;  // by kind
  std::map<const void*, std::string> handles_;
  std::map<const std::byte*, Range> memory_;
};

}  // namespace towerflow::cuda
