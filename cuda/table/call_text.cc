#include "cuda/table/call_text.h"

namespace towerflow::cuda {
namespace {

std::string size_text(const dim3& size) {
  return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
}

}  // namespace

std::string CallText::numbered(const char* kind, const void* handle) {
  if (handle == nullptr) return std::string(kind) == "stream" ? "stream 0" : "null";
  std::string& name = handles_[handle];
  if (name.empty()) name = std::string(kind) + " " + std::to_string(++last_numbers_[kind]);
  return name;
}

std::string CallText::pointer(const void* address) const {
  if (address == nullptr) return "null";
  // Kernels are passed as functions, and descriptors of cuDNN as plain pointers.
  if (const auto handle = handles_.find(address); handle != handles_.end()) return handle->second;
  const auto* at = static_cast<const std::byte*>(address);
  const auto next = memory_.upper_bound(at);
  if (next != memory_.begin()) {
    const auto& [begin, range] = *std::prev(next);
    const auto offset = static_cast<std::size_t>(at - begin);
    if (offset < range.bytes) {
      return offset == 0 ? range.name : range.name + " + " + std::to_string(offset);
    }
  }
  return "host";
}

std::string CallText::quoted(const char* text) {
  if (text == nullptr) return "null";
  constexpr std::size_t kMost = 40;
  const std::string_view all(text);
  return '"' + std::string(all.substr(0, kMost)) + (all.size() > kMost ? ".." : "") + '"';
}

std::string CallText::launch(const cudaLaunchConfig_t* config) {
  if (config == nullptr) return "null";
  return size_text(config->gridDim) + " blocks of " + size_text(config->blockDim) + ", " +
         std::to_string(config->dynamicSmemBytes) + " shared, " +
         numbered("stream", config->stream);
}

std::string CallText::launch(const cudaKernelNodeParams* params) {
  if (params == nullptr) return "null";
  return size_text(params->gridDim) + " blocks of " + size_text(params->blockDim) + ", " +
         std::to_string(params->sharedMemBytes) + " shared, " + pointer(params->func);
}

void CallText::add_memory(const char* kind, const void* address, std::size_t bytes) {
  if (address == nullptr) return;
  memory_[static_cast<const std::byte*>(address)] = {
      .bytes = bytes, .name = std::string(kind) + " " + std::to_string(++last_numbers_[kind])};
}

void CallText::remove_memory(const void* address) {
  memory_.erase(static_cast<const std::byte*>(address));
}

void CallText::add_kernel(const void* kernel, const char* name) {
  handles_[kernel] = "kernel " + std::string(name);
}

void CallText::remove_handle(const void* handle) { handles_.erase(handle); }

}  // namespace towerflow::cuda
