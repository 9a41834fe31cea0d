#include "tests/data/input/delayed.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"

namespace towerflow::testing {
namespace {

std::atomic<bool> delays_on{false};
std::atomic<unsigned> delay_state{1};

void register_delay() {
  OpRegistry::global().add({.name = "TestDelay",
                            .shape =
                                [](InferenceContext& context) {
                                  context.add_output(context.dtype(0), context.shape(0));
                                },
                            .gradient = NoGradient{"for tests"},
                            .effect = Effect::stateful});
  cpu_kernels().add(
      {.op = "TestDelay", .label = "test", .accepts = {}, .prepare = [](const KernelRequest&) {
         return function_kernel([](const LaunchArgs& args) {
           if (delays_on) {
             const unsigned state = delay_state.fetch_add(0x9E3779B9U) * 2654435761U;
             std::this_thread::sleep_for(std::chrono::microseconds(state >> 25));
           }
           *args.output<std::int64_t>(0) = *args.input<std::int64_t>(0);
         });
       }});
}

}  // namespace

Tensor delay_tensor(const Tensor& input) {
  if (OpRegistry::global().find("TestDelay") == nullptr) register_delay();
  const Operand operand(input);
  return OpBuilder("TestDelay", "", Site::current(), {&operand}).input(operand, "x").output();
}

void delay_records(bool on) { delays_on = on; }

}  // namespace towerflow::testing
