#include <memory>

#include "data/cifar10.h"
#include "models/vaegan/vaegan.h"
#include "towerflow/tf.h"

namespace towerflow::models::vaegan {
namespace {

constexpr double kMinFractionInQueue = 0.4;  // of an epoch
constexpr std::int64_t kSide = 32;           // of an image of CIFAR-10
constexpr std::int32_t kPictureSide = 64;    // to which pictures are resized
constexpr std::int64_t kValues = kSide * kSide * kChannels;

/// Reads the next image, flattened and from 0 to 1, and its label.
Batch read_image(const QueueBase& filename_queue, tf::data::RecordShare share) {
  const auto read_input = tf::read_cifar10(filename_queue, share);
  const Tensor image = tf::cast(read_input.image, tf::float32) / 255.0;
  return {tf::reshape(image, {kValues}), read_input.label};
}

/// Reads the next picture: the square in its middle, resized, flattened and from 0 to 1.
Batch read_picture(const QueueBase& filename_queue) {
  const tf::WholeFileReader reader;
  const auto [key, contents] = reader.read(filename_queue);
  const Tensor picture = tf::image::decode_jpeg(contents, {.channels = kChannels});  // or a PNG
  const std::vector<Tensor> sizes = tf::unstack(tf::shape(picture));
  const Tensor side = tf::minimum(sizes[0], sizes[1]);
  const Tensor top = tf::floordiv(sizes[0] - side, 2), left = tf::floordiv(sizes[1] - side, 2);
  const Tensor square = tf::image::crop_to_bounding_box(picture, top, left, side, side);
  const Tensor image =
      tf::image::resize_images(square, {kPictureSide, kPictureSide}, tf::image::ResizeMethod::AREA);
  return {tf::reshape(image / 255.0, {kPictureSide * kPictureSide * kChannels}),
          tf::zeros({1}, {.dtype = tf::int32})};
}

Batch read_example(const QueueBase& filename_queue, const std::vector<std::string>& files,
                   tf::data::RecordShare share = {}) {
  return are_pictures(files) ? read_picture(filename_queue) : read_image(filename_queue, share);
}

/// Returns the files that hold a share of the examples: a picture is a file.
std::vector<std::string> files_of_share(const InputOptions& options) {
  if (!are_pictures(options.files)) return options.files;
  std::vector<std::string> files;
  const auto count = static_cast<std::size_t>(options.share.count);
  for (auto i = static_cast<std::size_t>(options.share.index); i < options.files.size();
       i += count) {
    files.push_back(options.files[i]);
  }
  return files;
}

}  // namespace

BatchFunction shuffled_inputs(const InputOptions& options) {
  const auto scope = tf::name_scope("input");
  const auto filename_queue =
      tf::train::string_input_producer(files_of_share(options), {.num_epochs = options.num_epochs});
  const auto [image, label] = read_example(filename_queue, options.files, options.share);
  const std::int64_t all = options.batch_size * options.num_towers;
  const auto kept =
      static_cast<std::int64_t>(static_cast<double>(options.examples) * kMinFractionInQueue);
  const auto batch = tf::train::shuffle_batch({image, label}, {.batch_size = all,
                                                               .capacity = kept + 3 * all,
                                                               .min_after_dequeue = kept,
                                                               .num_threads = options.num_threads});
  const auto tower = std::make_shared<std::int64_t>(0);
  return [batch, tower, size = options.batch_size] {
    const std::int64_t begin = size * (*tower)++, end = begin + size;
    const Tensor images = batch[0][{{begin, end}, tf::all}];
    return Batch{images, tf::reshape(batch[1][{{begin, end}, tf::all}], {-1})};
  };
}

Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size) {
  const auto scope = tf::name_scope("input");
  const auto filename_queue =
      tf::train::string_input_producer(files, {.num_epochs = 1, .shuffle = false});
  const auto [image, label] = read_example(filename_queue, files);
  const auto batch = tf::train::batch(
      {image, label},
      {.batch_size = batch_size, .capacity = 4 * batch_size, .allow_smaller_final_batch = true});
  return {batch[0], tf::reshape(batch[1], {-1})};
}

Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const Variable images(tf::random_uniform({batch_size, kValues}, {.seed = 1}),
                        {.trainable = false, .name = "images"});
  const Variable labels(Array::zeros(tf::int32, Shape{batch_size}),
                        {.trainable = false, .name = "labels"});
  return {images, labels};
}

}  // namespace towerflow::models::vaegan
