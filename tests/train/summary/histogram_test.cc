// Scalar and histogram summaries, byte for byte as TensorFlow writes them.
#include "train/summary/histogram_buckets.h"

#include <limits>

#include "tests/train/summary/support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

using Limits = std::numeric_limits<double>;

std::vector<double> bucket_limits() {
  std::vector<double> limits;
  for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) {
    limits.push_back(limit);
    limits.push_back(-limit);
  }
  for (double value : {0.0, -0.0, Limits::denorm_min(), 1.7e308, -1.7e308, -Limits::max()}) {
    limits.push_back(value);
  }
  return limits;
}

Array bytes() {
  Array array(DType::uint8, {256});
  for (int i = 0; i < 256; ++i) array.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return array;
}

struct Case {
  std::string name;
  Array value;
};

/// Returns the scalars in the order of make_golden.py.
std::vector<Case> scalars() {
  return {{"zero", Array::scalar(0.0F)},
          {"minus_zero", Array::scalar(-0.0F)},
          {"third", Array::scalar(1.0 / 3)},
          {"nan", Array::scalar(std::numeric_limits<float>::quiet_NaN())},
          {"huge", Array::scalar(1e300)},
          {"count", Array::scalar((std::int64_t{1} << 53) + 1)}};
}

std::vector<Case> histograms() {
  const std::vector<double> limits = bucket_limits();
  return {{"spread", Array::of<float>({1000}, varied_values<float>(1000))},
          {"spread_double", Array::of<double>({7, 111}, varied_values<double>(777))},
          {"limits", Array::of<double>({limits.size()}, limits)},
          {"zero", Array::scalar(0.0F)},
          {"minus_zero", Array::scalar(-0.0F)},
          {"zeros", Array::zeros(DType::float32, {5, 4})},
          {"nothing", Array::zeros(DType::float32, {0, 3})},
          {"bytes", bytes()},
          {"small", Array::of<std::int8_t>({5}, std::vector<std::int8_t>{-128, -1, 0, 1, 127})},
          {"wide",
           Array::of<std::int64_t>(
               {3}, std::vector<std::int64_t>{INT64_MIN, INT64_MAX, (std::int64_t{1} << 53) + 1})},
          {"int32", Array::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{3, 1, 4, 1})}};
}

/// Returns the error of running a histogram summary "a/h" of `values`.
std::string refusal(const Array& values) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto scope = tf::name_scope("a");
  const Tensor made = tf::summary::histogram("h", tf::constant(values), {.family = "f"});
  tf::Session session;
  return thrown([&] { session.run(made); });
}

}  // namespace

TEST_CASE("summaries: the bytes are TensorFlow's") {
  Graph graph;
  const auto guard = graph.as_default();
  std::vector<Tensor> made;
  std::vector<std::string> names;
  for (const Case& c : scalars()) {
    const Tensor value = tf::constant(c.value);
    made.push_back(tf::summary::scalar("scalar/" + c.name, value));
    names.push_back(c.name);
  }
  for (const Case& c : histograms()) {
    const Tensor value = tf::constant(c.value);
    made.push_back(tf::summary::histogram("histogram/" + c.name, value));
    names.push_back(c.name);
  }
  made.push_back(tf::summary::merge({made[0], made[1], made.back()}));
  names.push_back("merged");
  tf::Session session;
  const std::vector<Fetch> fetches(made.begin(), made.end());
  const std::vector<Array> ours = session.run(std::span<const Fetch>(fetches));
  data::TFRecordReader theirs(kSummaryGolden + "summaries.tfrecord");
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(names[i]);
    const auto record = theirs.next();
    REQUIRE(record);
    CHECK(ours[i].item<std::string>() == *record);
    // Parsing and serializing again gives the same bytes, since all fields are known.
    CHECK(summary::serialize_summary(summary::parse_summary(*record)) == *record);
  }
  CHECK(!theirs.next());
}

TEST_CASE("summaries: a histogram of what is not finite names the node, in TensorFlow's words") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(refusal(Array::of<float>({3}, std::vector<float>{1, kNan, kInfinity})) ==
        "InvalidArgumentError: Nan in summary histogram for: a/f/h");
  CHECK(refusal(Array::of<double>({1, 2}, std::vector<double>{-Limits::infinity(), 0})) ==
        "InvalidArgumentError: Infinity in summary histogram for: a/f/h");
  CHECK(refusal(Array::scalar(-kInfinity)) ==
        "InvalidArgumentError: Infinity in summary histogram for: a/f/h");
  CHECK(refusal(Array::scalar(1.0F)) == "nothing");
}

TEST_CASE("summaries: the greatest number has a bucket") {
  summary::HistogramBuckets buckets;
  buckets.add(Limits::max());
  const summary::HistogramData data = buckets.data();
  CHECK(data.max == Limits::max());
  CHECK(data.bucket_limit.back() == Limits::max());
  CHECK(data.bucket.back() == 1);
}

TEST_CASE("summaries: what no histogram is made of") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(thrown([] { tf::summary::histogram("h", tf::constant("text")); }).starts_with("TypeError"));
  CHECK(!tf::summary::merge_all());
}
