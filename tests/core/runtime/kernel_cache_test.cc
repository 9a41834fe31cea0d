// Kernels are prepared once, and preparing one does not block others.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "core/device/cpu/launch.h"
#include "core/runtime/plan.h"

using namespace towerflow;

namespace {

using namespace std::chrono_literals;

const Attrs kNone;

KernelRequest request_of(std::int64_t size) {
  return {.attrs = &kNone, .inputs = {{DType::float32, Shape{size}}}, .outputs = {}};
}

std::unique_ptr<PreparedKernel> empty_kernel() {
  return function_kernel([](const LaunchArgs&) {});
}

/// Runs `call` on a new thread.
template <class F>
auto start(F call) {
  return std::async(std::launch::async, call);
}

}  // namespace

TEST_CASE("a kernel that takes long to prepare keeps nobody else waiting") {
  KernelCache cache;
  std::promise<void> entered, released;
  const auto release = released.get_future().share();
  const KernelEntry slow{
      .op = "Slow", .label = "", .accepts = {}, .prepare = [&](const KernelRequest&) {
        entered.set_value();
        release.wait();
        return empty_kernel();
      }};
  const KernelEntry fast{
      .op = "Fast", .label = "", .accepts = {}, .prepare = [](const KernelRequest&) {
        return empty_kernel();
      }};
  auto first = start([&] { return cache.get(slow, request_of(1)); });
  entered.get_future().wait();
  auto other = start([&] { return cache.get(fast, request_of(1)); });
  CHECK(other.wait_for(10s) == std::future_status::ready);
  released.set_value();
  CHECK(first.get() != other.get());
}

TEST_CASE("a kernel is prepared once for all who ask at the same time") {
  KernelCache cache;
  std::atomic<int> prepared{0};
  const KernelEntry entry{
      .op = "Once", .label = "", .accepts = {}, .prepare = [&](const KernelRequest&) {
        ++prepared;
        std::this_thread::sleep_for(5ms);
        return empty_kernel();
      }};
  std::vector<std::future<std::shared_ptr<const PreparedKernel>>> asked;
  for (int i = 0; i < 8; ++i) {
    asked.push_back(start([&, i] { return cache.get(entry, request_of(i % 2)); }));
  }
  std::set<const PreparedKernel*> found;
  for (auto& each : asked) found.insert(each.get().get());
  CHECK(prepared == 2);
  CHECK(found.size() == 2);
}

TEST_CASE("a kernel that could not be prepared says so to everyone, and is tried again") {
  KernelCache cache;
  std::atomic<bool> refuses{true};
  const KernelEntry entry{
      .op = "Refuses", .label = "", .accepts = {}, .prepare = [&](const KernelRequest&) {
        std::this_thread::sleep_for(5ms);
        if (refuses) throw errors::InvalidArgumentError("refused");
        return empty_kernel();
      }};
  std::vector<std::future<std::shared_ptr<const PreparedKernel>>> asked;
  for (int i = 0; i < 4; ++i)
    asked.push_back(start([&] { return cache.get(entry, request_of(1)); }));
  for (auto& each : asked) CHECK_THROWS_AS(each.get(), errors::InvalidArgumentError);
  refuses = false;
  CHECK(cache.get(entry, request_of(1)) != nullptr);
}
