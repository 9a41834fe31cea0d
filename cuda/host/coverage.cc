#include "cuda/host/coverage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

namespace towerflow::cuda::host {
namespace {

const char* coverage_file() {
  static const char* const file = std::getenv("TOWERFLOW_CUDA_COVERAGE");
  return file;
}

constexpr std::pair<std::uint32_t, const char*> kEpilogues[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, "DEFAULT"},     {CUBLASLT_EPILOGUE_RELU, "RELU"},
    {CUBLASLT_EPILOGUE_RELU_AUX, "RELU_AUX"},   {CUBLASLT_EPILOGUE_BIAS, "BIAS"},
    {CUBLASLT_EPILOGUE_RELU_BIAS, "RELU_BIAS"}, {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, "RELU_AUX_BIAS"},
    {CUBLASLT_EPILOGUE_DRELU, "DRELU"},         {CUBLASLT_EPILOGUE_DRELU_BGRAD, "DRELU_BGRAD"},
    {CUBLASLT_EPILOGUE_GELU, "GELU"},           {CUBLASLT_EPILOGUE_GELU_BIAS, "GELU_BIAS"},
    {CUBLASLT_EPILOGUE_BGRADA, "BGRADA"},       {CUBLASLT_EPILOGUE_BGRADB, "BGRADB"}};

/// What a launch accessed: bytes that differ, and all.
struct Bytes {
  std::uint64_t least = 0, moved = 0;
};

class Counts {
 public:
  void add(const char* kind, std::string_view name, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    counts_[{kind, std::string(name)}] += count;
  }
  /// Keeps those of the launch that accessed most.
  void add_bytes(std::string_view kernel, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    Bytes& most = bytes_[std::string(kernel)];
    if (bytes.least > most.least) most = bytes;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    std::string lines;
    for (const auto& [what, count] : counts_) {
      lines += what.first + " " + what.second + " " + std::to_string(count) + "\n";
    }
    for (const auto& [kernel, bytes] : bytes_) {
      lines += "bytes " + kernel + " " + std::to_string(bytes.least) + " " +
               std::to_string(bytes.moved) + "\n";
    }
    return lines;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
  std::map<std::string, Bytes> bytes_;
};

/// Never destroyed: streams may be at work when the process ends.
Counts& counts() {
  static auto* const all = new Counts;
  return *all;
}

/// Appends the counts when the process ends, in one call, since others may append as well.
struct Writer {
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (!counts_coverage()) return;
#define TOWERFLOW_ENTRY(entry) counts().add("entry", #entry, 0);
    TOWERFLOW_CUDA_ENTRIES(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    for (const HostKernel& kernel : kernels()) counts().add("kernel", kernel.name, 0);
    for (const auto& epilogue : kEpilogues) counts().add("epilogue", epilogue.second, 0);
    const std::string text = counts().text();
    const int file = ::open(coverage_file(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ::write(file, text.data(), text.size()) < 0) std::perror(coverage_file());
    if (file >= 0) ::close(file);
  }
} writer;

/// The function of the table that counts the calls of one entry.
template <class Entry, class Function>
struct Counted;
template <class Entry, class R, class... A>
struct Counted<Entry, R (*)(A...)> {
  static inline R (*base)(A...) = nullptr;
  static R call(A... arguments) {
    counts().add("entry", Entry::name(), 1);
    return base(arguments...);
  }
};

template <class Entry, class Function>
void count_entry(Function& function) {
  using Own = Counted<Entry, Function>;
  if (function == nullptr || function == static_cast<Function>(&Own::call)) return;
  Own::base = function;
  function = &Own::call;
}

}  // namespace

bool counts_coverage() { return coverage_file() != nullptr; }

void count_calls(Table& table) {
  if (!counts_coverage()) return;
#define TOWERFLOW_ENTRY(entry)                     \
  {                                                \
    struct Entry {                                 \
      static const char* name() { return #entry; } \
    };                                             \
    count_entry<Entry, types::entry>(table.entry); \
  }
  TOWERFLOW_CUDA_ENTRIES(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
}

void count_launch(std::string_view kernel, const KernelTrace& trace) {
  if (!counts_coverage()) return;
  std::uint64_t least = 0;
  for (const Operand& range : trace.accessed) least += range.bytes;
  counts().add("kernel", kernel, 1);
  counts().add_bytes(kernel, {least, trace.bytes_read + trace.bytes_written});
}

void count_epilogue(std::uint32_t epilogue) {
  if (!counts_coverage()) return;
  for (const auto& [value, name] : kEpilogues) {
    if (value == epilogue) counts().add("epilogue", name, 1);
  }
}

}  // namespace towerflow::cuda::host
