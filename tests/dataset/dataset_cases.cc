// The same datasets as in make_golden.py.
#include <numeric>

#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/gather.h"
#include "ops/array/placeholder.h"
#include "ops/array/select.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/random/random_ops.h"
#include "ops/variables/variable_scope.h"
#include "tests/dataset/cases.h"

namespace towerflow::testing {
namespace {

using data::Dataset;
using data::Element;
using I64 = std::int64_t;

std::string path(const std::string& name) { return "tests/dataset/data/" + name; }

Array numbers(I64 n) {
  Array made(DType::float32, Shape{n});
  std::iota(made.data<float>(), made.data<float>() + n, 0.0F);
  return made;
}

Array long_number(I64 value) { return Array::scalar(value); }

Dataset generated() {
  return Dataset::from_generator(
      [] {
        return [i = 0]() mutable -> std::optional<std::vector<Array>> {
          if (i == 3) return std::nullopt;
          const auto x = static_cast<float>(i);
          return std::vector<Array>{Array::scalar<std::int32_t>(i++),
                                    Array::of<float>(Shape{2}, std::vector<float>{x, x + 0.5F})};
        };
      },
      {DType::int32, DType::float32}, {{}, {None}});
}

Dataset badly_generated() {
  return Dataset::from_generator(
      [] {
        return [i = 0]() mutable -> std::optional<std::vector<Array>> {
          ++i;
          if (i > 2) return std::nullopt;
          if (i == 1) return std::vector<Array>{Array::scalar<std::int32_t>(1)};
          return std::vector<Array>{Array::of<std::int32_t>(Shape{2}, std::vector{2, 3})};
        };
      },
      {DType::int32}, {{}});
}

Tensor filled(const Tensor& count, const Tensor& value) { return fill(stack({count}), value); }
/// Returns x copies of x.
Tensor run_of(const Tensor& x) { return filled(x, x); }

Dataset captured_variable() {
  const Variable v = get_variable("v", {.initializer = long_number(10)});
  const Tensor k = constant(long_number(3));
  return Dataset::range(3).map([=](Tensor x) { return x * k + v; });
}

Dataset nested_capture() {
  const Tensor k = constant({1, 2}, {.dtype = DType::int64}) * 2;
  return Dataset::range(3).flat_map([=](Tensor x) {
    return Dataset::from_tensor_slices(k).map([=](Tensor y) { return y + x + gather(k, 0); });
  });
}

Dataset zip_with_itself() {
  const Dataset shuffled = Dataset::range(6).shuffle(4, {.seed = 2});
  return Dataset::zip({shuffled, shuffled});
}

Tensor fails_at_2(const Tensor& x) {
  const Tensor values = constant({5, 6});
  return gather(values, where(equal(x, 2), long_number(7), long_number(1)));
}

Dataset whole() {
  const Array x = numbers(24).reshaped(Shape{12, 2});
  Array y(DType::int64, Shape{12});
  std::iota(y.data<I64>(), y.data<I64>() + 12, 0);
  return Dataset::from_tensor_slices(std::tuple(x, y))
      .shuffle(5, {.seed = 8})
      .repeat(2)
      .map([](Tensor a, Tensor b) { return std::tuple(reduce_sum(a), b * 2); },
           {.num_parallel_calls = 2})
      .batch(5, {.drop_remainder = true})
      .prefetch(1);
}

Dataset counted(Tensor x) { return Dataset::range(x * 10, x * 10 + 4 - x % 3); }

}  // namespace

std::vector<DatasetCase> dataset_cases() {
  using D = Dataset;
  std::vector<DatasetCase> cases;
  const auto add = [&](const char* name, std::function<Dataset()> make,
                       std::optional<I64> seed = std::nullopt) {
    cases.push_back({name, std::move(make), seed});
  };
  add("tensors", [] { return D::from_tensors({{1, 2}, {3, 4}}); });
  add("tensors tuple", [] {
    return D::from_tensors(std::tuple(1, std::vector<float>{2.5F, 3.5F}, std::string("x")));
  });
  add("slices", [] { return D::from_tensor_slices({{1, 2}, {3, 4}, {5, 6}}); });
  add("slices dict", [] {
    return D::from_tensor_slices(std::map<std::string, Element>{
        {"b", numbers(3)}, {"a", std::vector<std::string>{"x", "yy", ""}}});
  });
  add("slices nested", [] {
    return D::from_tensor_slices(
        std::tuple(numbers(2), std::map<std::string, Element>{{"k", {1, 2}}}));
  });
  add("range", [] { return D::range(4); });
  add("range down", [] { return D::range(10, 1, -4); });
  add("range none", [] { return D::range(3, 3); });
  add("range bad step", [] { return D::range(1, 3, 0); });
  add("generator", generated);
  add("generator bad", badly_generated);
  add("zip", [] {
    const D first = D::range(3);
    return D::zip({first, D::from_tensor_slices({"a", "b"})});
  });
  add("zip dict", [] {
    const D b = D::range(2);
    return D::zip({{"b", b}, {"a", D::range(5, 9)}});
  });
  add("zip one", [] { return D::zip(std::vector<D>{D::range(2)}); });
  add("concatenate", [] {
    const D first = D::from_tensors({1, 2});
    return first.concatenate(D::from_tensors({3}));
  });
  add("map", [] { return D::range(4).map([](Tensor x) { return x * x; }); });
  add("map tuple", [] {
    const D first = D::range(3);
    return D::zip({first, D::range(5, 8)}).map([](Tensor a, Tensor b) {
      return std::tuple(a + b, a * b);
    });
  });
  add("map dict", [] {
    return D::range(3).map([](Tensor x) {
      return std::map<std::string, Tensor>{{"y", x + 1}, {"x", cast(x, DType::float32)}};
    });
  });
  add("map of dict", [] {
    return D::from_tensor_slices(std::map<std::string, Element>{{"a", {1, 2}}, {"b", {3, 4}}})
        .map([](const Element& d) { return Tensor(d["a"]) - Tensor(d["b"]); });
  });
  add("map nested", [] {
    const D first = D::range(2);
    const D second = D::range(3, 5);
    const D third = D::range(7, 9);
    return D::zip({first, D::zip({second, third})}).map([](Tensor a, const Element& b) {
      return a + Tensor(b[0]) * Tensor(b[1]);
    });
  });
  add("map constant", [] { return D::range(2).map([](Tensor x) { return std::tuple(x, 7); }); });
  add("map parallel",
      [] { return D::range(20).map([](Tensor x) { return x * 2; }, {.num_parallel_calls = 3}); });
  add("map twice", [] {
    return D::range(3)
        .map([](Tensor x) { return x + 1; })
        .map([](Tensor x) { return x * 3; })
        .batch(2);
  });
  add("map error", [] { return D::range(4).map(fails_at_2); });
  add("map random", [] {
    return D::range(3).map([](Tensor) { return random_uniform({}, {.seed = 3}); }).repeat(2);
  });
  add(
      "map random, graph seed",
      [] { return D::range(3).map([](Tensor) { return random_uniform({}); }).repeat(2); }, 4);
  add("map capture", captured_variable);
  add("nested capture", nested_capture);
  add("filter", [] { return D::range(10).filter([](Tensor x) { return equal(x % 3, 1); }); });
  add("flat_map", [] { return D::range(4).flat_map([](Tensor x) { return D::range(x); }); });
  add("flat_map tensors", [] {
    return D::from_tensor_slices({{1, 2}, {3, 4}}).flat_map([](Tensor x) {
      return D::from_tensor_slices(x);
    });
  });
  add("interleave",
      [] { return D::range(1, 6).interleave(counted, {.cycle_length = 3, .block_length = 1}); });
  add("interleave blocks", [] {
    return D::range(1, 6).interleave([](Tensor x) { return D::from_tensors(x).repeat(x); },
                                     {.cycle_length = 2, .block_length = 2});
  });
  add("interleave parallel", [] {
    return D::range(1, 6).interleave(
        counted, {.cycle_length = 3, .block_length = 2, .num_parallel_calls = 2});
  });
  add("interleave zero", [] {
    return D::range(2).interleave([](Tensor x) { return D::range(x); }, {.cycle_length = 0});
  });
  add("batch", [] { return D::range(7).batch(3); });
  add("batch dropped", [] { return D::range(7).batch(3, {.drop_remainder = true}); });
  add("batch strings", [] { return D::from_tensor_slices({"a", "bb", "c"}).batch(2); });
  add("batch of batches", [] { return D::range(8).batch(2).batch(3); });
  add("batch zero", [] { return D::range(3).batch(0); });
  add("batch ragged", [] { return D::range(3).map(run_of).batch(2); });
  add("padded_batch",
      [] { return D::range(1, 6).map(run_of).padded_batch(2, {.padded_shapes = {{None}}}); });
  add("padded_batch to 7", [] {
    return D::range(1, 6).map(run_of).padded_batch(
        2, {.padded_shapes = {{7}}, .padding_values = {long_number(-1)}, .drop_remainder = true});
  });
  add("padded_batch default", [] {
    return D::range(1, 4)
        .map([](Tensor x) {
          const Tensor matrix = fill(stack({x, 2}), x);
          const Tensor texts = fill(stack({x}), "s");
          return std::tuple(matrix, texts, x);
        })
        .padded_batch(3);
  });
  add("padded_batch matrix", [] {
    return D::range(1, 4)
        .map([](Tensor x) {
          return fill(stack({x, 4 - x}), x);
        })
        .padded_batch(3, {.padded_shapes = {{None, 4}}});
  });
  add("padded_batch too small",
      [] { return D::range(1, 5).map(run_of).padded_batch(2, {.padded_shapes = {{2}}}); });
  add("shuffle", [] { return D::range(10).shuffle(4, {.seed = 5}); });
  add("shuffle repeat", [] { return D::range(10).shuffle(4, {.seed = 5}).repeat(3); });
  add("shuffle once", [] {
    return D::range(10).shuffle(4, {.seed = 5, .reshuffle_each_iteration = false}).repeat(2);
  });
  add("shuffle all", [] { return D::range(10).shuffle(40, {.seed = 5}).repeat(2); });
  add(
      "shuffle graph seed", [] { return D::range(10).shuffle(4).repeat(2); }, 7);
  add(
      "shuffle both seeds", [] { return D::range(10).shuffle(4, {.seed = 3}); }, 7);
  add(
      "shuffle two",
      [] { return D::range(9).shuffle(4).map([](Tensor x) { return x + 1; }).shuffle(3); }, 9);
  add("shuffle after repeat", [] { return D::range(5).repeat(2).shuffle(4, {.seed = 5}); });
  add("shuffle seed 0", [] { return D::range(9).shuffle(4, {.seed = 0}); });
  add("shuffle zip", zip_with_itself);
  add("shuffle of zero", [] { return D::range(3).shuffle(0, {.seed = 1}); });
  add("repeat zero", [] { return D::range(3).repeat(0); });
  add("repeat empty", [] { return D::range(0).repeat(); });
  add("repeat take", [] { return D::range(3).repeat().take(7); });
  add("take all", [] { return D::range(3).take(-1); });
  add("skip", [] { return D::range(5).skip(3); });
  add("skip all", [] { return D::range(5).skip(-1); });
  add("shard", [] { return D::range(10).shard(3, 1); });
  add("shard bad", [] { return D::range(10).shard(3, 3); });
  add("cache", [] { return D::range(3).cache().repeat(2); });
  add("cache shuffle", [] { return D::range(5).shuffle(5, {.seed = 1}).cache().repeat(2); });
  add("prefetch", [] { return D::range(5).prefetch(2); });
  add("prefetch zero", [] { return D::range(5).prefetch(0); });
  add("enumerate", [] { return D::from_tensor_slices({"a", "b"}).enumerate(5); });
  add("apply", [] { return D::range(5).apply([](const D& d) { return d.skip(2).batch(2); }); });
  add("whole", whole);
  add("records", [] { return data::TFRecordDataset({path("a.tfrecord"), path("b.tfrecord")}); });
  add("records in turns", [] {
    return data::TFRecordDataset(
        {path("a.tfrecord"), path("b.tfrecord"), path("c.tfrecord"), path("d.tfrecord")},
        {.num_parallel_reads = 2});
  });
  add("records of a dataset", [] {
    return data::TFRecordDataset(D::from_tensor_slices({path("b.tfrecord"), path("a.tfrecord")}));
  });
  add("records packed", [] {
    return data::TFRecordDataset(path("packed.tfrecord.gz"), {.compression_type = "GZIP"});
  });
  add("records missing", [] { return data::TFRecordDataset(path("missing")); });
  add("records damaged", [] { return data::TFRecordDataset(path("lines.txt")); });
  add("lines", [] { return data::TextLineDataset(path("lines.txt")); });
  add("lines packed",
      [] { return data::TextLineDataset(path("lines.txt.gz"), {.compression_type = "GZIP"}); });
  add("lines skipped", [] {
    return D::from_tensor_slices({path("lines.txt"), path("lines.txt")}).flat_map([](Tensor name) {
      return data::TextLineDataset(name).skip(1);
    });
  });
  add("fixed", [] {
    return data::FixedLengthRecordDataset(path("fixed.bin"), 4,
                                          {.header_bytes = 2, .footer_bytes = 1});
  });
  add("fixed partial", [] { return data::FixedLengthRecordDataset(path("fixed.bin"), 4); });
  add("files", [] { return D::list_files(path("*.tfrecord"), {.shuffle = false}); });
  add("files shuffled", [] { return D::list_files(path("*.tfrecord"), {.seed = 3}); });
  add("files missing", [] { return D::list_files(path("*.nothing")); });
  return cases;
}

std::vector<CallError> dataset_call_errors() {
  using D = Dataset;
  return {
      {"slices of a scalar", [] { D::from_tensor_slices(1); }},
      {"slices that differ",
       [] {
         D::from_tensor_slices(std::tuple(std::vector<int>{1, 2}, std::vector<int>{1, 2, 3}));
       }},
      {"filter by a number", [] { D::range(3).filter([](Tensor x) { return x; }); }},
      {"concatenate dtypes", [] { D::range(3).concatenate(D::from_tensors(1.0)); }},
      {"concatenate structures",
       [] { D::range(3).concatenate(D::from_tensors(std::tuple(1, 2))); }},
      {"padded to less",
       [] {
         D::from_tensors({1, 2, 3}).padded_batch(2, {.padded_shapes = {{2}}});
       }},
      {"padded without rank", [] { D::from_tensors(placeholder(DType::int32)).padded_batch(2); }},
      {"padded with another dtype",
       [] {
         D::range(3).padded_batch(2, {.padded_shapes = {{}}, .padding_values = {constant(1.5)}});
       }},
      {"names are numbers",
       [] {
         data::TFRecordDataset({1, 2});
       }},
      {"one shot of a placeholder",
       [] { D::from_tensors(placeholder(DType::int32)).make_one_shot_iterator(); }},
      {"one shot of a variable",
       [] { D::from_tensors(get_variable("v", {})).make_one_shot_iterator(); }},
      {"initializer of one shot", [] { D::range(3).make_one_shot_iterator().initializer(); }},
      {"initializer of another dtype",
       [] { data::Iterator::from_structure({DType::int32}, {{}}).make_initializer(D::range(2)); }},
      {"initializer of another shape",
       [] { data::Iterator::from_structure({DType::int64}, {{2}}).make_initializer(D::range(2)); }},
  };
}

}  // namespace towerflow::testing
