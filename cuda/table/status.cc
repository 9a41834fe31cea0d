#include "cuda/table/status.h"

#include <array>

namespace towerflow::cuda {
namespace {

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

// cuDNN's text of a status is its name, and NVRTC's too. NCCL has texts, but no names.

const char* nccl_name(ncclResult_t status) {
  constexpr const char* names[] = {
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const auto number = static_cast<unsigned>(status);
  return number < std::size(names) ? names[number] : "unknown status";
}

}  // namespace

std::string Failure::message() const {
  std::string message = std::string(name_of(group)) + " returned " + std::to_string(status);
  message += " (" + name + (text.empty() ? "" : ": " + text) + ")";
  return message + " from " + expression;
}

Failure describe(const Table& table, cudaError_t status, const char* expression) {
  return {.group = Group::runtime,
          .status = status,
          .name = text_or_empty(table.cudaGetErrorName(status)),
          .text = text_or_empty(table.cudaGetErrorString(status)),
          .expression = expression};
}

Failure describe(const Table& table, cublasStatus_t status, const char* expression) {
  return {.group = Group::cublaslt,
          .status = status,
          .name = text_or_empty(table.cublasLtGetStatusName(status)),
          .text = text_or_empty(table.cublasLtGetStatusString(status)),
          .expression = expression};
}

Failure describe(const Table& table, cudnnStatus_t status, const char* expression) {
  std::array<char, 1024> text{};
  table.cudnnGetLastErrorString(text.data(), text.size());
  return {.group = Group::cudnn,
          .status = status,
          .name = text_or_empty(table.cudnnGetErrorString(status)),
          .text = text.data(),
          .expression = expression};
}

Failure describe(const Table& table, ncclResult_t status, const char* expression) {
  Failure failure{.group = Group::nccl,
                  .status = status,
                  .name = nccl_name(status),
                  .text = text_or_empty(table.ncclGetErrorString(status)),
                  .expression = expression};
  // The last error says more, if there is one.
  const std::string last = text_or_empty(table.ncclGetLastError(nullptr));
  if (!last.empty()) failure.text += "; " + last;
  return failure;
}

Failure describe(const Table& table, nvrtcResult status, const char* expression) {
  return {.group = Group::nvrtc,
          .status = status,
          .name = text_or_empty(table.nvrtcGetErrorString(status)),
          .text = "",
          .expression = expression};
}

}  // namespace towerflow::cuda
