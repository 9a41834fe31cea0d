#include "tests/cuda/mutants.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/device/plugin_places.h"
#include "cuda/host/host_kernel.h"

namespace towerflow::testing {
namespace {

std::atomic<Mutations*> active = nullptr;

/// Returns what the emulation knows of a kernel, in the plug-in that the backend has opened.
const cuda::host::HostKernel* find_host_kernel(const std::string& name) {
  using Find = const cuda::host::HostKernel* (*)(std::string_view);
  static const Find find = [] {
    for (const std::string& place : places_of_plugin("libtowerflow_cuda_host.so", "cuda")) {
      void* plugin = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
      if (plugin == nullptr) continue;
      constexpr const char* kMangled =
          "_ZN9towerflow4cuda4host11find_kernelESt17basic_string_viewIcSt11char_traitsIcEE";
      return reinterpret_cast<Find>(dlsym(plugin, kMangled));
    }
    return Find{};
  }();
  if (find == nullptr) throw std::logic_error("the emulation's plug-in is not open");
  return find(name);
}

}  // namespace

/// Functions without an object, as the table has them.
struct Mutations::Calls {
  static cudaError_t create_stream(cudaStream_t* stream, unsigned flags) {
    Mutations& own = *active;
    const cudaError_t status = own.base_->cudaStreamCreateWithFlags(stream, flags);
    const std::lock_guard lock(own.mutex_);
    if (status == cudaSuccess) own.streams_[*stream] = ++own.made_streams_;
    return status;
  }
  static cudaError_t get_kernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
    Mutations& own = *active;
    const cudaError_t status = own.base_->cudaLibraryGetKernel(kernel, library, name);
    const std::lock_guard lock(own.mutex_);
    if (status == cudaSuccess) own.kernels_[*kernel] = name;
    return status;
  }
  static cudnnStatus_t set_dnn_stream(cudnnHandle_t handle, cudaStream_t stream) {
    Mutations& own = *active;
    {
      const std::lock_guard lock(own.mutex_);
      own.dnn_streams_[handle] = stream;
    }
    return own.base_->cudnnSetStream(handle, stream);
  }
  static cudaError_t wait(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return runtime(
        stream, {.kind = "wait", .what = active.load()->record_of(event)},
        [=](const cuda::Table& base) { return base.cudaStreamWaitEvent(stream, event, flags); });
  }
  static cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
    active.load()->note_record(event, stream);
    return runtime(stream, {.kind = "record"},
                   [=](const cuda::Table& base) { return base.cudaEventRecord(event, stream); });
  }
  static cudaError_t set(void* at, int value, std::size_t bytes, cudaStream_t stream) {
    const std::string what = fmt::format("{} bytes", bytes);
    return runtime(stream, {.kind = "memset", .what = what}, [=](const cuda::Table& base) {
      return base.cudaMemsetAsync(at, value, bytes, stream);
    });
  }
  static cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind direction,
                          cudaStream_t stream) {
    const std::string what = fmt::format("{} bytes", bytes);
    return runtime(stream, {.kind = "copy", .what = what}, [=](const cuda::Table& base) {
      return base.cudaMemcpyAsync(to, from, bytes, direction, stream);
    });
  }
  static cudaError_t launch(const cudaLaunchConfig_t* config, const void* kernel,
                            void** arguments) {
    Mutations& own = *active;
    return static_cast<cudaError_t>(own.pass(
        config->stream, {.kind = "launch", .what = own.kernel_name(kernel)},
        [&]() -> int { return own.base_->cudaLaunchKernelExC(config, kernel, arguments); },
        own.late_launch(*config, kernel, arguments)));
  }
  static cublasStatus_t product(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a,
                                const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,
                                const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                                cublasLtMatrixLayout_t layout_d,
                                const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                std::size_t bytes, cudaStream_t stream) {
    Mutations& own = *active;
    const auto run = [=](const void* first, const void* second, const cublasLtMatmulAlgo_t* algo) {
      return static_cast<int>(active.load()->base_->cublasLtMatmul(
          handle, operation, first, a, layout_a, b, layout_b, second, c, layout_c, d, layout_d,
          algo, workspace, bytes, stream));
    };
    // Factors are numbers of float32 in the steps that are tested.
    const float first = *static_cast<const float*>(alpha);
    const float second = *static_cast<const float*>(beta);
    return static_cast<cublasStatus_t>(own.pass(
        stream, {.kind = "product"}, [&] { return run(alpha, beta, algorithm); },
        [=, algo = *algorithm] { return run(&first, &second, &algo); }));
  }
  static cudnnStatus_t convolution(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                   cudnnBackendDescriptor_t pack) {
    Mutations& own = *active;
    cudaStream_t stream = nullptr;
    {
      const std::lock_guard lock(own.mutex_);
      stream = own.dnn_streams_[handle];
    }
    // The pack ends with the call.
    return static_cast<cudnnStatus_t>(
        own.pass(stream, {.kind = "convolution"},
                 [&]() -> int { return own.base_->cudnnBackendExecute(handle, plan, pack); }, {}));
  }

 private:
  template <class Run>
  static cudaError_t runtime(cudaStream_t stream, StreamCall call, const Run& run) {
    Mutations& own = *active;
    const Call again = [&own, run]() -> int { return run(*own.base_); };
    return static_cast<cudaError_t>(own.pass(stream, std::move(call), again, again));
  }
};

Mutations::Mutations() {
  Mutations* none = nullptr;
  if (!active.compare_exchange_strong(none, this)) throw std::logic_error("two layers of mutants");
}

Mutations::~Mutations() { active = nullptr; }

