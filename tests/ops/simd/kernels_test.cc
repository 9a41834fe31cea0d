#include "ops/simd/kernels.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/device/cpu/thread_pool.h"
#include "core/graph/error.h"
#include "ops/reference/pool.h"
#include "ops/reference/softmax.h"
#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using testing::largest_error;
using testing::random_floats;
using testing::run_guarded;
using testing::same_bits;
using testing::SliceOrder;

std::size_t count_of(std::int64_t n) { return static_cast<std::size_t>(n); }

// Returns the outputs of `kernel`, which must not depend on the order of slices.
std::vector<std::vector<float>> run_both_ways(const CpuKernel& kernel,
                                              const std::vector<std::vector<float>>& inputs,
                                              const std::vector<std::size_t>& sizes) {
  const auto forward = run_guarded(kernel, inputs, sizes);
  const auto backward = run_guarded(kernel, inputs, sizes, SliceOrder::backward);
  for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(same_bits(forward[i], backward[i]));
  return forward;
}

PoolGeometry pool_geometry(std::int64_t batch, std::int64_t size, std::int64_t channels) {
  return {.batch = batch,
          .channels = channels,
          .rows = window_axis(size, 2, 2, Padding::same),
          .columns = window_axis(size, 2, 2, Padding::same)};
}

TEST_CASE("pooling kernels give the bits of the reference for every batch and slicing") {
  for (const std::int64_t batch : {0, 1, 5, 63, 64})
    for (const int slices : {1, 2, 3}) {
      const PoolGeometry g = pool_geometry(batch, 6, 16);
      CAPTURE(batch);
      CAPTURE(slices);
      const auto x = random_floats(count_of(batch * g.image_elements()), 1);
      const auto dy = random_floats(count_of(batch * g.result_elements()), 2);
      std::vector<float> y(dy.size()), dx(x.size());
      reference::max_pool(g, x.data(), y.data());
      reference::max_pool_grad(g, x.data(), dy.data(), dx.data());
      const auto pool = simd::make_max_pool(g, {.slices = slices});
      CHECK(pool->slices(0) <= std::max<std::int64_t>(1, batch));
      CHECK(same_bits(run_both_ways(*pool, {x}, {y.size()})[0], y));
      const auto grad = simd::make_max_pool_grad(g, {.channel_sums = true, .slices = slices});
      const auto results = run_both_ways(*grad, {x, dy}, {dx.size(), 16});
      CHECK(same_bits(results[0], dx));
      const auto sums = simd::make_channel_sums(batch, 36, 16, slices);
      CHECK(same_bits(results[1], run_both_ways(*sums, {dx}, {16})[0]));
    }
}

TEST_CASE("the gradient of a pooling may overwrite its input where windows do not meet") {
  const PoolGeometry g = pool_geometry(4, 6, 32);
  const auto x = random_floats(count_of(4 * g.image_elements()), 1);
  const auto dy = random_floats(count_of(4 * g.result_elements()), 2);
  const auto kernel = simd::make_max_pool_grad(g, {.after_relu = true});
  REQUIRE(kernel->may_overwrite(0, 0));
  CHECK_FALSE(kernel->may_overwrite(1, 0));
  const auto wanted = run_guarded(*kernel, {x, dy}, {x.size()});
  auto in_place = x;
  const void* inputs[] = {in_place.data(), dy.data()};
  void* outputs[] = {in_place.data()};
  for (int slice = 0; slice < kernel->slices(0); ++slice)
    kernel->run(0, slice, inputs, outputs, nullptr);
  CHECK(same_bits(in_place, wanted[0]));
  const auto uneven = simd::make_max_pool_grad(pool_geometry(4, 7, 32));
  CHECK_FALSE(uneven->may_overwrite(0, 0));
}

TEST_CASE("channel sums and whole sums are near the exact ones") {
  for (const std::int64_t images : {0, 1, 3, 64})
    for (const std::int64_t channels : {1, 10, 64}) {
      const auto x = random_floats(count_of(images * 50 * channels), 3);
      std::vector<double> exact(count_of(channels), 0.0);
      for (std::size_t i = 0; i < x.size(); ++i) exact[i % count_of(channels)] += x[i];
      const auto sums = simd::make_channel_sums(images, 50, channels);
      CHECK(largest_error(run_both_ways(*sums, {x}, {exact.size()})[0], exact, 10.0) < 2e-6);
    }
  for (const std::int64_t n : {0, 1, 1000, 100000, 1000000}) {
    const auto x = random_floats(count_of(n), 4);
    double exact = 0.0;
    for (const float v : x) exact += v;
    const double size = std::sqrt(static_cast<double>(n) + 1.0);
    const auto kernel = simd::make_sum(n);
    CHECK(kernel->slices(0) == partial_slices(n));
    CHECK(largest_error(run_both_ways(*kernel, {x}, {1})[0], {exact}, size) < 1e-6);
    const auto mean = run_both_ways(*simd::make_sum(n, true), {x}, {1})[0];
    if (n == 0)
      CHECK(std::isnan(mean[0]));
    else
      CHECK(largest_error(mean, {exact / static_cast<double>(n)}, size / n) < 1e-6);
  }
}

TEST_CASE("cross entropy with int32 and int64 labels, and labels out of range") {
  for (const std::int64_t rows : {0, 1, 64, 5000}) {
    const std::int64_t classes = 10;
    const auto logits = random_floats(count_of(rows * classes), 1);
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back(i * 7 % classes);
    const std::vector<std::int32_t> narrow(labels.begin(), labels.end());
    std::vector<double> loss(count_of(rows)), gradient(logits.size());
    reference::sparse_softmax_xent(rows, classes, logits.data(), labels.data(), loss.data(),
                                   gradient.data());
    for (const bool int32_labels : {false, true}) {
      const auto kernel = simd::make_sparse_softmax_xent(rows, classes, int32_labels);
      const void* inputs[] = {
          logits.data(), int32_labels ? static_cast<const void*>(narrow.data()) : labels.data()};
      std::vector<float> got_loss(loss.size()), got(gradient.size());
      void* outputs[] = {got_loss.data(), got.data()};
      testing::GuardedMemory workspace(kernel->workspace_bytes());
      ThreadPool(2).run_kernel(*kernel, inputs, outputs, workspace.data());
      CHECK(workspace.intact());
      CHECK(largest_error(got_loss, loss, 0.1) < 1e-6);
      CHECK(largest_error(got, gradient, 0.1) < 1e-6);
    }
  }
  const std::vector<float> logits(30), out(30);
  for (const std::int64_t bad : {-1, 10}) {
    const std::int64_t labels[] = {3, bad, 4};
    const auto kernel = simd::make_sparse_softmax_xent(3, 10);
    std::vector<float> loss(3), gradient(30);
    const void* inputs[] = {logits.data(), labels};
    void* outputs[] = {loss.data(), gradient.data()};
    CHECK_THROWS_AS(ThreadPool(2).run_kernel(*kernel, inputs, outputs, nullptr),
                    errors::InvalidArgumentError);
  }
  CHECK_THROWS_AS(simd::make_sparse_softmax_xent(3, 0), errors::InvalidArgumentError);
}

}  // namespace
}  // namespace towerflow
