// Gives descriptors of cuDNN, right and wrong ones, to the emulation and to the real library, and
// compares what they say. Without a driver the real library makes and judges them all the same.
#include <optional>

#include "tests/cuda/dnn_builder.h"
#include "tests/cuda/verdicts.h"

namespace towerflow::cuda::testing {
namespace {

const Dims kX{2, 4, 7, 5}, kW{6, 4, 3, 3}, kY{2, 6, 7, 5};

Case tensor_case(std::string what, std::function<void(TensorSpec&)> change) {
  return {"tensor: " + what, [change](const Table& table) {
            TensorSpec spec{1, kX, channels_last(kX)};
            change(spec);
            DnnBuilder builder(table);
            builder.tensor(spec);
            return static_cast<int>(builder.status());
          }};
}

Case convolution_case(std::string what, std::function<void(ConvolutionSpec&)> change) {
  return {"convolution: " + what, [change](const Table& table) {
            ConvolutionSpec spec;
            change(spec);
            DnnBuilder builder(table);
            builder.convolution(spec);
            return static_cast<int>(builder.status());
          }};
}

/// The parts of an operation; a test may change their descriptions, or leave one out.
struct Parts {
  TensorSpec x{1, kX, channels_last(kX)}, w{2, kW, channels_last(kW)}, y{3, kY, channels_last(kY)};
  ConvolutionSpec convolution;
  int left_out = -1;
};

using ChangeParts = std::function<void(Parts&)>;

DnnBuilder::Descriptor make_operation(DnnBuilder& builder, Kind kind, const ChangeParts& change) {
  Parts parts;
  if (change) change(parts);
  DnnBuilder::Descriptor made[] = {builder.tensor(parts.x), builder.tensor(parts.w),
                                   builder.tensor(parts.y), builder.convolution(parts.convolution)};
  if (parts.left_out >= 0) made[parts.left_out] = nullptr;
  return builder.operation(kind, made[0], made[1], made[2], made[3]);
}

std::vector<Case> operation_cases() {
  const std::vector<std::pair<std::string, ChangeParts>> changes = {
      {"right", nullptr},
      {"channels first", [](Parts& p) { p.x.strides = channels_first(kX); }},
      {"no x", [](Parts& p) { p.left_out = 0; }},
      {"no w", [](Parts& p) { p.left_out = 1; }},
      {"no y", [](Parts& p) { p.left_out = 2; }},
      {"no convolution", [](Parts& p) { p.left_out = 3; }},
      {"channels", [](Parts& p) { p.w.dims[1] = 3; }},
      {"two groups",
       [](Parts& p) {
         p.w.dims[1] = 2;
         p.w.strides = channels_last(p.w.dims);
       }},
      {"a filter with gaps", [](Parts& p) { p.w.dims[1] = 2; }},
      {"an image with gaps",
       [](Parts& p) {
         p.x.strides = {400, 2, 50, 8};
       }},
      {"an image that just does not overlap",
       [](Parts& p) {
         p.x.strides = {350, 2, 50, 8};
       }},
      {"an image that overlaps",
       [](Parts& p) {
         p.x.strides = {349, 2, 50, 8};
       }},
      {"a result that overlaps",
       [](Parts& p) {
         p.y.strides = {210, 1, 42, 6};
       }},
      {"an image that repeats its channels", [](Parts& p) { p.x.strides[1] = 0; }},
      {"groups that do not divide", [](Parts& p) { p.w.dims[1] = 1; }},
      {"output channels", [](Parts& p) { p.w.dims[0] = 5; }},
      {"batch", [](Parts& p) { p.y.dims[0] = 3; }},
      {"height", [](Parts& p) { p.y.dims[2] = 8; }},
      {"width", [](Parts& p) { p.y.dims[3] = 4; }},
      {"padding",
       [](Parts& p) {
         p.convolution.post = {1, 2};
       }},
      {"stride",
       [](Parts& p) {
         p.convolution.strides = {1, 2};
       }},
      {"dilation",
       [](Parts& p) {
         p.convolution.dilations = {2, 1};
       }},
      {"half y", [](Parts& p) { p.y.type = CUDNN_DATA_HALF; }},
      {"half w", [](Parts& p) { p.w.type = CUDNN_DATA_HALF; }},
      {"compute type", [](Parts& p) { p.convolution.compute = CUDNN_DATA_DOUBLE; }},
      {"one UID for x and y", [](Parts& p) { p.y.uid = 1; }}};
  std::vector<Case> cases;
  for (const Kind kind : {Kind::forward, Kind::data_gradient, Kind::weight_gradient}) {
    for (const auto& [what, change] : changes) {
      const ChangeParts changed = change;
      cases.push_back({"operation " + std::to_string(static_cast<int>(kind)) + ": " + what,
                       [kind, changed](const Table& table) {
                         DnnBuilder builder(table);
                         make_operation(builder, kind, changed);
                         return static_cast<int>(builder.status());
                       }});
    }
  }
  return cases;
}

/// A graph of a convolution, bias and ReLU; `change` gets the operations.
Case graph_case(std::string what,
                std::function<void(DnnBuilder&, std::vector<DnnBuilder::Descriptor>&)> change) {
  return {"graph: " + what, [change](const Table& table) {
            DnnBuilder builder(table);
            const auto tensor = [&](std::int64_t uid, bool is_virtual) {
              return builder.tensor({uid, kY, channels_last(kY), CUDNN_DATA_FLOAT, 16, is_virtual});
            };
            const Dims bias{1, 6, 1, 1};
            std::vector<DnnBuilder::Descriptor> list = {
                make_operation(builder, Kind::forward,
                               [](Parts& p) {
                                 p.y.uid = 10;
                                 p.y.is_virtual = true;
                               }),
                builder.pointwise_operation(
                    builder.pointwise(CUDNN_POINTWISE_ADD), tensor(10, true),
                    builder.tensor({4, bias, channels_last(bias)}), tensor(11, true)),
                builder.pointwise_operation(builder.pointwise(CUDNN_POINTWISE_RELU_FWD),
                                            tensor(11, true), nullptr, tensor(3, false))};
            change(builder, list);
            builder.configs(builder.graph(list));
            return static_cast<int>(builder.status());
          }};
}

Case pointwise_case(cudnnPointwiseMode_t mode, bool b, bool y) {
  return {"pointwise " + std::to_string(mode) + (b ? " with b" : "") + (y ? "" : " without y"),
          [mode, b, y](const Table& table) {
            DnnBuilder builder(table);
            const auto tensor = [&](std::int64_t uid) {
              return builder.tensor({uid, kY, channels_last(kY)});
            };
            builder.pointwise_operation(builder.pointwise(mode), tensor(1), b ? tensor(2) : nullptr,
                                        y ? tensor(3) : nullptr);
            return static_cast<int>(builder.status());
          }};
}

/// Single calls that set and get attributes of a tensor.
Case call_case(std::string what,
               std::function<int(const Table&, DnnBuilder&, cudnnBackendDescriptor_t open,
                                 cudnnBackendDescriptor_t closed)>
                   call) {
  return {"call: " + what, [call](const Table& table) {
            DnnBuilder builder(table);
            const auto open = builder.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
            const auto closed = builder.tensor({1, kX, channels_last(kX)});
            CHECK(builder.status() == CUDNN_STATUS_SUCCESS);
            return call(table, builder, open, closed);
          }};
}

std::vector<Case> call_cases() {
  static const std::int64_t numbers[4] = {2, 4, 7, 5};
  static const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const auto set = [](const Table& table, cudnnBackendDescriptor_t descriptor,
                      cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t kind,
                      std::int64_t count, const void* at) {
    return static_cast<int>(table.cudnnBackendSetAttribute(descriptor, name, kind, count, at));
  };
  using D = cudnnBackendDescriptor_t;
  return {
      call_case("a type that fits",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
                }),
      call_case("wrong kind of value",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, 1, numbers);
                }),
      call_case("attribute of another descriptor",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                             &type);
                }),
      call_case("two values for one",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 2,
                             numbers);
                }),
      call_case("no value",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 0, &type);
                }),
      call_case("null values",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                             nullptr);
                }),
      call_case("negative count",
                [=](const Table& t, DnnBuilder&, D open, D) {
                  return set(t, open, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, numbers);
                }),
      call_case("null descriptor",
                [=](const Table& t, DnnBuilder&, D, D) {
                  return set(t, nullptr, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4,
                             numbers);
                }),
      call_case("set after finalize",
                [=](const Table& t, DnnBuilder&, D, D closed) {
                  return set(t, closed, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                             &type);
                }),
      call_case("finalize twice",
                [](const Table& t, DnnBuilder&, D, D closed) {
                  return static_cast<int>(t.cudnnBackendFinalize(closed));
                }),
      call_case("finalize null",
                [](const Table& t, DnnBuilder&, D, D) {
                  return static_cast<int>(t.cudnnBackendFinalize(nullptr));
                }),
      call_case("destroy null",
                [](const Table& t, DnnBuilder&, D, D) {
                  return static_cast<int>(t.cudnnBackendDestroyDescriptor(nullptr));
                }),
      call_case("get before finalize",
                [](const Table& t, DnnBuilder&, D open, D) {
                  std::int64_t values[8], count = 0;
                  return static_cast<int>(t.cudnnBackendGetAttribute(
                      open, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 8, &count, values));
                }),
      // The counts come back as verdicts, above the statuses.
      call_case("count of eight",
                [](const Table& t, DnnBuilder&, D, D closed) {
                  std::int64_t values[8], count = 0;
                  t.cudnnBackendGetAttribute(closed, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                             8, &count, values);
                  return static_cast<int>(10'000 + 100 * count + values[3]);
                }),
      call_case("count of two",
                [](const Table& t, DnnBuilder&, D, D closed) {
                  std::int64_t values[8], count = 0;
                  t.cudnnBackendGetAttribute(closed, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                             2, &count, values);
                  return static_cast<int>(10'000 + 100 * count + values[1]);
                }),
      call_case("count of none",
                [](const Table& t, DnnBuilder&, D, D closed) {
                  std::int64_t count = 0;
                  t.cudnnBackendGetAttribute(closed, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                             0, &count, nullptr);
                  return static_cast<int>(10'000 + 100 * count);
                }),
      call_case("a tensor that is finalized late", [](const Table& t, DnnBuilder& b, D, D closed) {
        const D late = b.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        const D operation = b.make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        b.set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                    b.pointwise(CUDNN_POINTWISE_RELU_FWD));
        b.set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, late);
        b.set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, closed);
        b.set(late, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
        b.set(late, CUDNN_ATTR_TENSOR_DIMENSIONS, kX);
        b.set(late, CUDNN_ATTR_TENSOR_STRIDES, channels_last(kX));
        b.set(late, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
        b.finalize(late);
        CHECK(b.status() == CUDNN_STATUS_SUCCESS);
        return static_cast<int>(t.cudnnBackendFinalize(operation));
      })};
}

