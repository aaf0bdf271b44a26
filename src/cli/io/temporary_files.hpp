// SPDX-License-Identifier: Apache-2.0
// The names of files being written, and of directories made for them, so that a signal that ends
// the program removes them first.
#pragma once

#include <string>

namespace mxgemm::cli {

// From now on SIGINT, SIGTERM and SIGHUP remove every tracked file before they end the program, and
// so does SIGBUS, which a mapped input raises that somebody shortens: exit code 4 and a message. A
// write past the file size limit becomes an error of the write. Called once by a command that
// writes files.
void remove_tracked_files_on_signal();

// Tracks one path from construction to release(). Not copied or moved: the handler walks the list.
class TrackedFile {
 public:
  explicit TrackedFile(std::string path);
  ~TrackedFile() { release(); }
  TrackedFile(const TrackedFile&) = delete;
  TrackedFile& operator=(const TrackedFile&) = delete;

  void release();

 private:
  struct Node;
  friend void remove_tracked_files() noexcept;
  Node* node_;
};

// Removes every tracked file, and every tracked directory that is then empty; safe in a signal
// handler.
void remove_tracked_files() noexcept;

// While one lives, ending signals wait until it dies: several files are renamed as one step.
class SignalDelay {
 public:
  SignalDelay();
  ~SignalDelay();
  SignalDelay(const SignalDelay&) = delete;
  SignalDelay& operator=(const SignalDelay&) = delete;
};

}  // namespace mxgemm::cli
