#include "tests/cuda/mutants.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
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

bool is_order(const StreamCall& call) { return call.kind == "wait" || call.kind == "record"; }

std::string name_of(const StreamCall& call) {
  return fmt::format("{} {} {} {}", call.stream, call.kind, call.number, call.what);
}
std::string record_name(std::size_t number, std::size_t stream) {
  return fmt::format("for record {} of stream {}", number, stream);
}

/// How many pieces of work of each stream come before something.
using Clock = std::map<std::size_t, std::size_t>;

/// Returns what comes before each piece of work of a step.
std::map<std::string, Clock> orders_of(const std::vector<StreamCall>& calls) {
  std::map<std::size_t, std::vector<const StreamCall*>> streams;
  std::set<std::string> all_records;
  std::map<std::size_t, std::size_t> ranks;  // of each all-reduce, by its number in a stream
  for (const StreamCall& call : calls) {
    streams[call.stream].push_back(&call);
    if (call.kind == "all_reduce") ++ranks[call.number];
    if (call.kind == "record") all_records.insert(record_name(call.number, call.stream));
  }
  std::map<std::string, Clock> orders, records;
  std::map<std::size_t, Clock> clocks;
  std::map<std::size_t, std::map<std::size_t, Clock>> met;  // the streams at each all-reduce
  std::map<std::size_t, std::size_t> done;
  // Does one call of a stream. Returns false if it waits for a record or for a rank that is still
  // to come.
  const auto join = [](Clock& clock, const Clock& other) {
    for (const auto& [stream, count] : other) clock[stream] = std::max(clock[stream], count);
  };
  const auto advance = [&](std::size_t stream, const StreamCall& call) {
    Clock& clock = clocks[stream];
    for (const std::string& name : call.after) {
      if (!all_records.contains(name)) continue;
      const auto known = records.find(name);
      if (known == records.end()) return false;
      join(clock, known->second);
    }
    if (call.kind == "all_reduce") {
      met[call.number].insert({stream, clock});
      if (met[call.number].size() < ranks[call.number]) return false;
      for (const auto& [rank, other] : met[call.number]) join(clock, other);
    }
    if (call.kind == "record") {
      records[record_name(call.number, stream)] = clock;
    } else if (call.kind != "wait") {
      orders[name_of(call)] = clock;
      ++clock[stream];
    } else if (const auto known = records.find(call.what); known != records.end()) {
      join(clock, known->second);
    } else {
      return !all_records.contains(call.what);  // an event of before says nothing of this step
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& [stream, own] : streams) {
      while (done[stream] < own.size() && advance(stream, *own[done[stream]])) {
        ++done[stream];
        moved = true;
      }
    }
  }
  return orders;
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
  static cudaError_t query(cudaEvent_t event) {
    Mutations& own = *active;
    const std::string name = own.record_of(event);
    const cudaError_t status = own.base_->cudaEventQuery(event);
    const std::lock_guard lock(own.mutex_);
    if (status == cudaSuccess) own.seen_.push_back(name);
    return status;
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
  static ncclResult_t all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                 ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
    Mutations& own = *active;
    const Call again = [=, &own]() -> int {
      return own.base_->ncclAllReduce(from, to, count, type, operation, comm, stream);
    };
    return static_cast<ncclResult_t>(own.pass(
        stream, {.kind = "all_reduce", .what = fmt::format("{} numbers", count)}, again, again));
  }
  /// Groups belong to no stream.
  static ncclResult_t group_start() {
    Mutations& own = *active;
    return static_cast<ncclResult_t>(own.pass(nullptr, {.kind = "group_start"},
                                              [&]() -> int { return own.base_->ncclGroupStart(); },
                                              {}));
  }
  static ncclResult_t group_end() {
    Mutations& own = *active;
    return static_cast<ncclResult_t>(own.pass(
        nullptr, {.kind = "group_end"}, [&]() -> int { return own.base_->ncclGroupEnd(); }, {}));
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
  table_.cudaEventQuery = &Calls::query;
  table_.cudaMemsetAsync = &Calls::set;
  table_.cudaMemcpyAsync = &Calls::copy;
  table_.cudaLaunchKernelExC = &Calls::launch;
  if (table_.cublasLtMatmul != nullptr) table_.cublasLtMatmul = &Calls::product;
  if (table_.cudnnSetStream != nullptr) table_.cudnnSetStream = &Calls::set_dnn_stream;
  if (table_.cudnnBackendExecute != nullptr) table_.cudnnBackendExecute = &Calls::convolution;
  if (table_.ncclAllReduce == nullptr) return;
  table_.ncclAllReduce = &Calls::all_reduce;
  table_.ncclGroupStart = &Calls::group_start;
  table_.ncclGroupEnd = &Calls::group_end;
}

void Mutations::arm(const Mutant& mutant) {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  mutant_ = mutant;
  calls_.clear();
  made_.clear();
  seen_.clear();
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
  records_[event] = record_name(made_[{from, "record"}], from);
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
      call.after = seen_;
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
  std::vector<Mutant> mutants;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const StreamCall& call = calls[i];
    if (is_order(call) || is_of_nccl(call) || call.kind == "memset" || call.kind == "copy") {
      mutants.push_back({.change = Mutant::Change::drop, .call = call});
    }
    if (i + 1 == calls.size() || calls[i + 1].stream != call.stream || !call.can_be_late) continue;
    const StreamCall& next = calls[i + 1];
    // Work of one stream may well be exchanged if one does not depend on the other.
    if ((call.kind == "wait" && !is_order(next)) || (!is_order(call) && next.kind == "record")) {
      mutants.push_back({.change = Mutant::Change::swap, .call = call});
    }
  }
  return mutants;
}

bool changes_order(const std::vector<StreamCall>& calls, const Mutant& mutant) {
  if (mutant.change == Mutant::Change::drop && !is_order(mutant.call)) return true;
  std::vector<StreamCall> changed = calls;
  const auto at = std::find_if(changed.begin(), changed.end(), [&](const StreamCall& call) {
    return name_of(call) == name_of(mutant.call);
  });
  if (mutant.change == Mutant::Change::drop) {
    changed.erase(at);
  } else {
    std::iter_swap(at, at + 1);
  }
  return orders_of(changed) != orders_of(calls);
}

bool is_of_nccl(const StreamCall& call) {
  return call.kind == "all_reduce" || call.kind == "group_start" || call.kind == "group_end";
}

std::string to_string(const Mutant& mutant) {
  return fmt::format("stream {}: {} {} {} {}", mutant.call.stream,
                     mutant.change == Mutant::Change::drop ? "no" : "too late:", mutant.call.kind,
                     mutant.call.number, mutant.call.what);
}

}  // namespace towerflow::testing
