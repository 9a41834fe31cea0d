// Plans of cuDNN: which one a convolution gets, what is timed, and the file in which plans are
// kept.
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/device/convolution_plans.h"
#include "cuda/backend/dnn_convolution.h"
#include "cuda/backend/plan_file.h"
#include "tests/cuda/backend_fixture.h"
#include "tests/cuda/plan_times.h"
#include "tests/cuda/recording.h"
#include "tests/cuda/small_models.h"
#include "tests/data/support.h"
#include "tests/support/error_text.h"

using namespace towerflow;
using cuda::DnnConvolution;
using cuda::DnnConvolutionSpec;
using testing::error_text;
using testing::PlanTimes;
using testing::ScopedLayer;
using testing::ScratchFolder;
using Kind = DnnConvolutionSpec::Kind;

namespace {

// What the emulation has for a convolution in full float32, in the order of its heuristics: engine
// 2 with its knob at 0 and at 1, then engine 0. Their workspaces tell which was taken.
constexpr std::size_t kFirst = 128 << 10, kSecond = 64 << 10, kThird = 0;

/// A convolution with 3x3 filters, of 2 images with 8x8 pixels.
DnnConvolutionSpec convolution(Kind kind = Kind::forward, std::int64_t channels = 4) {
  constexpr Padding kSame = Padding::same;
  return {.kind = kind,
          .geometry = {.batch = 2,
                       .in_channels = channels,
                       .out_channels = 4,
                       .rows = window_axis(8, 3, 1, kSame),
                       .columns = window_axis(8, 3, 1, kSame)}};
}

std::shared_ptr<cuda::CudaBackend> backend(const CudaDevices& options) {
  ConfigProto config;
  config.cuda = options;
  config.cuda.count = 2;
  config.cuda.emulated = true;
  return std::static_pointer_cast<cuda::CudaBackend>(make_cuda_backend(config));
}

/// Returns the workspace of the plan that a convolution gets in a new session.
std::size_t taken(const CudaDevices& options, const DnnConvolutionSpec& spec = convolution(),
                  int device = 0) {
  return DnnConvolution(*backend(options)->device(device), spec).workspace_bytes();
}

std::vector<std::string> convolutions(const std::string& path) {
  std::vector<std::string> list;
  for (const ConvolutionPlan& plan : read_convolution_plans(path)) {
    list.push_back(plan.convolution);
  }
  return list;
}

/// Times the convolution, and returns its plan.
ConvolutionPlan tuned(const std::string& path, const PlanTimes::Milliseconds& times) {
  const ScopedLayer scope(std::make_shared<PlanTimes>(times));
  taken({.plans = path, .tune = true});
  return read_convolution_plans(path).at(0);
}

/// Changes the only plan in a file.
void change(const std::string& path, const std::function<void(ConvolutionPlan&)>& how) {
  std::vector<ConvolutionPlan> plans = read_convolution_plans(path);
  how(plans.at(0));
  cuda::write_convolution_plans(path, plans);
}

}  // namespace

