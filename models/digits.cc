#include "models/digits.h"

#include "data/existing_file.h"
#include "towerflow/tf.h"

namespace towerflow::models {
namespace {

struct Record {
  Tensor image;
  Tensor label;
};

/// Reads one digit: its pixels, scaled to -0.5 .. 0.5, and its label.
Record read_and_decode(const tf::FIFOQueue& filename_queue, tf::data::RecordShare share = {}) {
  tf::TFRecordReader reader;
  const auto [key, serialized_example] = reader.read(filename_queue, {.share = share});
  auto features = tf::parse_single_example(
      serialized_example, {{"image_raw", tf::FixedLenFeature{.shape = {}, .dtype = tf::string}},
                           {"label", tf::FixedLenFeature{.shape = {}, .dtype = tf::int64}}});
  Tensor image = tf::decode_raw(features["image_raw"], tf::uint8);
  image.set_shape({kImagePixels});
  image = tf::cast(image, tf::float32) * (1. / 255) - 0.5;
  return {image, tf::cast(features["label"], tf::int32)};
}

}  // namespace

Batch inputs(const InputOptions& options) {
  const auto scope = tf::name_scope("input");
  const auto filename_queue =
      tf::train::string_input_producer(options.files, {.num_epochs = options.num_epochs});
  const auto [image, label] = read_and_decode(filename_queue, options.share);
  const auto batch =
      tf::train::shuffle_batch({image, label}, {.batch_size = options.batch_size,
                                                .capacity = 1000 + 3 * options.batch_size,
                                                .min_after_dequeue = 1000,
                                                .num_threads = options.num_threads});
  return {batch[0], batch[1]};
}

BatchFunction digits_of_towers(const InputOptions& options) {
  return [options] { return inputs(options); };
}

Batch ordered_inputs(const std::vector<std::string>& files, std::int64_t batch_size) {
  const auto scope = tf::name_scope("input");
  const auto filename_queue =
      tf::train::string_input_producer(files, {.num_epochs = 1, .shuffle = false});
  const auto [image, label] = read_and_decode(filename_queue);
  const auto batch = tf::train::batch(
      {image, label},
      {.batch_size = batch_size, .capacity = 4 * batch_size, .allow_smaller_final_batch = true});
  return {batch[0], batch[1]};
}

Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const Tensor pixels =
      tf::random_uniform({batch_size, kImagePixels}, {.minval = -0.5, .maxval = 0.5, .seed = 1});
  Array digits(tf::int32, Shape{batch_size});
  for (std::int64_t i = 0; i < batch_size; ++i) {
    digits.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  }
  const Variable images(pixels, {.trainable = false, .name = "images"});
  const Variable labels(digits, {.trainable = false, .name = "labels"});
  return {images, labels};
}

namespace {

std::vector<std::string> files_of(const std::string& folder, Part part) {
  return {data::existing_file(folder, part == Part::train ? "train.tfrecords" : "test.tfrecords",
                              "`towerflow convert mnist --from IDX_DIR --to D` makes them")
              .string()};
}

}  // namespace

const DataSet kDigits{.name = "mnist",
                      .examples = "digits",
                      .files = "train.tfrecords[.gz] and test.tfrecords[.gz]",
                      .made = "",
                      .files_of = files_of,
                      .count = count_records,
                      .make = nullptr};

}  // namespace towerflow::models
