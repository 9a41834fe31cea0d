#include <algorithm>

#include "models/char_lstm/char_lstm.h"
#include "towerflow/tf.h"

namespace towerflow::models::char_lstm {

Variable characters_variable(const Array& codes) {
  return tf::get_variable("characters", {.initializer = codes, .trainable = false});
}

BatchFunction windows(const InputOptions& options, const WindowsOptions& windows) {
  const auto scope = tf::name_scope("input");
  const Variable characters = characters_variable(windows.codes);
  const std::int64_t bytes = windows.seq_length + 1;
  const auto filename_queue =
      tf::train::string_input_producer(options.files, {.num_epochs = options.num_epochs});
  tf::FixedLengthRecordReader reader(
      bytes, {.footer_bytes = windows.held_out, .hop_bytes = windows.seq_length});
  const auto [key, value] = reader.read(filename_queue, {.share = options.share});
  Tensor window = tf::decode_raw(value, tf::uint8);
  window.set_shape({bytes});
  // Holds all windows of an epoch, so that any order is possible.
  const tf::RandomShuffleQueue queue(options.examples + 3 * options.batch_size, options.examples,
                                     {tf::uint8}, {.shapes = {{bytes}}});
  const Operation enqueue = queue.enqueue({window});
  tf::train::add_queue_runner(tf::train::QueueRunner(
      queue, std::vector<Operation>(static_cast<std::size_t>(options.num_threads), enqueue)));
  return [queue, characters, batch_size = options.batch_size] {
    const auto tower_scope = tf::name_scope("input");
    const Tensor text = queue.dequeue_many(batch_size)[0];
    const Tensor ids = tf::gather(characters, tf::cast(text, tf::int32));
    return Batch{ids[{tf::all, {None, -1}}], ids[{tf::all, {1, None}}]};
  };
}

BatchFunction inputs(const InputOptions& options) {
  const Text text = read_text(options.files[0]);
  const Vocabulary vocabulary(text.training);
  tf::add_to_collection(kClassesCollection, vocabulary.classes());
  return windows(options, {.held_out = static_cast<std::int64_t>(text.held_out.size()),
                           .codes = vocabulary.codes()});
}

Batch test_inputs(const std::vector<std::string>& files, std::int64_t batch_size) {
  const auto scope = tf::name_scope("input");
  const Text text = read_text(files[0]);
  const Vocabulary vocabulary(text.training);
  tf::add_to_collection(kClassesCollection, vocabulary.classes());
  const Variable characters = characters_variable(vocabulary.codes());
  // The first target follows the last character of the part for training.
  const std::string all = text.training.substr(text.training.size() - 1) + text.held_out;
  const auto targets = static_cast<std::int64_t>(text.held_out.size());
  const std::int64_t rows = (targets + kTestLength - 1) / kTestLength;
  Array bytes(tf::int32, Shape{rows, kTestLength + 1});
  for (std::int64_t i = 0; i < bytes.elements(); ++i) {
    const std::int64_t place = i / (kTestLength + 1) * kTestLength + i % (kTestLength + 1);
    bytes.data<std::int32_t>()[i] =
        place <= targets ? static_cast<unsigned char>(all[static_cast<std::size_t>(place)]) : -1;
  }
  const auto row =
      tf::train::slice_input_producer({Operand(bytes)}, {.num_epochs = 1, .shuffle = false});
  const auto batch = tf::train::batch(
      {row[0]},
      {.batch_size = batch_size, .capacity = 4 * batch_size, .allow_smaller_final_batch = true});
  const Tensor exists = tf::greater_equal(batch[0], 0);
  const Tensor ids = tf::gather(characters, tf::maximum(batch[0], 0));
  const Tensor labels = tf::where(exists, ids, -tf::ones_like(ids));
  return {ids[{tf::all, {None, -1}}], labels[{tf::all, {1, None}}]};
}

Batch batch_in_memory(std::int64_t batch_size) {
  constexpr std::int64_t kClasses = 66;
  const auto cpu = tf::device("/cpu:0");
  const auto in_turn = [&](std::int32_t first) {
    Array ids(tf::int32, Shape{batch_size, kSeqLength});
    for (std::int64_t i = 0; i < ids.elements(); ++i) {
      ids.data<std::int32_t>()[i] = static_cast<std::int32_t>((i + first) % kClasses);
    }
    return ids;
  };
  const Variable input(in_turn(0), {.trainable = false, .name = "input_data"});
  const Variable targets(in_turn(1), {.trainable = false, .name = "targets"});
  tf::add_to_collection(kClassesCollection, kClasses);
  return {input, targets};
}

}  // namespace towerflow::models::char_lstm
