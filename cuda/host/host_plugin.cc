// The plug-in of the emulation: the table of cuda/table/table.h without a card.
#include <array>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>

#include "cuda/device/fatbins.h"
#include "cuda/host/control.h"
#include "cuda/host/libraries.h"
#include "cuda/host/runtime.h"
#include "cuda/host/visible.h"
#include "cuda/table/source.h"

namespace towerflow::cuda::host {
namespace {

class HostSource final : public Source {
 public:
  HostSource() { open(Group::runtime); }

  const Table& table() const override { return table_; }

  std::string open(Group group) override {
    std::lock_guard lock(mutex_);
    bool& is_open = open_[static_cast<std::size_t>(group)];
    if (is_open) return "";
    std::string missing = fill(group);
    is_open = missing.empty();
    return missing;
  }

  std::vector<OpenedLibrary> opened() const override {
    std::lock_guard lock(mutex_);
    std::vector<OpenedLibrary> libraries;
    for (const Group group : kGroups) {
      if (open_[static_cast<std::size_t>(group)]) {
        libraries.push_back({.group = group, .path = "emulated on the host", .version = ""});
      }
    }
    return libraries;
  }

 private:
  std::string fill(Group group) {
    switch (group) {
      case Group::runtime:
        add_runtime(table_);
        break;
      case Group::cublaslt:
        fill_cublaslt(table_);
        break;
      case Group::cudnn:
        fill_cudnn(table_);
        break;
      case Group::nccl:
        fill_nccl(table_);
        break;
      case Group::nvrtc:
        return fill_nvrtc(table_);
    }
    return "";
  }

  Table table_;
  mutable std::mutex mutex_;
  std::array<bool, std::size(kGroups)> open_{};
};

}  // namespace
}  // namespace towerflow::cuda::host

/// Starts the emulation with these options (cuda/host/options.h).
extern "C" TOWERFLOW_CUDA_VISIBLE bool towerflow_open_cuda(
    int interface, const char* options, towerflow::cuda::SourceOrReason* result) {
  using namespace towerflow::cuda;
  if (interface != kSourceInterface) return false;
  try {
    host::restart(host::parse_options(options));
    result->source = std::make_unique<host::HostSource>();
  } catch (const std::bad_alloc&) {
    result->missing = "there are not enough addresses for the emulated devices' memory";
  } catch (const std::exception& error) {
    result->missing = error.what();
  }
  return true;
}

/// One image for all kernels, which are found by name.
const towerflow::cuda::Fatbin* towerflow_cuda_fatbins(std::size_t* count) {
  static constexpr std::string_view kImage = "// the kernels are functions of the host\n";
  static const towerflow::cuda::Fatbin image = {
      reinterpret_cast<const std::byte*>(kImage.data()),
      reinterpret_cast<const std::byte*>(kImage.data() + kImage.size())};
  *count = 1;
  return &image;
}

/// Returns what was found wrong in the program since the start, empty if nothing was.
extern "C" TOWERFLOW_CUDA_VISIBLE const char* towerflow_cuda_host_fault() {
  thread_local std::string text;
  const auto fault = towerflow::cuda::host::found_fault();
  text = fault ? fault->text : "";
  return text.c_str();
}
