#include "cuda/backend/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "core/device/plugin_places.h"
#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/clique.h"
#include "cuda/device/fatbins.h"

namespace towerflow::cuda {
namespace {

constexpr const char* kRealPlugin = "libtowerflow_cuda.so";
constexpr const char* kHostPlugin = "libtowerflow_cuda_host.so";
/// The emulation has at least as many devices, so that sessions with different numbers can share
/// it.
constexpr int kEmulatedDevices = 8;

/// A plug-in, or one sentence that says what is missing.
struct PluginOrReason {
  void* plugin = nullptr;
  std::string missing{};
};

/// Whether the calling thread has selected a card.
thread_local bool has_selected = false;

PluginOrReason open_plugin(const char* file) {
  for (const std::string& place : places_of_plugin(file, "cuda")) {
    std::error_code unknown;
    if (!std::filesystem::exists(place, unknown)) continue;
    if (void* plugin = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return {plugin};
    return {nullptr, fmt::format("the plug-in for CUDA cannot be loaded: {}", dlerror())};
  }
  if (void* plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return {plugin};
  return {nullptr, fmt::format("there is no {}", file)};
}

/// Returns the options in the words of the plug-in (cuda/host/options.h); the real one has none.
std::string plugin_options(const CudaDevices& options) {
  if (!options.emulated) return "";
  return fmt::format("devices={},memory={},seed={},max_delay={}",
                     std::max(options.count, kEmulatedDevices), options.memory, options.seed,
                     options.max_delay_us);
}

SourceOrReason open_source(void* plugin, const CudaDevices& options) {
  SourceOrReason result;
  const auto open = reinterpret_cast<OpenSource>(dlsym(plugin, "towerflow_open_cuda"));
  if (open == nullptr || !open(kSourceInterface, plugin_options(options).c_str(), &result)) {
    result.missing = "the plug-in for CUDA belongs to another version";
  }
  return result;
}

/// The last driver. Never destroyed: work may be under way when the process ends.
struct Opened {
  std::mutex mutex;
  std::shared_ptr<Driver> driver;
  std::shared_ptr<TableLayer> layer;  // of the next driver
};
Opened& opened() {
  static auto* const last = new Opened;
  return *last;
}

}  // namespace

std::shared_ptr<Driver> Driver::open(const CudaDevices& options, int home) {
  Opened& last = opened();
  const std::lock_guard lock(last.mutex);
  if (last.driver != nullptr && last.driver->fits(options)) return last.driver;
  if (last.driver != nullptr && last.driver.use_count() > 1) {
    throw ValueError(
        "another session uses CUDA with other options or after a fault; a process has one driver",
        {.hint = "close that session first, or give both the same options"});
  }
  last.driver = nullptr;
  last.driver = make(options, home, last.layer);
  return last.driver;
}

void Driver::set_layer(std::shared_ptr<TableLayer> layer) {
  Opened& last = opened();
  const std::lock_guard lock(last.mutex);
  if (last.driver.use_count() > 1) throw ValueError("sessions use CUDA without this layer");
  last.driver = nullptr;
  last.layer = std::move(layer);
}

std::shared_ptr<Driver> Driver::make(const CudaDevices& options, int home,
                                     std::shared_ptr<TableLayer> layer) {
  const PluginOrReason found = open_plugin(options.emulated ? kHostPlugin : kRealPlugin);
  SourceOrReason source;
  source.missing = found.missing;
  if (found.plugin != nullptr) source = open_source(found.plugin, options);
  if (source.source == nullptr) {
    throw errors::UnavailableError(
        fmt::format("there are no GPUs to use: {}", source.missing),
        {.hint = "--devices cuda-host:N emulates them on this machine, --devices cpu:N does "
                 "without"});
  }
  std::shared_ptr<Driver> driver(
      new Driver(options, home, found.plugin, std::move(source.source), std::move(layer)));
  observe_pinned(driver.get());
  return driver;
}

std::string Driver::missing() {
  const PluginOrReason found = open_plugin(kRealPlugin);
  return found.plugin == nullptr ? found.missing : open_source(found.plugin, {}).missing;
}

Driver::Driver(const CudaDevices& options, int home, void* plugin, std::unique_ptr<Source> source,
               std::shared_ptr<TableLayer> layer)
    : options_(options),
      home_(home),
      plugin_(plugin),
      source_(std::move(source)),
      layer_(std::move(layer)),
      table_(layer_ == nullptr ? &source_->table() : &layer_->on(source_->table())) {
  int count = 0;
  TOWERFLOW_CUDA(*table_, cudaGetDeviceCount(&count));
  devices_.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    TOWERFLOW_CUDA(*table_, cudaGetDeviceProperties(&devices_[static_cast<std::size_t>(i)], i));
  }
  load_kernels();
}

Driver::~Driver() { observe_pinned(nullptr); }

/// Returns whether a session with these options can use this driver.
bool Driver::fits(const CudaDevices& options) const {
  CudaDevices own = options_;
  own.count = options.count;
  own.share = options.share;
  own.limit = options.limit;
  own.graphs = options.graphs;  // of a session, as are the two below
  own.plans = options.plans;
  own.tune = options.tune;
  const bool same = options.emulated ? own == options : !options_.emulated;
  const bool enough = !options.emulated || options.count <= static_cast<int>(devices_.size());
  return same && enough && fault().empty();
}

void Driver::load_kernels() {
  const auto fatbins =
      reinterpret_cast<decltype(&towerflow_cuda_fatbins)>(dlsym(plugin_, "towerflow_cuda_fatbins"));
  if (fatbins == nullptr) throw errors::UnavailableError("the plug-in for CUDA has no kernels");
  std::size_t count = 0;
  const Fatbin* images = fatbins(&count);
  for (std::size_t i = 0; i < count; ++i) {
    cudaLibrary_t image = nullptr;
    TOWERFLOW_CUDA(*table_, cudaLibraryLoadData(&image, images[i].begin, nullptr, nullptr, 0,
                                                nullptr, nullptr, 0));
    images_.push_back(image);
  }
}

void Driver::need(Group group) {
  const std::string missing = source_->open(group);
  if (!missing.empty()) throw errors::UnavailableError(missing);
  if (layer_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  layer_->update();
}

void Driver::select(int device) const {
  TOWERFLOW_CUDA(*table_, cudaSetDevice(device));
  has_selected = true;
}

void Driver::select_any() const noexcept {
  if (has_selected) return;
  has_selected = table_->cudaSetDevice(home_) == cudaSuccess;
  if (!has_selected) table_->cudaGetLastError();
}

std::shared_ptr<void> Driver::allocate_pinned(std::size_t bytes) const {
  void* memory = nullptr;
  {
    const auto held = hold_groups();
    select_any();
    TOWERFLOW_CUDA(*table_,
                   cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable));
  }
  return {memory, [driver = shared_from_this()](void* at) {
            const auto held = driver->hold_groups();
            driver->table().cudaFreeHost(at);
          }};
}

cudaKernel_t Driver::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  for (const cudaLibrary_t image : images_) {
    cudaKernel_t found = nullptr;
    const cudaError_t status = table_->cudaLibraryGetKernel(&found, image, name.c_str());
    if (status == cudaSuccess) return kernels_.emplace(name, found).first->second;
    if (status != cudaErrorSymbolNotFound) {
      raise_failure(describe(*table_, status, "table.cudaLibraryGetKernel(..)"));
    }
    table_->cudaGetLastError();  // it is not in this file
  }
  throw errors::InternalError(fmt::format("there is no CUDA kernel {}", name));
}

std::shared_ptr<Clique> Driver::clique(const std::vector<int>& cards) {
  const auto held = hold_groups();
  const std::lock_guard lock(cliques_mutex_);
  std::weak_ptr<Clique>& known = cliques_[cards];
  std::shared_ptr<Clique> found = known.lock();
  if (found == nullptr) known = found = std::make_shared<Clique>(shared_from_this(), cards);
  return found;
}

void Driver::abort_cliques() noexcept {
  for (std::size_t at = 0;; ++at) {  // none is ever taken off the list
    std::shared_ptr<Clique> clique;  // may be the last one, whose end takes another lock
    {
      const std::lock_guard lock(cliques_mutex_);
      if (at >= cliques_.size()) return;
      clique = std::next(cliques_.begin(), static_cast<std::ptrdiff_t>(at))->second.lock();
    }
    if (clique != nullptr) clique->abort();
  }
}

std::string Driver::fault() const {
  using FaultText = const char* (*)();
  const auto text = reinterpret_cast<FaultText>(dlsym(plugin_, "towerflow_cuda_host_fault"));
  return text == nullptr ? "" : text();
}

void Driver::add_pages(void* pages, std::size_t bytes) noexcept {
  const auto held = hold_groups();
  select_any();
  // Copies of memory that could not be registered are slower, no more.
  if (table_->cudaHostRegister(pages, bytes, cudaHostRegisterPortable) != cudaSuccess) {
    table_->cudaGetLastError();
  }
}

void Driver::remove_pages(void* pages) noexcept {
  note_host_memory_given_back();
  const auto held = hold_groups();
  select_any();
  if (table_->cudaHostUnregister(pages) != cudaSuccess) table_->cudaGetLastError();
}

}  // namespace towerflow::cuda