const cuda::Table& Mutations::on(const cuda::Table& base) {
  base_ = &base;
  update();
  return table_;
}

/// Copies entries that are new; those that were exchanged stay.
void Mutations::update() {
#define TOWERFLOW_ENTRY(name) \
  if (table_.name == nullptr) table_.name = base_->name;
  TOWERFLOW_CUDA_ENTRIES(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  table_.cudaStreamCreateWithFlags = &Calls::create_stream;
  table_.cudaLibraryGetKernel = &Calls::get_kernel;
  table_.cudaStreamWaitEvent = &Calls::wait;
  table_.cudaEventRecord = &Calls::record;
  table_.cudaMemsetAsync = &Calls::set;
  table_.cudaMemcpyAsync = &Calls::copy;
  table_.cudaLaunchKernelExC = &Calls::launch;
  if (table_.cublasLtMatmul != nullptr) table_.cublasLtMatmul = &Calls::product;
  if (table_.cudnnSetStream != nullptr) table_.cudnnSetStream = &Calls::set_dnn_stream;
  if (table_.cudnnBackendExecute != nullptr) table_.cudnnBackendExecute = &Calls::convolution;
}

void Mutations::arm(const Mutant& mutant) {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  mutant_ = mutant;
  calls_.clear();
  made_.clear();
  records_.clear();
  changed_ = false;
}

void Mutations::disarm() {
  Call late;
  {
    const std::lock_guard lock(mutex_);
    armed_ = false;
    late = std::exchange(held_back_, {});
  }
  if (late) late();
}

std::vector<StreamCall> Mutations::calls() const {
  const std::lock_guard lock(mutex_);
  std::vector<StreamCall> all;
  for (const auto& [stream, calls] : calls_) all.insert(all.end(), calls.begin(), calls.end());
  return all;
}

bool Mutations::changed() const {
  const std::lock_guard lock(mutex_);
  return changed_;
}

/// The call itself follows, and no other of its stream comes between.
void Mutations::note_record(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const std::size_t from = streams_[stream];
  records_[event] = fmt::format("for record {} of stream {}", made_[{from, "record"}], from);
}

std::string Mutations::record_of(cudaEvent_t event) const {
  const std::lock_guard lock(mutex_);
  const auto known = records_.find(event);
  return known == records_.end() ? "for an earlier step" : known->second;
}

int Mutations::pass(cudaStream_t stream, StreamCall call, const Call& now, Call late) {
  Call before;
  {
    const std::lock_guard lock(mutex_);
    if (armed_) {
      call.stream = streams_[stream];
      call.can_be_late = late != nullptr;
      if (call.kind != "wait") call.number = made_[{call.stream, call.kind}]++;
      calls_[call.stream].push_back(call);
      const StreamCall& wanted = mutant_.call;
      const bool is_wanted = wanted.stream == call.stream && wanted.kind == call.kind &&
                             wanted.number == call.number && wanted.what == call.what;
      if (is_wanted && !changed_ && mutant_.change != Mutant::Change::none) {
        changed_ = true;
        if (mutant_.change == Mutant::Change::swap) held_back_ = std::move(late);
        return 0;
      }
      if (changed_ && wanted.stream == call.stream) before = std::exchange(held_back_, {});
    }
  }
  const int status = now();
  const int status_before = before ? before() : 0;
  return status != 0 ? status : status_before;
}

std::string Mutations::kernel_name(const void* kernel) const {
  const std::lock_guard lock(mutex_);
  const auto known = kernels_.find(kernel);
  return known == kernels_.end() ? "" : known->second;
}

Mutations::Call Mutations::late_launch(const cudaLaunchConfig_t& config, const void* kernel,
                                       void** arguments) const {
  const cuda::host::HostKernel* known = find_host_kernel(kernel_name(kernel));
  if (known == nullptr) return {};
  struct alignas(16) Word {
    std::array<std::byte, 16> bytes;
  };
  auto values = std::make_shared<std::vector<std::vector<Word>>>();
  for (std::size_t i = 0; i < known->parameters.size(); ++i) {
    const std::size_t bytes = known->parameters[i].bytes;
    auto& words = values->emplace_back((bytes + sizeof(Word) - 1) / sizeof(Word));
    std::memcpy(words.data(), arguments[i], bytes);
  }
  return [this, config, kernel, values] {
    std::vector<void*> pointers;
    for (auto& words : *values) pointers.push_back(words.data());
    return static_cast<int>(base_->cudaLaunchKernelExC(&config, kernel, pointers.data()));
  };
}

std::vector<Mutant> mutants_of(const std::vector<StreamCall>& calls) {
  static const std::set<std::string> orders = {"wait", "record"};
  std::vector<Mutant> mutants;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const StreamCall& call = calls[i];
    const bool is_order = orders.contains(call.kind);
    if (is_order || call.kind == "memset" || call.kind == "copy") {
      mutants.push_back({.change = Mutant::Change::drop, .call = call});
    }
    if (i + 1 == calls.size() || calls[i + 1].stream != call.stream || !call.can_be_late) continue;
    const std::string& next = calls[i + 1].kind;
    // A record that comes later, or a wait that comes earlier, only makes work wait for more.
    if (call.kind == "record" || next == "wait") continue;
    mutants.push_back({.change = Mutant::Change::swap, .call = call});
  }
  return mutants;
}

std::string to_string(const Mutant& mutant) {
  return fmt::format("stream {}: {} {} {} {}", mutant.call.stream,
                     mutant.change == Mutant::Change::drop ? "no" : "too late:", mutant.call.kind,
                     mutant.call.number, mutant.call.what);
}

}  // namespace towerflow::testing
