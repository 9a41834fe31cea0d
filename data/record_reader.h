#pragma once

#include <optional>
#include <string>

#include "data/compression_kind.h"
#include "ops/data_flow/queue.h"

namespace towerflow::types {

struct RecordReaderOptions {
  std::string name{};
  /// How files are stored; looked up in each file when absent: gzip by its mark, else plain.
  std::optional<data::Compression> compression{};
};

/// A record and where it comes from: `auto [key, value] = reader.read(queue);`.
struct KeyValue {
  /// string []: "path:place", the place of a TFRecord the byte at which it begins when decoded
  Tensor key;
  Tensor value;  ///< string []
};

/// Reads files one after another, record by record; the files' names come from a queue. The
/// reader's state lives in a session. A cheap handle. (tf.ReaderBase)
class ReaderBase {
 public:
  const Tensor& reader_ref() const { return ref_; }

  /// The next record; takes the next name from `queue` where a file has ended. What is enqueued in
  /// the same run is admitted in the order of reading.
  ///
  /// shapes   key [], value []     dtypes  string
  /// errors   OutOfRangeError when the queue is closed and empty; NotFoundError and the like for a
  ///          file that cannot be opened, DataLossError for a damaged one, both with its name
  KeyValue read(const QueueBase& queue, QueueOptions options = {},
                Site site = Site::current()) const;

 protected:
  explicit ReaderBase(Tensor ref) : ref_(ref) {}

 private:
  Tensor ref_;
};

/// Reads the records of TFRecord files. (tf.TFRecordReader)
class TFRecordReader : public ReaderBase {
 public:
  explicit TFRecordReader(RecordReaderOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::types