TEST_SUITE("plans of convolutions") {
  TEST_CASE("without a file the first that suits is taken") {
    for (const Kind kind : {Kind::forward, Kind::data_gradient, Kind::weight_gradient}) {
      CHECK(taken({}, convolution(kind)) == kFirst);
    }
  }

  TEST_CASE("without a file, other heuristics are asked where the first propose nothing exact") {
    for (const Kind kind : {Kind::forward, Kind::data_gradient, Kind::weight_gradient}) {
      DnnConvolutionSpec spec = convolution(kind);
      spec.geometry.rows = window_axis(8, 3, 1, Padding::same, 2);
      CHECK(taken({}, spec) == kFirst);
    }
  }

  TEST_CASE("the fastest is taken and kept in the file") {
    const ScratchFolder folder;
    for (const Kind kind : {Kind::forward, Kind::data_gradient, Kind::weight_gradient}) {
      for (const auto& [times, fastest] :
           std::vector<std::pair<PlanTimes::Milliseconds, std::size_t>>{
               {{{kFirst, 3}, {kSecond, 1}, {kThird, 2}}, kSecond},
               {{{kFirst, 3}, {kSecond, 2}, {kThird, 1}}, kThird},
               {{{kFirst, 1}, {kSecond, 1}, {kThird, 1}}, kFirst},
               {{{kFirst, 0.5F}, {kSecond, 9}, {kThird, 0.25F}}, kThird}}) {
        const std::string path = folder / "plans.json";
        std::filesystem::remove(path);
        {
          const ScopedLayer scope(std::make_shared<PlanTimes>(times));
          CHECK(taken({.plans = path, .tune = true}, convolution(kind)) == fastest);
          CHECK(PlanTimes::executions() > 0);
        }
        const std::vector<ConvolutionPlan> plans = read_convolution_plans(path);
        REQUIRE(plans.size() == 1);
        CHECK(plans[0].convolution == cuda::to_text(convolution(kind)));
        CHECK(plans[0].engine == (fastest == kThird ? 0 : 2));
        CHECK(plans[0].timed == 3);
        CHECK(plans[0].milliseconds == doctest::Approx(times.at(fastest)));
        CHECK(plans[0].first_milliseconds == doctest::Approx(times.at(kFirst)));
        const ScopedLayer scope(std::make_shared<PlanTimes>(times));
        CHECK(taken({.plans = path}, convolution(kind)) == fastest);
        CHECK(taken({.plans = path, .tune = true}, convolution(kind), 1) == fastest);
        CHECK(PlanTimes::executions() == 0);
      }
    }
  }

  TEST_CASE("without a file, the devices of a session share what it has timed") {
    const auto times = PlanTimes::Milliseconds{{kFirst, 3}, {kSecond, 1}, {kThird, 2}};
    const ScopedLayer scope(std::make_shared<PlanTimes>(times));
    const auto session = backend({.tune = true});
    CHECK(DnnConvolution(*session->device(0), convolution()).workspace_bytes() == kSecond);
    const int executions = PlanTimes::executions();
    CHECK(executions > 0);
    CHECK(DnnConvolution(*session->device(1), convolution()).workspace_bytes() == kSecond);
    CHECK(PlanTimes::executions() == executions);
    CHECK(DnnConvolution(*session->device(1), convolution(Kind::forward, 8)).workspace_bytes() ==
          kSecond);
    CHECK(PlanTimes::executions() == 2 * executions);
  }

  TEST_CASE("a slow plan is not timed for long") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    tuned(path, {{kFirst, 1}, {kSecond, 900}, {kThird, 900}});
    // The first: once unseen, once alone, and three averages of one. The others: unseen and alone.
    CHECK(PlanTimes::executions() == 5 + 2 + 2);
  }

  TEST_CASE("a fast plan is timed in many executions that follow each other") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    {
      const PlanTimes::Milliseconds times{{kFirst, 0.012F}, {kSecond, 50}, {kThird, 50}};
      const ScopedLayer scope(std::make_shared<PlanTimes>(times, 5));
      taken({.plans = path, .tune = true});
    }
    // Alone it takes 0.06 ms. The first of 17 in a row takes as long, and the others 0.012 ms.
    CHECK(PlanTimes::executions() == (1 + 1 + 3 * 17) + 2 + 2);
    CHECK(read_convolution_plans(path).at(0).milliseconds ==
          doctest::Approx(0.252 / 17).epsilon(1e-2));
  }

  TEST_CASE("plans whose workspace does not fit are left out") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    {
      const ScopedLayer scope(std::make_shared<PlanTimes>(
          PlanTimes::Milliseconds{{kFirst, 1}, {kSecond, 2}, {kThird, 3}}));
      CHECK(taken({.limit = 100 << 10, .plans = path, .tune = true}) == kSecond);
    }
    CHECK(read_convolution_plans(path).at(0).timed == 2);
    const std::string said = error_text([&] { taken({.limit = 4096, .tune = true}); });
    CHECK_SAYS(said, "/device:GPU:0 is out of memory");
  }

  TEST_CASE("a session adds to the file, and other convolutions go without it") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    tuned(path, {{kFirst, 3}, {kSecond, 1}, {kThird, 2}});
    CHECK(taken({.plans = path}, convolution(Kind::data_gradient)) == kFirst);
    const auto one = backend({.plans = path, .tune = true});
    const auto other = backend({.plans = path, .tune = true});
    DnnConvolution(*one->device(0), convolution(Kind::data_gradient));
    DnnConvolution(*other->device(0), convolution(Kind::weight_gradient));
    CHECK(convolutions(path) ==
          std::vector<std::string>{cuda::to_text(convolution(Kind::data_gradient)),
                                   cuda::to_text(convolution()),
                                   cuda::to_text(convolution(Kind::weight_gradient))});
  }

  TEST_CASE("a file of other devices is refused, and tuning adds this device") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    const ConvolutionPlan plan = tuned(path, {{kFirst, 3}, {kSecond, 1}, {kThird, 2}});
    for (const std::string other :
         {"NVIDIA H200, compute capability 9.0, cuDNN 9.14.0", "emulated GPU", "zzz"}) {
      change(path, [&](ConvolutionPlan& only) { only.device = other; });
      const std::string said = error_text([&] { taken({.plans = path}); });
      CHECK_SAYS(said, "FailedPreconditionError", path, "has no plan for " + plan.device,
                 "towerflow tune");
    }
    taken({.plans = path, .tune = true});
    CHECK(read_convolution_plans(path).size() == 2);
  }

  TEST_CASE("an engine that does not suit is refused, and tuning replaces it") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    const ConvolutionPlan good = tuned(path, {{kFirst, 3}, {kSecond, 1}, {kThird, 2}});
    CHECK(good.knobs == std::map<std::int64_t, std::int64_t>{{CUDNN_KNOB_TYPE_TILE_SIZE, 1}});
    // TF32, float16 inside, FFT; engines, a knob and a value that do not exist.
    for (const std::int64_t engine : {1, 5, 4, 77, -1}) {
      change(path, [&](ConvolutionPlan& plan) {
        plan.engine = engine;
        plan.knobs.clear();
      });
      const std::string said = error_text([&] { taken({.plans = path}); });
      CHECK_SAYS(said, "InvalidArgumentError", "engine " + std::to_string(engine), path,
                 good.convolution);
    }
    for (const auto& knobs : std::vector<std::map<std::int64_t, std::int64_t>>{
             {{CUDNN_KNOB_TYPE_TILE_SIZE, 2}},
             {{CUDNN_KNOB_TYPE_STAGES, 1}},
             {{CUDNN_KNOB_TYPE_TILE_SIZE, 1}, {CUDNN_KNOB_TYPE_STAGES, 1}},
             {{-5, 0}}}) {
      change(path, [&](ConvolutionPlan& plan) {
        plan.engine = good.engine;
        plan.knobs = knobs;
      });
      CHECK_SAYS(error_text([&] { taken({.plans = path}); }), "InvalidArgumentError");
    }
    CHECK(tuned(path, {{kFirst, 3}, {kSecond, 2}, {kThird, 1}}).engine == 0);
    CHECK(taken({.plans = path}) == kThird);
  }

  TEST_CASE("all that changes a convolution is in its text") {
    const std::vector<std::function<void(DnnConvolutionSpec&)>> changes{
        [](auto&) {},
        [](auto& spec) { spec.kind = Kind::data_gradient; },
        [](auto& spec) { spec.kind = Kind::weight_gradient; },
        [](auto& spec) { spec.dtype = DType::float16; },
        [](auto& spec) { spec.dtype = DType::float64; },
        [](auto& spec) { spec.bias = true; },
        [](auto& spec) { spec.bias = spec.relu = true; },
        [](auto& spec) { spec.winograd = false; },
        [](auto& spec) { spec.geometry.batch = 3; },
        [](auto& spec) { spec.geometry.in_channels = 8; },
        [](auto& spec) { spec.geometry.out_channels = 8; },
        [](auto& spec) { spec.geometry.groups = 2; },
        [](auto& spec) { spec.geometry.channels_first = true; },
        [](auto& spec) { spec.geometry.rows.input = 9; },
        [](auto& spec) { spec.geometry.rows.window = 5; },
        [](auto& spec) { spec.geometry.rows.stride = 2; },
        [](auto& spec) { spec.geometry.rows.dilation = 2; },
        [](auto& spec) { spec.geometry.rows.pad_before = 2; },
        [](auto& spec) { spec.geometry.rows.pad_after = 2; },
        [](auto& spec) { spec.geometry.columns.input = 9; },
        [](auto& spec) { spec.geometry.columns.window = 5; },
        [](auto& spec) { spec.geometry.columns.stride = 2; },
        [](auto& spec) { spec.geometry.columns.dilation = 2; },
        [](auto& spec) { spec.geometry.columns.pad_before = 2; },
        [](auto& spec) { spec.geometry.columns.pad_after = 2; }};
    std::set<std::string> texts;
    for (const auto& apply : changes) {
      DnnConvolutionSpec spec = convolution();
      apply(spec);
      texts.insert(cuda::to_text(spec));
    }
    CHECK(texts.size() == changes.size());
    CHECK(cuda::to_text(convolution()) ==
          "forward float32 NHWC 2x8x8x4, filter 3x3x4x4, stride 1x1, dilation 1x1, padding "
          "1,1,1,1");
  }

  TEST_CASE("a training has the same bits with timed plans") {
    const ScratchFolder folder;
    for (const testing::SmallModel& small : testing::small_models()) {
      if (small.model->name != std::string("resnet20")) continue;
      const CudaDevices plain{.count = 2, .emulated = true};
      CudaDevices timed = plain;
      timed.plans = folder / "plans.json";
      timed.tune = true;
      const std::vector<Array> expected = testing::two_steps(small, 2, plain);
      const std::vector<Array> found = testing::two_steps(small, 2, timed);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == expected[i]);
      CHECK(read_convolution_plans(timed.plans).size() > 10);
    }
  }
}
