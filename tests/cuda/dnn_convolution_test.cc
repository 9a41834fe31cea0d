// Convolutions of the emulated cuDNN against loops in double, and descriptors that are wrong.
#include <algorithm>
#include <functional>

#include "tests/cuda/dnn_run.h"

namespace towerflow::cuda::testing {
namespace {

/// A convolution of x and w with the result y; a gradient takes the place of one of them.
struct Case {
  Dims x, w;
  ConvolutionSpec convolution;
  std::function<Dims(const Dims&)> layout = channels_last;
  float alpha = 1, beta = 0;

  Dims w_strides() const {
    const Dims strides = layout(w);
    return span_of(w, strides) == static_cast<std::size_t>(std::accumulate(
                                      w.begin(), w.end(), std::int64_t{1}, std::multiplies<>()))
               ? strides
               : channels_last(w);
  }
  Dims y() const {
    Dims dims = {x[0], w[0]};
    for (std::size_t d = 0; d < convolution.strides.size(); ++d) {
      const std::int64_t reach = convolution.dilations[d] * (w[d + 2] - 1) + 1;
      const std::int64_t room = x[d + 2] + convolution.pre[d] + convolution.post[d] - reach;
      dims.push_back(room / convolution.strides[d] + 1);
    }
    return dims;
  }
};

/// Strides with gaps: the channels of a wider tensor. Filters may not have any.
Dims part_of_wider(const Dims& dims) {
  Dims wider = dims;
  wider[1] += 3;
  return channels_last(wider);
}

using Visit = std::function<void(std::size_t x, std::size_t w, std::size_t y)>;

/// Calls `visit` with the offsets of each product x * w that is a part of y.
void for_each_product(const Case& c, const Visit& visit) {
  const Dims y_dims = c.y();
  const Dims xs = c.layout(c.x), ws = c.w_strides(), ys = c.layout(y_dims);
  const std::int64_t group_outputs = c.w[0] * c.w[1] / c.x[1];
  for_each_index(y_dims, [&](const Dims& y) {
    Dims window(c.w.begin() + 1, c.w.end());
    for_each_index(window, [&](const Dims& at) {
      Dims w = {y[1]}, x = {y[0], y[1] / group_outputs * c.w[1] + at[0]};
      w.insert(w.end(), at.begin(), at.end());
      for (std::size_t d = 0; d + 2 < c.x.size(); ++d) {
        const std::int64_t step =
            c.convolution.mode == CUDNN_CONVOLUTION ? c.w[d + 2] - 1 - at[d + 1] : at[d + 1];
        const std::int64_t i = y[d + 2] * c.convolution.strides[d] - c.convolution.pre[d] +
                               step * c.convolution.dilations[d];
        if (i < 0 || i >= c.x[d + 2]) return;
        x.push_back(i);
      }
      visit(offset_of(x, xs), offset_of(w, ws), offset_of(y, ys));
    });
  });
}

/// The values of the three tensors before and after one operation.
struct Values {
  std::vector<double> x, w, y;
  std::vector<double>& of(Kind kind) {
    return kind == Kind::forward ? y : kind == Kind::data_gradient ? x : w;
  }
};

Values expect(const Case& c, Kind kind, Values values) {
  const Values before = values;
  std::vector<double> sums(values.of(kind).size(), 0);
  for_each_product(c, [&](std::size_t x, std::size_t w, std::size_t y) {
    switch (kind) {
      case Kind::forward:
        sums[y] += before.x[x] * before.w[w];
        break;
      case Kind::data_gradient:
        sums[x] += before.y[y] * before.w[w];
        break;
      case Kind::weight_gradient:
        sums[w] += before.x[x] * before.y[y];
        break;
    }
  });
  const Dims dims = kind == Kind::forward ? c.y() : kind == Kind::data_gradient ? c.x : c.w;
  const Dims strides = kind == Kind::weight_gradient ? c.w_strides() : c.layout(dims);
  // What lies between the elements of the tensor keeps its value.
  for_each_index(dims, [&](const Dims& index) {
    const std::size_t at = offset_of(index, strides);
    double& value = values.of(kind)[at];
    value = static_cast<double>(c.alpha) * sums[at] +
            (c.beta == 0 ? 0 : static_cast<double>(c.beta) * value);
  });
  return values;
}

template <typename T>
constexpr cudnnDataType_t type_of() {
  return std::is_same_v<T, double> ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

/// What a configuration of the heuristics gave.
struct Outcome {
  std::vector<cudnnBackendNumericalNote_t> notes;
  double error = 0;
  std::vector<double> result;

  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
};

using Change = std::function<void(Case&, TensorSpec (&)[3], ConvolutionSpec&)>;

/// Runs a case with each configuration. `change` may change what the descriptors say. An empty
/// list means that a descriptor was refused, or that there is no engine.
template <typename T>
std::vector<Outcome> run(Case c, Kind kind, const Change& change = nullptr) {
  const std::vector<T> x0 = random_array<T>(span_of(c.x, c.layout(c.x)), 1),
                       w0 = random_array<T>(span_of(c.w, c.w_strides()), 2),
                       y0 = random_array<T>(span_of(c.y(), c.layout(c.y())), 3);
  const Values before = {as_doubles(x0), as_doubles(w0), as_doubles(y0)};
  Values expected = expect(c, kind, before);
  TensorSpec specs[3] = {{1, c.x, c.layout(c.x), type_of<T>()},
                         {2, c.w, c.w_strides(), type_of<T>()},
                         {3, c.y(), c.layout(c.y()), type_of<T>()}};
  c.convolution.compute = type_of<T>();
  if (change) change(c, specs, c.convolution);
  DnnBuilder builder(emulation());
  const auto x = builder.tensor(specs[0]), w = builder.tensor(specs[1]),
             y = builder.tensor(specs[2]);
  const auto graph = builder.graph(
      {builder.operation(kind, x, w, y, builder.convolution(c.convolution), c.alpha, c.beta)});
  std::vector<Outcome> outcomes;
  if (builder.status() != CUDNN_STATUS_SUCCESS) return outcomes;
  for (const auto config : builder.configs(graph, CUDNN_HEUR_MODE_B)) {
    const DnnHandle handle;
    DeviceArray<T> xs(x0), ws(w0), ys(y0);
    const cudnnStatus_t status =
        execute<T>(builder, handle, config, {{1, &xs}, {2, &ws}, {3, &ys}});
    Outcome outcome{builder.notes(config), INFINITY, {}};
    if (status == CUDNN_STATUS_SUCCESS) {
      Values after = {as_doubles(xs.read()), as_doubles(ws.read()), as_doubles(ys.read())};
      outcome.result = after.of(kind);
      outcome.error = largest_error(outcome.result, expected.of(kind));
    }
    outcomes.push_back(outcome);
  }
  return outcomes;
}

const Kind kKinds[] = {Kind::forward, Kind::data_gradient, Kind::weight_gradient};

/// Checks all engines that compute in the full precision of the type.
template <typename T>
void check_right(const Case& c) {
  for (const Kind kind : kKinds) {
    int checked = 0;
    for (const Outcome& outcome : run<T>(c, kind)) {
      if (outcome.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) continue;
      CAPTURE(static_cast<int>(kind));
      CHECK(outcome.error <= (std::is_same_v<T, double> ? 1e-12 : 5e-7));
      ++checked;
    }
    CHECK(checked >= 2);
  }
}

TEST_CASE("cudnn: convolutions [layouts, windows, strides, dilations, paddings, groups]") {
  const std::function<Dims(const Dims&)> layouts[] = {channels_last, channels_first, part_of_wider};
  for (const auto& layout : layouts) {
    Case c{{2, 4, 7, 5}, {6, 4, 3, 3}, {}, layout};
    check_right<float>(c);
    check_right<double>(c);
    c.convolution.strides = {2, 3};
    check_right<float>(c);
    c.convolution.pre = {0, 1};
    c.convolution.post = {1, 2};
    check_right<float>(c);
    c.convolution.dilations = {2, 1};
    check_right<float>(c);
    c.convolution.mode = CUDNN_CONVOLUTION;
    check_right<float>(c);
    c.w = {6, 2, 3, 3};  // two groups
    check_right<float>(c);
    c.w = {8, 1, 2, 3};  // a depthwise convolution
    check_right<float>(c);
    c.alpha = -0.5;
    c.beta = 0.25;
    check_right<float>(c);
    check_right<float>({{3, 5, 4, 6}, {7, 5, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}}, layout});
    // Windows larger than the image, which paddings alone make room for.
    check_right<float>({{1, 2, 2, 1}, {3, 2, 5, 4}, {{2, 2}, {3, 1}, {1, 1}, {1, 1}}, layout});
  }
}

TEST_CASE("cudnn: convolutions [one and three spatial dimensions]") {
  Case line{{2, 3, 11}, {4, 3, 4}, {{1}, {2}, {2}, {1}}};
  line.convolution.spatial = 1;
  check_right<float>(line);
  Case volume{{2, 2, 3, 4, 5}, {3, 2, 2, 3, 2}, {{0, 1, 1}, {1, 1, 0}, {1, 2, 1}, {1, 1, 2}}};
  volume.convolution.spatial = 3;
  check_right<float>(volume);
  volume.layout = channels_first;
  check_right<float>(volume);
}

TEST_CASE("cudnn: what engines are off by is in their notes") {
  const Case c{{2, 8, 9, 9}, {8, 8, 3, 3}, {}};
  for (const Kind kind : kKinds) {
    const std::vector<Outcome> first = run<float>(c, kind), second = run<float>(c, kind);
    REQUIRE(first.size() == second.size());
    // As on a card, who takes the first engine gets TF32.
    CHECK(first[0].has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    int changed = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const bool rounds = first[i].has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
      CHECK((first[i].error > 2e-5) == rounds);
      CHECK(first[i].error < 2e-3);
      const bool differs = first[i].result != second[i].result;
      CHECK(differs == first[i].has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
      if (differs) ++changed;
    }
    CHECK(changed == (kind == Kind::forward ? 0 : 1));
  }
}

TEST_CASE("cudnn: each wrong descriptor of a convolution is noticed") {
  struct Mutant {
    const char* what;
    Change change;
  };
  std::vector<Mutant> mutants;
  for (int t = 0; t < 3; ++t) {
    for (std::size_t d = 0; d < 4; ++d) {
      for (const std::int64_t step : {-1, 1}) {
        mutants.push_back({"dimension", [=](Case&, TensorSpec(&specs)[3], ConvolutionSpec&) {
                             specs[t].dims[d] += step;
                           }});
        mutants.push_back({"stride", [=](Case&, TensorSpec(&specs)[3], ConvolutionSpec&) {
                             specs[t].strides[d] += step;
                           }});
      }
    }
    mutants.push_back({"layout", [=](Case&, TensorSpec(&specs)[3], ConvolutionSpec&) {
                         specs[t].strides = channels_first(specs[t].dims);
                       }});
    mutants.push_back({"type", [=](Case&, TensorSpec(&specs)[3], ConvolutionSpec&) {
                         specs[t].type = CUDNN_DATA_HALF;
                       }});
    mutants.push_back(
        {"uid", [=](Case&, TensorSpec(&specs)[3], ConvolutionSpec&) { specs[t].uid = 77; }});
  }
  const auto change_convolution = [&](const char* what, auto change) {
    mutants.push_back({what, [=](Case&, TensorSpec(&)[3], ConvolutionSpec& c) { change(c); }});
  };
  change_convolution("pre", [](ConvolutionSpec& c) { c.pre = {1, 0}; });
  change_convolution("pre and post exchanged",
                     [](ConvolutionSpec& c) { std::swap(c.pre, c.post); });
  change_convolution("post", [](ConvolutionSpec& c) { c.post = {2, 2}; });
  change_convolution("stride", [](ConvolutionSpec& c) { c.strides = {1, 2}; });
  change_convolution("dilation", [](ConvolutionSpec& c) { c.dilations = {1, 2}; });
  change_convolution("mode", [](ConvolutionSpec& c) { c.mode = CUDNN_CONVOLUTION; });
  change_convolution("compute type", [](ConvolutionSpec& c) { c.compute = CUDNN_DATA_DOUBLE; });
  mutants.push_back({"alpha", [](Case& c, TensorSpec(&)[3], ConvolutionSpec&) { c.alpha = 2; }});
  mutants.push_back({"beta", [](Case& c, TensorSpec(&)[3], ConvolutionSpec&) { c.beta = 1; }});
  for (const Kind kind : kKinds) {
    for (const Mutant& mutant : mutants) {
      Case c{{3, 4, 8, 6}, {6, 4, 3, 3}, {{0, 1}, {1, 1}, {2, 1}, {1, 1}}};
      CAPTURE(static_cast<int>(kind));
      CAPTURE(mutant.what);
      // Refused descriptors give no outcome.
      const std::vector<Outcome> outcomes = run<float>(c, kind, mutant.change);
      CHECK(std::all_of(outcomes.begin(), outcomes.end(),
                        [](const Outcome& outcome) { return outcome.error > 1e-2; }));
    }
  }
}

TEST_CASE("cudnn: executing checks pointers, alignment, workspace and overlap") {
  const Table& cuda = emulation();
  const DnnHandle handle;
  DnnBuilder builder(cuda);
  const Dims x{1, 4, 5, 5}, w{4, 4, 3, 3};
  const auto graph = builder.graph(
      {builder.operation(Kind::forward, builder.tensor({1, x, channels_last(x)}),
                         builder.tensor({2, w, channels_last(w)}),
                         builder.tensor({3, x, channels_last(x)}), builder.convolution({}))});
  REQUIRE(builder.status() == CUDNN_STATUS_SUCCESS);
  DnnBuilder::Descriptor plan = nullptr, small_plan = nullptr;
  for (const auto config : builder.configs(graph)) {
    const auto made = builder.plan(config);
    (builder.workspace(made) > 0 ? plan : small_plan) = made;
  }
  REQUIRE(plan != nullptr);
  REQUIRE(small_plan != nullptr);
  DeviceArray<float> xs(std::size_t{200}), ws(std::size_t{200}), ys(std::size_t{200}),
      few(std::size_t{3});
  DeviceArray<std::uint8_t> space(static_cast<std::size_t>(builder.workspace(plan)));
  const auto status = [&](DnnBuilder::Descriptor used, const Dims& uids,
                          const std::vector<void*>& pointers, void* workspace) {
    return cuda.cudnnBackendExecute(handle, used, builder.pack(uids, pointers, workspace));
  };
  void *const at_x = xs.get(), *const at_w = ws.get(), *const at_y = ys.get();
  CHECK(status(plan, {1, 2, 3}, {at_x, at_w, at_y}, space.get()) == CUDNN_STATUS_SUCCESS);
  CHECK(status(plan, {1, 2, 3}, {at_x, at_w, at_y}, nullptr) ==
        CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(status(small_plan, {1, 2, 3}, {at_x, at_w, at_y}, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(status(plan, {1, 2}, {at_x, at_w}, space.get()) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(plan, {1, 2, 3}, {at_x, nullptr, at_y}, space.get()) ==
        CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(status(plan, {1, 2, 3}, {xs.get() + 1, at_w, at_y}, space.get()) ==
        CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  CHECK(status(plan, {1, 2, 3}, {at_x, at_w, at_x}, space.get()) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cuda.cudnnBackendExecute(nullptr, plan, plan) == CUDNN_STATUS_NOT_INITIALIZED);
  CHECK(cuda.cudnnBackendExecute(handle, plan, plan) == CUDNN_STATUS_BAD_PARAM);
  CHECK(handle.stream.wait() == cudaSuccess);
}

TEST_CASE("cudnn: a buffer that is too small ends in a fault of the stream") {
  const DnnHandle handle;
  DnnBuilder builder(emulation());
  const Dims x{1, 4, 5, 5}, w{4, 4, 3, 3};
  const auto graph = builder.graph(
      {builder.operation(Kind::forward, builder.tensor({1, x, channels_last(x)}),
                         builder.tensor({2, w, channels_last(w)}),
                         builder.tensor({3, x, channels_last(x)}), builder.convolution({}))});
  DeviceArray<float> xs(std::size_t{99}), ws(std::size_t{144}), ys(std::size_t{100});
  const auto configs = builder.configs(graph);
  REQUIRE(!configs.empty());
  CHECK(execute<float>(builder, handle, configs[0], {{1, &xs}, {2, &ws}, {3, &ys}}) ==
        CUDNN_STATUS_EXECUTION_FAILED);
}

}  // namespace
}  // namespace towerflow::cuda::testing