Case pack_case(std::string what, Dims uids, std::size_t pointers) {
  return {"variant pack: " + what, [uids, pointers](const Table& table) {
            DnnBuilder builder(table);
            std::int64_t number = 0;
            builder.pack(uids, std::vector<void*>(pointers, &number), nullptr);
            return static_cast<int>(builder.status());
          }};
}

/// A knob of an engine. The library takes one whose type or value is not set.
Case knob_case(std::string what, std::optional<int> type, std::optional<std::int64_t> value) {
  return {"knob: " + what,
          [type, value](const Table& table) {
            DnnBuilder builder(table);
            const auto knob = builder.make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
            if (type) {
              builder.set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                          static_cast<cudnnBackendKnobType_t>(*type));
            }
            if (value) {
              builder.set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, *value);
            }
            builder.finalize(knob);
            std::int64_t count = 0, found = 0;
            table.cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                                           CUDNN_TYPE_INT64, 1, &count, &found);
            if (builder.status() == CUDNN_STATUS_SUCCESS && value) CHECK(found == *value);
            return static_cast<int>(builder.status());
          },
          type && value ? 0 : CUDNN_STATUS_BAD_PARAM};
}

std::vector<Case> dnn_cases() {
  std::vector<Case> cases = {
      tensor_case("channels last", [](TensorSpec&) {}),
      tensor_case("no strides", [](TensorSpec& t) { t.strides.clear(); }),
      tensor_case("no dimensions", [](TensorSpec& t) { t.dims.clear(); }),
      tensor_case("fewer strides", [](TensorSpec& t) { t.strides.pop_back(); }),
      tensor_case("zero dimension", [](TensorSpec& t) { t.dims[1] = 0; }),
      tensor_case("negative dimension", [](TensorSpec& t) { t.dims[1] = -1; }),
      tensor_case("zero stride", [](TensorSpec& t) { t.strides[1] = 0; }),
      tensor_case("negative stride", [](TensorSpec& t) { t.strides[1] = -1; }),
      tensor_case("overlapping",
                  [](TensorSpec& t) {
                    t.strides = {1, 1, 1, 1};
                  }),
      tensor_case("nine dimensions", [](TensorSpec& t) { t.dims = t.strides = Dims(9, 1); }),
      tensor_case("one dimension", [](TensorSpec& t) { t.dims = t.strides = Dims(1, 1); }),
      tensor_case("UID 0", [](TensorSpec& t) { t.uid = 0; })};
  for (const std::int64_t alignment : {0, 1, 2, 3, 4, 6, 8, 24, 256, -4}) {
    cases.push_back(tensor_case("alignment " + std::to_string(alignment),
                                [alignment](TensorSpec& t) { t.alignment = alignment; }));
  }
  for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_DOUBLE, CUDNN_DATA_INT8,
                          CUDNN_DATA_INT32, CUDNN_DATA_INT64, CUDNN_DATA_BOOLEAN}) {
    cases.push_back(
        tensor_case("type " + std::to_string(type), [type](TensorSpec& t) { t.type = type; }));
  }
  const std::vector<Case> convolutions = {
      convolution_case("right", [](ConvolutionSpec&) {}),
      convolution_case("no padding",
                       [](ConvolutionSpec& c) {
                         c.pre.clear();
                         c.post.clear();
                       }),
      convolution_case("no strides", [](ConvolutionSpec& c) { c.strides.clear(); }),
      convolution_case("no dilations", [](ConvolutionSpec& c) { c.dilations.clear(); }),
      convolution_case("stride 0", [](ConvolutionSpec& c) { c.strides[0] = 0; }),
      convolution_case("dilation 0", [](ConvolutionSpec& c) { c.dilations[1] = 0; }),
      convolution_case("negative padding", [](ConvolutionSpec& c) { c.pre[0] = -1; }),
      convolution_case("three dimensions", [](ConvolutionSpec& c) { c.spatial = 3; }),
      convolution_case("one dimension", [](ConvolutionSpec& c) { c.spatial = 1; }),
      convolution_case("one stride", [](ConvolutionSpec& c) { c.strides.pop_back(); })};
  cases.insert(cases.end(), convolutions.begin(), convolutions.end());
  const std::vector<Case> operations = operation_cases(), calls = call_cases();
  cases.insert(cases.end(), operations.begin(), operations.end());
  cases.insert(cases.end(), calls.begin(), calls.end());
  for (const auto mode : {CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_RELU_FWD,
                          CUDNN_POINTWISE_EXP, CUDNN_POINTWISE_RELU_BWD, CUDNN_POINTWISE_TANH_BWD,
                          CUDNN_POINTWISE_CMP_GT, CUDNN_POINTWISE_BINARY_SELECT}) {
    for (const bool b : {false, true}) {
      for (const bool y : {false, true}) cases.push_back(pointwise_case(mode, b, y));
    }
  }
  using List = std::vector<DnnBuilder::Descriptor>;
  cases.push_back(graph_case("right", [](DnnBuilder&, List&) {}));
  cases.push_back(graph_case("any order", [](DnnBuilder&, List& l) { std::swap(l[0], l[2]); }));
  cases.push_back(graph_case("empty", [](DnnBuilder&, List& l) { l.clear(); }));
  cases.push_back(
      graph_case("an operation twice", [](DnnBuilder&, List& l) { l.push_back(l[2]); }));
  cases.push_back(graph_case("not finalized", [](DnnBuilder& b, List& l) {
    l[2] = b.make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  }));
  cases.push_back(graph_case("a cycle", [](DnnBuilder& b, List& l) {
    const auto tensor = [&](std::int64_t uid) {
      return b.tensor({uid, kY, channels_last(kY), CUDNN_DATA_FLOAT, 16, true});
    };
    const auto relu = b.pointwise(CUDNN_POINTWISE_RELU_FWD);
    l = {b.pointwise_operation(relu, tensor(1), nullptr, tensor(2)),
         b.pointwise_operation(relu, tensor(2), nullptr, tensor(1))};
  }));
  cases.push_back(knob_case("right", CUDNN_KNOB_TYPE_TILE_SIZE, 3));
  cases.push_back(knob_case("no type", std::nullopt, 3));
  cases.push_back(knob_case("no value", CUDNN_KNOB_TYPE_TILE_SIZE, std::nullopt));
  cases.push_back(knob_case("negative value", CUDNN_KNOB_TYPE_TILE_SIZE, -3));
  cases.push_back(knob_case("unknown type", CUDNN_KNOB_TYPE_COUNTS, 3));
  cases.push_back(knob_case("negative type", -1, 3));
  cases.push_back(pack_case("right", {1, 2, 3}, 3));
  cases.push_back(pack_case("one UID twice", {1, 1, 3}, 3));
  cases.push_back(pack_case("fewer UIDs", {1, 2}, 3));
  return cases;
}

TEST_CASE("cudnn: the library and the emulation judge descriptors alike") {
  const int refused = compare(dnn_cases(), real_cudnn(), "cuDNN");
  if (refused >= 0) CHECK(refused > 60);
}

}  // namespace
}  // namespace towerflow::cuda::testing
