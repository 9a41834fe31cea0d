// Repeated calls of a callable allocate no memory. malloc is replaced by one that counts
// allocations of our code and of oneDNN.
#include <doctest/doctest.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "models/mnist.h"
#include "models/training.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> min_failing_bytes{
    SIZE_MAX};  // allocations of oneDNN of this size or more fail
std::atomic<int> ours{0}, library{0};

/// The address range of oneDNN's code in this process.
struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
};
CodeRange dnnl;

int find_dnnl(dl_phdr_info* info, std::size_t, void*) {
  if (std::strstr(info->dlpi_name, "libdnnl") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    dnnl = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 1;
}

/// Counts an allocation by its caller. Returns whether it must fail.
bool must_fail(std::size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return false;
  thread_local bool inside = false;  // backtrace may allocate
  if (inside) return false;
  inside = true;
  void* frames[24];
  const int depth = backtrace(frames, 24);
  bool in_dnnl = false;
  for (int i = 0; i < depth; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[i]);
    in_dnnl = in_dnnl || (at >= dnnl.begin && at < dnnl.end);
  }
  if ((in_dnnl ? library : ours).fetch_add(1) == 0 && !in_dnnl) {
    // Prints the stack of the first one; addr2line names the functions.
    backtrace_symbols_fd(frames, depth, STDERR_FILENO);
  }
  inside = false;
  return in_dnnl && bytes >= min_failing_bytes;
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) { return must_fail(bytes) ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t number, std::size_t bytes) {
  return must_fail(number * bytes) ? nullptr : __libc_calloc(number, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  return must_fail(bytes) ? nullptr : __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return must_fail(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return must_fail(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = must_fail(bytes) ? nullptr : __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}

using namespace towerflow;

namespace {

void warm_up() {
  void* frames[4];
  backtrace(frames, 4);  // loads the libraries that backtrace needs
  dl_iterate_phdr(find_dnnl, nullptr);
}

/// Returns how often our code allocates in 20 calls, after 30 calls to warm up. A thread that runs
/// a kernel for the first time still allocates once (OpenMP's settings of the thread, memory for
/// another thread in the same kernel), and that may happen at any time. So if there are
/// allocations, 20 more calls are counted, up to five times. Allocations of every call show in each
/// attempt.
int count_allocations(const Callable& callable, std::span<const Array> values,
                      const std::string& what) {
  warm_up();
  for (int i = 0; i < 30; ++i) callable(values);
  for (int attempt = 0; attempt < 5; ++attempt) {
    ours = library = 0;
    counting = true;
    for (int i = 0; i < 20; ++i) callable(values);
    counting = false;
    if (ours == 0) break;
  }
  MESSAGE(what << ": 20 calls, " << ours.load() << " allocations of ours, " << library.load()
               << " of oneDNN");
  return ours.load();
}

}  // namespace

TEST_CASE("the counter counts") {
  ours = 0;
  counting = true;
  const auto number = std::make_unique<int>(3);
  counting = false;
  CHECK(*number == 3);
  CHECK(ours.load() == 1);
}

TEST_CASE("no allocation in a steady call: fed values, results of several ranks") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None, 3}});
  const Tensor scalar = tf::placeholder(tf::float32, {.shape = Shape{}});
  const Tensor y = tf::exp(x) * scalar;
  Session session;
  const auto callable =
      session.make_callable({y, tf::reduce_sum(y), tf::reshape(y + 1.0F, {3, -1})}, {x, scalar});
  const std::vector<Array> values{Array::zeros(float32, {2, 3}), Array::scalar(2.0F)};
  CHECK(count_allocations(callable, values, "fed values") == 0);
  CHECK(callable(values)[1].item<float>() == 12.0F);
}

TEST_CASE("no allocation in a steady call: second derivatives of a product over axes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {4, 3}});
  const auto once = tf::gradients({tf::reduce_prod(x, 0)}, {x});
  const auto twice = tf::gradients({tf::reduce_sum(once[0]->dense())}, {x});
  Session session;
  const auto callable = session.make_callable({twice[0]->dense()}, {x});
  const std::vector<Array> values{testing::array_of(float32, {4, 3}, std::vector<double>(12, 2))};
  CHECK(count_allocations(callable, values, "products") == 0);
  CHECK(callable(values)[0].data<float>()[0] == 12.0F);
}

TEST_CASE("no allocation in a steady step of mnist, whatever the devices") {
  for (const models::DeviceOptions& devices :
       {models::DeviceOptions{.cpus = 1}, models::DeviceOptions{.cpus = 2},
        models::DeviceOptions{.simulated = {.count = 2}}}) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(7);
    const auto towers = models::mnist::build_towers({.num_towers = 2}, [] {
      const auto cpu = tf::device("/cpu:0");
      const tf::Variable images(tf::zeros({4, 784}), {.trainable = false, .name = "images"});
      const tf::Variable labels(tf::constant({3, 1, 4, 1}), {.trainable = false, .name = "labels"});
      return models::Batch{images, labels};
    });
    Session session(graph, models::session_config(2, devices));
    session.run(towers.init);
    const auto step = session.make_callable({towers.train_op, towers.losses[1]});
    CHECK(count_allocations(step, {}, session.list_devices().back()) == 0);
  }
}

TEST_CASE("a product for which oneDNN gets no memory is computed without") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None, None}});
  const Tensor y = tf::placeholder(tf::float32, {.shape = {None, None}});
  Session session;
  const auto callable = session.make_callable({tf::matmul(x, y, {.transpose_b = true})}, {x, y});
  warm_up();
  for (const Shape& rows : {Shape{5, 7}, Shape{300, 7}, Shape{48, 1100}}) {
    const std::int64_t inner = 160;
    const auto values = [&](std::int64_t count, double step) {
      std::vector<double> made(static_cast<std::size_t>(count * inner));
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<double>(i % 17) * step;
      return testing::array_of(float32, {count, inner}, made);
    };
    const std::vector<Array> factors{values(rows[0], 0.25), values(rows[1], -0.5)};
    const Array product = callable(factors)[0];  // exact: small multiples of 1/8
    // All of its allocations fail, then only those of packing buffers.
    for (const std::size_t from : {1, 512}) {
      library = 0;
      min_failing_bytes = from;
      counting = true;
      const Array without = callable(factors)[0];
      counting = false;
      min_failing_bytes = SIZE_MAX;
      CHECK(library > 0);
      CHECK(without == product);
    }
  }
}

TEST_CASE("a result that is kept stays as it is") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {2}});
  Session session;
  const auto twice = session.make_callable({x * 2.0F}, {x});
  const std::vector<Array> one{testing::array_of(float32, {2}, {1, 2})};
  const std::vector<Array> other{testing::array_of(float32, {2}, {5, 6})};
  const Array kept = twice(one)[0];
  const Array* shown = &twice(other)[0];
  CHECK(kept == testing::array_of(float32, {2}, {2, 4}));
  CHECK(*shown == testing::array_of(float32, {2}, {10, 12}));
  const void* memory = shown->raw();
  CHECK(twice(one)[0].raw() == memory);  // reused, since no other Array shared it
}
