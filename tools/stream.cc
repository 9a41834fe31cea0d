#include "tools/stream.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

namespace towerflow::tools {
namespace {

#if defined(__clang__)
// With little optimisation, clang would warn of each loop that it does not vectorize.
#pragma clang diagnostic ignored "-Wpass-failed"
#define STREAM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define STREAM_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Makes one pass over elements 0 .. n - 1 of each array, of which the first kWritten are written.
template <int kWritten, int kRead>
[[gnu::always_inline]] inline void run_pass(float* const* arrays, std::int64_t n) {
  float* at[kWritten + kRead];
  for (int i = 0; i < kWritten + kRead; ++i) at[i] = arrays[i];
  STREAM_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (int k = kWritten; k < kWritten + kRead; ++k) sum += at[k][i];
    for (int k = 0; k < kWritten; ++k) at[k][i] += sum;
  }
}

using Pass = void (*)(float* const* arrays, std::int64_t n);

template <int kWritten, int kRead>
void plain_pass(float* const* arrays, std::int64_t n) {
  run_pass<kWritten, kRead>(arrays, n);
}

#if defined(__x86_64__)
template <int kWritten, int kRead>
[[gnu::target("avx2")]] void avx2_pass(float* const* arrays, std::int64_t n) {
  run_pass<kWritten, kRead>(arrays, n);
}
template <int kWritten, int kRead>
[[gnu::target("avx512f")]] void avx512_pass(float* const* arrays, std::int64_t n) {
  run_pass<kWritten, kRead>(arrays, n);
}
#endif

/// Returns the pass with the widest vectors that the processor supports.
template <int kWritten, int kRead>
Pass widest() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return avx512_pass<kWritten, kRead>;
  if (__builtin_cpu_supports("avx2")) return avx2_pass<kWritten, kRead>;
#endif
  return plain_pass<kWritten, kRead>;
}

template <int kWritten>
Pass choose_pass(std::size_t read) {
  switch (read) {
    case 1:
      return widest<kWritten, 1>();
    case 2:
      return widest<kWritten, 2>();
    case 3:
      return widest<kWritten, 3>();
    default:
      return widest<kWritten, 4>();
  }
}

Pass choose_pass(int written, std::size_t read) {
  switch (written) {
    case 1:
      return choose_pass<1>(read);
    case 2:
      return choose_pass<2>(read);
    case 3:
      return choose_pass<3>(read);
    default:
      return choose_pass<4>(read);
  }
}

}  // namespace

void Stream::FreeMemory::operator()(float* memory) const { std::free(memory); }

Stream::Stream(std::int64_t elements, int written, int read, int threads)
    : elements_(elements), written_(written), threads_(threads) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
  for (int i = 0; i < written + read; ++i) {
    void* memory =
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr) throw std::bad_alloc();
    arrays_.emplace_back(static_cast<float*>(memory));
    std::fill_n(arrays_.back().get(), elements, 1e-3f);
  }
}

Stream::~Stream() = default;

double Stream::pass() {
  const Pass run = choose_pass(written_, arrays_.size() - static_cast<std::size_t>(written_));
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threads_; ++thread) {
    threads.emplace_back([this, run, thread] {
      const std::int64_t begin = elements_ * thread / threads_ / 16 * 16;
      const std::int64_t end =
          thread + 1 == threads_ ? elements_ : elements_ * (thread + 1) / threads_ / 16 * 16;
      std::vector<float*> at;
      for (const auto& array : arrays_) at.push_back(array.get() + begin);
      run(at.data(), end - begin);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count();
}

std::int64_t Stream::bytes() const {
  const auto arrays = static_cast<std::int64_t>(arrays_.size()) + written_;
  return arrays * elements_ * static_cast<std::int64_t>(sizeof(float));
}

double stream_rate(int threads) {
  Stream stream(std::int64_t{1} << 24, 1, 1, threads);
  double best = 0;
  for (int i = 0; i < 5; ++i)
    best = std::max(best, static_cast<double>(stream.bytes()) / stream.pass());
  return best;
}

}  // namespace towerflow::tools
