#pragma once

#include <optional>
#include <string>

#include "data/compression_kind.h"
#include "data/record_share.h"
#include "ops/data_flow/queue.h"

namespace towerflow::types {

struct RecordReaderOptions {
  std::string name{};
  /// The compression of the files; if absent, detected for each file: gzip by its magic number,
  /// else plain.
  std::optional<data::Compression> compression{};
};

struct ReadOptions {
  std::string name{};
  data::RecordShare share{};  ///< of the records in each file; by default all
};

/// A record and its key: `auto [key, value] = reader.read(queue);`.
struct KeyValue {
  /// string []: "path:place"; a TFRecord's place is the byte at which it begins in the decoded file
  Tensor key;
  Tensor value;  ///< string []
};

/// Reads files one after another, record by record; the file names come from a queue. A cheap
/// handle; the reader's state is part of the session. (tf.ReaderBase)
class ReaderBase {
 public:
  const Tensor& reader_ref() const { return ref_; }

  /// Returns the next record; dequeues the next name from `queue` when a file has ended. If runs
  /// also enqueue the record, they are admitted in reading order.
  ///
  /// shapes   key [], value []     dtypes  string
  /// errors   ValueError: a share whose index is not from 0 to count - 1; at run time
  ///          OutOfRangeError if the queue is closed and empty; NotFoundError and the like if a
  ///          file cannot be opened, DataLossError if one is damaged, both with its name
  KeyValue read(const QueueBase& queue, ReadOptions options = {},
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
