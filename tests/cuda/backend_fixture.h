#pragma once

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/backend_registry.h"
#include "core/graph/error.h"
#include "core/runtime/session.h"
#include "cuda/backend/cuda_backend.h"
#include "cuda/backend/cuda_queue.h"
#include "cuda/backend/launch.h"

namespace towerflow::testing {

inline constexpr std::size_t kBytes = 1024;

/// Two emulated GPUs with a queue each. `memory` is the first one's; `host` and `result` are
/// pinned, the one full of sevens, the other of zeros. Each has `kBytes`.
struct CudaFixture {
  explicit CudaFixture(CudaDevices options = {.count = 2, .graphs = false, .emulated = true}) {
    ConfigProto config;
    config.cuda = options;
    backend = std::static_pointer_cast<cuda::CudaBackend>(make_cuda_backend(config));
    for (int i = 0; i < 2; ++i) {
      queues.push_back(backend->make_queue(i, Lane::compute));
      queues.back()->start(false);
    }
    host = backend->allocate_staging(kBytes);
    result = backend->allocate_staging(kBytes);
    std::memset(host.get(), 7, kBytes);
    std::memset(result.get(), 0, kBytes);
    memory = backend->allocate(0, kBytes);
  }
  std::shared_ptr<Event> make_event() const {
    auto event = backend->make_event();
    event->reset();
    return event;
  }
  std::shared_ptr<Event> record(Queue& queue) const {
    auto event = make_event();
    queue.record(*event);
    return event;
  }
  char first_byte() const { return *static_cast<const char*>(result.get()); }
  /// Puts a kernel into the queue that gathers the row which the first number of `memory` names, of
  /// two: another number is wrong data.
  void enqueue_gather(Queue& queue) const {
    auto& own = static_cast<cuda::CudaQueue&>(queue);
    own.enqueue([&] { launch_gather(own, memory.get()); });
  }
  /// Launches that kernel in other memory of the first GPU.
  void launch_gather(cuda::CudaQueue& own, void* in) const {
    static const cuda::CudaQueue::MakeError make_error = [](const auto& found) {
      return std::make_exception_ptr(
          errors::InvalidArgumentError(fmt::format("index {} is no row", found.value())));
    };
    const auto* indices = static_cast<const std::int32_t*>(in);
    cuda::launch(own, backend->device(0)->kernel("Gather_4_int32"), dim3(1),
                 static_cast<const void*>(in), indices,
                 static_cast<void*>(static_cast<std::byte*>(in) + 512),
                 own.error_record(make_error), std::int64_t{1}, std::int64_t{2}, std::int64_t{1},
                 std::int64_t{1});
  }

  std::shared_ptr<cuda::CudaBackend> backend;
  std::vector<std::unique_ptr<Queue>> queues;
  std::shared_ptr<void> host, result, memory;
  Cancellation cancellation;
};

/// Returns the text of a queue's error.
inline std::string text_of(const std::optional<QueueError>& failed) {
  if (!failed) return "no error";
  try {
    std::rethrow_exception(failed->error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace towerflow::testing
