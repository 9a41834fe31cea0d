#include "cuda/table/load.h"

#include <dlfcn.h>

#include <array>
#include <mutex>
#include <optional>
#include <utility>

namespace towerflow::cuda {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

const char* file_of(Group group) {
  constexpr const char* files[] = {"libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9",
                                   "libnccl.so.2", "libnvrtc.so.13"};
  return files[static_cast<int>(group)];
}

/// Fills an entry, whose type its name decides.
template <class Function>
void fill(Function*& entry, void* symbol) {
  entry = reinterpret_cast<Function*>(symbol);
}

void fill_group(Table& table, Group group, const std::function<void*(const char*)>& symbol) {
  for_each_entry(table, group, [&](const char* name, auto& entry) { fill(entry, symbol(name)); });
}

/// Returns an address in the library of a group, by which its file is found.
void* address_in(const Table& table, Group group) {
  switch (group) {
    case Group::runtime:
      return reinterpret_cast<void*>(table.cudaRuntimeGetVersion);
    case Group::cublaslt:
      return reinterpret_cast<void*>(table.cublasLtGetVersion);
    case Group::cudnn:
      return reinterpret_cast<void*>(table.cudnnGetVersion);
    case Group::nccl:
      return reinterpret_cast<void*>(table.ncclGetVersion);
    case Group::nvrtc:
      return reinterpret_cast<void*>(table.nvrtcVersion);
  }
  return nullptr;
}

std::string dotted(std::size_t major, std::size_t minor, std::optional<std::size_t> patch = {}) {
  std::string text = std::to_string(major) + "." + std::to_string(minor);
  return patch ? text + "." + std::to_string(*patch) : text;
}

std::string version_of(const Table& table, Group group) {
  int number = 0, minor = 0;
  switch (group) {
    case Group::runtime:
      if (table.cudaRuntimeGetVersion(&number) != cudaSuccess) return "";
      return dotted(number / 1000, number % 1000 / 10);
    case Group::cublaslt: {
      const std::size_t version = table.cublasLtGetVersion();
      return dotted(version / 10000, version / 100 % 100, version % 100);
    }
    case Group::cudnn: {
      const std::size_t version = table.cudnnGetVersion();
      return dotted(version / 10000, version / 100 % 100, version % 100);
    }
    case Group::nccl:
      if (table.ncclGetVersion(&number) != ncclSuccess) return "";
      return dotted(number / 10000, number / 100 % 100, number % 100);
    case Group::nvrtc:
      if (table.nvrtcVersion(&number, &minor) != NVRTC_SUCCESS) return "";
      return dotted(number, minor);
  }
  return "";
}

class SystemSource final : public Source {
 public:
  explicit SystemSource(Loader loader) : loader_(std::move(loader)) {}

  const Table& table() const override { return table_; }

  std::string open(Group group) override {
    std::lock_guard lock(mutex_);
    auto& opened = opened_[static_cast<std::size_t>(group)];
    if (opened) return "";
    void* library = loader_.open(file_of(group));
    if (library == nullptr)
      return std::string(name_of(group)) + " was not found (" + file_of(group) + ")";
    Table found = table_;
    fill_group(found, group, [&](const char* name) { return loader_.symbol(library, name); });
    if (const auto empty = empty_entries(found, group); !empty.empty()) {
      return std::string(name_of(group)) + " is of another version: " + file_of(group) +
             " has no " + std::string(empty.front());
    }
    // Only these entries: threads may be calling others.
    fill_group(table_, group, [&](const char* name) { return loader_.symbol(library, name); });
    opened = OpenedLibrary{.group = group,
                           .path = loader_.path(address_in(table_, group)),
                           .version = version_of(table_, group)};
    return "";
  }

  std::vector<OpenedLibrary> opened() const override {
    std::lock_guard lock(mutex_);
    std::vector<OpenedLibrary> libraries;
    for (const auto& library : opened_) {
      if (library) libraries.push_back(*library);
    }
    return libraries;
  }

 private:
  Loader loader_;
  Table table_;
  mutable std::mutex mutex_;
  std::array<std::optional<OpenedLibrary>, std::size(kGroups)> opened_;
};

/// Returns why no driver works here, empty if one does.
std::string find_driver(const Loader& loader) {
  void* driver = loader.open(kDriver);
  const std::string in_driver = std::string(" (") + kDriver + ")";
  if (driver == nullptr) return "no NVIDIA driver was found" + in_driver;
  using Init = int (*)(unsigned);
  const auto init = reinterpret_cast<Init>(loader.symbol(driver, "cuInit"));
  if (init == nullptr) return "the NVIDIA driver has no cuInit" + in_driver;
  const int status = init(0);
  constexpr int kNoDevice = 100;
  if (status == kNoDevice) return "the NVIDIA driver found no GPU" + in_driver;
  if (status == 0) return "";
  return "the NVIDIA driver does not start: cuInit returned " + std::to_string(status) + in_driver;
}

}  // namespace

Loader system_loader() {
  return {.open = [](const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); },
          .symbol = [](void* library, const char* symbol) { return dlsym(library, symbol); },
          .path = [](void* address) -> std::string {
            Dl_info info{};
            return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
          }};
}

SourceOrReason load_table(const Loader& loader) {
  if (std::string missing = find_driver(loader); !missing.empty()) {
    return {.source = nullptr, .missing = std::move(missing)};
  }
  auto source = std::make_unique<SystemSource>(loader);
  if (std::string missing = source->open(Group::runtime); !missing.empty()) {
    return {.source = nullptr, .missing = std::move(missing)};
  }
  return {.source = std::move(source), .missing = ""};
}

}  // namespace towerflow::cuda
