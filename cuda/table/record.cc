#include "cuda/table/record.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "cuda/table/call_text.h"
#include "cuda/table/status.h"

namespace towerflow::cuda {
namespace {

std::atomic<Recorder::Log*> active = nullptr;

/// Returns whether a call may wait for work, which another thread may have to start first.
constexpr bool may_wait(std::string_view name) {
  return name.ends_with("Synchronize") || name == "cudaFree" || name == "cudaFreeHost" ||
         name == "cudaHostUnregister" || name.starts_with("cudaMemcpy") || name.starts_with("nccl");
}

constexpr bool destroys(std::string_view name) {
  return name.ends_with("Destroy") || name.ends_with("Unload") ||
         name.find("DestroyDescriptor") != std::string_view::npos ||
         (name.find("Destroy") != std::string_view::npos && name.ends_with("Descriptor"));
}

/// The result of a function that has none.
struct Nothing {};

}  // namespace

class Recorder::Log {
 public:
  explicit Log(const Table& from) : base(from) {}

  template <class R, class... A>
  R call(const char* name, R (*function)(A...), A... arguments) {
    std::unique_lock lock(mutex_);
    std::vector<std::string> parts = {text_.before(arguments)...};
    forget(name, arguments...);
    const std::size_t number = calls_.size(), round = round_;
    calls_.emplace_back();
    const bool waits = may_wait(name);
    if (waits) {
      calls_[number] = line(name, parts, "..");
      lock.unlock();
    }
    const auto result = [&] {
      if constexpr (std::is_void_v<R>) {
        function(arguments...);
        return Nothing{};
      } else {
        return function(arguments...);
      }
    }();
    if (waits) lock.lock();
    if (succeeded(result)) {
      std::size_t part = 0;
      ((parts[part] += parts[part].empty() ? text_.after(arguments) : "", ++part), ...);
      learn(name, parts, arguments...);
    }
    if (round == round_) calls_[number] = line(name, parts, text_.before(result));
    if constexpr (!std::is_void_v<R>) return result;
  }

  std::vector<std::string> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    calls_.clear();
    ++round_;
  }

  const Table& base;
  Table table;

 private:
  template <class R>
  static bool succeeded(const R& result) {
    if constexpr (std::is_enum_v<R>) {
      return is_success(result);
    } else {
      return true;
    }
  }

  /// Forgets what a call ends before it does: afterwards the address may be another thread's.
  template <class... A>
  void forget(std::string_view name, const A&... arguments) {
    const auto first = [&]() -> const void* {
      if constexpr (sizeof...(A) > 0) {
        const auto& argument = std::get<0>(std::tie(arguments...));
        if constexpr (std::is_convertible_v<decltype(argument), const void*>) return argument;
      }
      return nullptr;
    }();
    if (name == "cudaFree" || name == "cudaFreeHost" || name == "cudaHostUnregister") {
      text_.remove_memory(first);
    } else if (destroys(name)) {
      text_.remove_handle(first);
    }
  }

  /// Notes what a call made.
  template <class... A>
  void learn(std::string_view name, std::vector<std::string>& parts, const A&... arguments) {
    if constexpr (sizeof...(A) >= 2) {
      const auto all = std::tie(arguments...);
      using First = std::decay_t<decltype(std::get<0>(all))>;
      using Second = std::decay_t<decltype(std::get<1>(all))>;
      const auto add_memory = [&](const char* kind, const void* address, std::size_t bytes) {
        text_.add_memory(kind, address, bytes);
        parts[0] = "-> " + text_.before(address);
      };
      if constexpr (std::is_same_v<First, void**> && std::is_integral_v<Second>) {
        if (name == "cudaMalloc") add_memory("memory", *std::get<0>(all), std::get<1>(all));
        if (name == "cudaHostAlloc") add_memory("pinned", *std::get<0>(all), std::get<1>(all));
      } else if constexpr (std::is_same_v<First, void*> && std::is_integral_v<Second>) {
        if (name == "cudaHostRegister") {
          add_memory("registered", std::get<0>(all), std::get<1>(all));
        }
      } else if constexpr (std::is_same_v<First, cudaKernel_t*>) {
        text_.add_kernel(*std::get<0>(all), std::get<2>(all));
        parts[0] = "-> " + text_.before(*std::get<0>(all));
      }
    }
  }

  static std::string line(const char* name, const std::vector<std::string>& parts,
                          const std::string& result) {
    std::string text = std::string(name) + "(";
    for (const std::string& part : parts) {
      if (text.back() != '(') text += ", ";
      text += part.empty() ? ".." : part;
    }
    return text + ") = " + result;
  }

  std::vector<std::string> calls_;
  std::size_t round_ = 0;  // how often the calls were forgotten
  CallText text_;
  mutable std::mutex mutex_;
};

namespace {

/// The function of the table that notes the calls of one entry.
template <class Entry, class Function>
struct Noted;
template <class Entry, class R, class... A>
struct Noted<Entry, R (*)(A...)> {
  static R call(A... arguments) {
    Recorder::Log& log = *active.load();
    return log.call<R, A...>(Entry::name(), Entry::of(log.base), arguments...);
  }
};

}  // namespace

Recorder::Recorder(const Table& base) : log_(std::make_unique<Log>(base)) {
  Log* none = nullptr;
  if (!active.compare_exchange_strong(none, log_.get())) {
    throw std::logic_error("calls of CUDA are recorded already");
  }
  update();
}

Recorder::~Recorder() { active = nullptr; }

const Table& Recorder::table() const { return log_->table; }

void Recorder::update(){
#define TOWERFLOW_ENTRY(entry)                                                       \
  {                                                                                  \
    struct Entry {                                                                   \
      static const char* name() { return #entry; }                                   \
      static types::entry of(const Table& table) { return table.entry; }             \
    };                                                                               \
    const bool is_new = log_->base.entry != nullptr && log_->table.entry == nullptr; \
    if (is_new) log_->table.entry = &Noted<Entry, types::entry>::call;               \
  }
    TOWERFLOW_CUDA_ENTRIES(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
}

std::vector<std::string> Recorder::calls() const {
  return log_->calls();
}

void Recorder::clear() { log_->clear(); }

}  // namespace towerflow::cuda
