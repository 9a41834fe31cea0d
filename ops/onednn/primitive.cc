#include "ops/onednn/primitive.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "core/graph/error.h"

namespace towerflow::onednn {
namespace {

// Looked up at run time, because which OpenMP library oneDNN uses (if any) was decided when oneDNN
// was built, not by the compiler of this file.
struct OpenMp {
  using SetThreads = void (*)(int);
  using GetThreads = int (*)();
  SetThreads set_threads = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  GetThreads get_threads = reinterpret_cast<GetThreads>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  bool present() const { return set_threads != nullptr && get_threads != nullptr; }
};

const OpenMp& open_mp() {
  static const OpenMp functions;
  return functions;
}

// In bytes: more than oneDNN allocates at a time (6 MiB for the code of products), since other
// threads allocate meanwhile. The first malloc of a thread reserves 64 MiB.
constexpr std::size_t kRoom = std::size_t{32} << 20;
constexpr std::size_t kRoomForProducts = std::size_t{160} << 20;

// Maps the memory instead of allocating it, because debugging allocators fill what they return.
void check_free_memory(const char* what, std::size_t bytes) {
  void* const room =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    throw errors::ResourceExhaustedError(fmt::format(
        "oneDNN could not prepare {}: less than {} bytes of memory are left.", what, bytes));
  munmap(room, bytes);
}

/// Multiplies small matrices, which makes oneDNN generate the code of all products.
bool multiply_once(const char* what) {
  check_free_memory(what, kRoomForProducts);
  constexpr int kSide = 16;
  std::array<float, kSide * kSide> a{}, c{};
  return dnnl_sgemm('N', 'N', kSide, kSide, kSide, 1.0f, a.data(), kSide, a.data(), kSide, 0.0f,
                    c.data(), kSide) == dnnl_success;
}

std::string_view implementation(const dnnl::primitive& primitive) {
  const char* name = nullptr;
  const auto status =
      dnnl_primitive_desc_query(primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0, &name);
  return status == dnnl_success && name != nullptr ? name : "";
}

}  // namespace

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

SingleThreadScope::SingleThreadScope()
    : before_(open_mp().present() ? open_mp().get_threads() : 1) {
  if (before_ != 1) open_mp().set_threads(1);
}

SingleThreadScope::~SingleThreadScope() {
  if (before_ != 1) open_mp().set_threads(before_);
}

dnnl::primitive_attr caller_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void make_ready(const char* what) {
  static const bool ready = multiply_once(what);
  check_free_memory(what, kRoom);
  if (!ready)
    throw errors::ResourceExhaustedError(
        fmt::format("oneDNN could not prepare {}: it had no memory for its code.", what));
}

void rethrow_dnnl(const char* what) {
  try {
    throw;
  } catch (const dnnl::error& error) {
    const std::string text = fmt::format("oneDNN could not prepare {}: {} (status {}).", what,
                                         error.what(), static_cast<int>(error.status));
    if (error.status == dnnl_out_of_memory) throw errors::ResourceExhaustedError(text);
    throw errors::InternalError(text);
  }
}

Primitive::Primitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                     std::vector<Operand> operands, int concurrent)
    : state_(std::make_unique<State>()) {
  state_->scratch_bytes = is_empty(scratchpad) ? 0 : scratchpad.get_size();
  if (state_->scratch_bytes > 0) operands.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
  state_->allocates_memory = implementation(primitive).find("gemm") != std::string_view::npos;
  state_->primitive = std::move(primitive);
  state_->operands = std::move(operands);
  // Towers share kernels, so every core may run this one at the same time.
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 16);
  for (int i = 0; i < concurrent + cores; ++i) {
    add_set().lent.store(false, std::memory_order_release);
  }
}

Primitive::State::~State() {
  for (MemorySet* set = sets.load(std::memory_order_acquire); set != nullptr;) {
    delete std::exchange(set, set->next);
  }
}

std::size_t Primitive::scratch_bytes() const { return state_ ? state_->scratch_bytes : 0; }

Primitive::MemorySet& Primitive::add_set() const {
  auto made = std::make_unique<MemorySet>();
  made->stream = dnnl::stream(cpu_engine());
  for (const Operand& operand : state_->operands)
    made->memories.emplace_back(operand.desc, cpu_engine(), static_cast<void*>(DNNL_MEMORY_NONE));
  made->lent.store(true, std::memory_order_relaxed);
  made->next = state_->sets.load(std::memory_order_relaxed);
  while (!state_->sets.compare_exchange_weak(made->next, made.get(), std::memory_order_acq_rel)) {
  }
  return *made.release();
}

bool Primitive::allocates_memory() const { return state_ && state_->allocates_memory; }

void Primitive::run(std::span<void* const> pointers, std::byte* scratch) const {
  if (!try_run(pointers, scratch))
    throw errors::ResourceExhaustedError("oneDNN had no memory left to run with.");
}

bool Primitive::try_run(std::span<void* const> pointers, std::byte* scratch) const {
  MemorySet* set = state_->sets.load(std::memory_order_acquire);
  while (set != nullptr && set->lent.exchange(true, std::memory_order_acquire)) set = set->next;
  if (set == nullptr) set = &add_set();
  const bool done = execute(*set, pointers, scratch);
  set->lent.store(false, std::memory_order_release);
  return done;
}

bool Primitive::execute(MemorySet& set, std::span<void* const> pointers, std::byte* scratch) const {
  const SingleThreadScope one;
  std::array<dnnl_exec_arg_t, kMaxOperands + 1> arguments;
  const std::size_t count = state_->operands.size();
  for (std::size_t i = 0; i < count; ++i) {
    set.memories[i].set_data_handle(i == pointers.size() ? scratch : pointers[i]);
    arguments[i] = {state_->operands[i].argument, set.memories[i].get()};
  }
  dnnl_status_t status = dnnl_out_of_memory;
  try {
    status = dnnl_primitive_execute(state_->primitive.get(), set.stream.get(),
                                    static_cast<int>(count), arguments.data());
  } catch (const std::bad_alloc&) {  // thrown by its lists of arguments
  }
  if (status == dnnl_success) return true;
  if (status == dnnl_out_of_memory) return false;
  set.lent.store(false, std::memory_order_release);
  throw errors::InternalError(
      fmt::format("oneDNN failed while running (status {}).", static_cast<int>(status)));
}

Primitive make_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                       int concurrent) {
  if (from == to) return {};
  return prepare("a change of layout", [&] {
    const dnnl::reorder::primitive_desc pd(cpu_engine(), from, cpu_engine(), to,
                                           caller_scratchpad());
    return Primitive(dnnl::reorder(pd), pd.scratchpad_desc(),
                     {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, concurrent);
  });
}

}  // namespace towerflow::onednn
