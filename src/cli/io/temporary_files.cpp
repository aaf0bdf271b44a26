// SPDX-License-Identifier: Apache-2.0
#include "cli/io/temporary_files.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace mxgemm::cli {

// Nodes are pushed and never freed: a handler may be reading them at any time, and a command writes
// few files.
struct TrackedFile::Node {
  std::string path;
  std::atomic<bool> active{true};
  Node* next = nullptr;
};

namespace {

std::atomic<void*> first_node{nullptr};
std::atomic<int> delays{0};
std::atomic<int> waiting_signal{0};
static_assert(std::atomic<void*>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<bool>::is_always_lock_free,
              "a signal handler reads them");

void end_by(int signal_number) {
  remove_tracked_files();
  if (signal_number == SIGBUS) {
    constexpr char kText[] = "mxgemm: an input file was shortened while it was read\n";
    // Nothing is left to do about a stderr that cannot be written.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
    _exit(4);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

extern "C" void on_ending_signal(int signal_number) {
  if (signal_number != SIGBUS && delays.load() > 0) {
    waiting_signal.store(signal_number);
    return;
  }
  end_by(signal_number);
}

}  // namespace

TrackedFile::TrackedFile(std::string path) : node_(new Node{std::move(path)}) {
  void* head = first_node.load();
  do {
    node_->next = static_cast<Node*>(head);
  } while (!first_node.compare_exchange_weak(head, node_));
}

void TrackedFile::release() {
  node_->active.store(false);
}

void remove_tracked_files() noexcept {
  for (auto* node = static_cast<TrackedFile::Node*>(first_node.load()); node != nullptr;
       node = node->next) {
    // The list has the youngest first, so a directory comes after the files in it.
    if (node->active.load() && unlink(node->path.c_str()) != 0) {
      rmdir(node->path.c_str());
    }
  }
}

void remove_tracked_files_on_signal() {
  signal(SIGXFSZ, SIG_IGN);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGBUS}) {
    struct sigaction old {};
    sigaction(signal_number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) {
      continue;  // as nohup and shells' background jobs ask
    }
    struct sigaction action {};
    action.sa_handler = on_ending_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_NODEFER;  // so that raise() in the handler ends the program at once
    sigaction(signal_number, &action, nullptr);
  }
}

SignalDelay::SignalDelay() {
  delays.fetch_add(1);
}

SignalDelay::~SignalDelay() {
  if (delays.fetch_sub(1) == 1) {
    const int signal_number = waiting_signal.exchange(0);
    if (signal_number != 0) {
      end_by(signal_number);
    }
  }
}

}  // namespace mxgemm::cli
