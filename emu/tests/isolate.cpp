// SPDX-License-Identifier: Apache-2.0
#include "isolate.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace emu::tests {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<Outcome(size_t)>;

constexpr std::chrono::seconds kLongest(30);  // without an answer

// Every so many-th item, one after the other, in one process at a time.
struct Share {
  size_t next = 0;
  size_t step = 1;
  size_t end = 0;
  pid_t process = -1;
  int answers = -1;  // a pipe: of each item its kind, the length of its data, its data
  std::string unread;
  Clock::time_point heard;
  bool killed = false;
  bool moved = false;  // has given an answer
};

bool write_all(int to, const char* data, size_t size) {
  while (size != 0) {
    const ssize_t written = write(to, data, size);
    if (written < 0 && errno != EINTR) {
      return false;
    }
    const size_t step = written < 0 ? 0 : static_cast<size_t>(written);
    data += step;
    size -= step;
  }
  return true;
}

[[noreturn]] void run_child(const Share& share, int to, const Work& work) {
  for (size_t item = share.next; item < share.end; item += share.step) {
    Outcome outcome;
    try {
      outcome = work(item);
    } catch (const std::exception& error) {
      outcome = {Outcome::kFailed, error.what()};
    }
    const uint64_t size = outcome.data.size();
    std::string record(1, outcome.kind);
    record.append(reinterpret_cast<const char*>(&size), sizeof size);
    record += outcome.data;
    if (!write_all(to, record.data(), record.size())) {
      _exit(1);
    }
    if (outcome.kind == Outcome::kFault) {
      break;
    }
  }
  _exit(0);
}

void start(Share& share, const Work& work) {
  int ends[2];
  if (pipe(ends) != 0) {
    throw std::runtime_error("no pipe");
  }
  std::fflush(nullptr);
  share.process = fork();
  if (share.process < 0) {
    throw std::runtime_error("no process");
  }
  if (share.process == 0) {
    close(ends[0]);
    run_child(share, ends[1], work);
  }
  close(ends[1]);
  share.answers = ends[0];
  share.heard = Clock::now();
  share.killed = false;
  share.moved = false;
}

void take_answers(Share& share, std::vector<Outcome>& outcomes) {
  constexpr size_t kHead = 1 + sizeof(uint64_t);
  while (share.unread.size() >= kHead) {
    uint64_t size = 0;
    std::memcpy(&size, share.unread.data() + 1, sizeof size);
    if (share.unread.size() < kHead + size) {
      return;
    }
    outcomes[share.next] = {static_cast<Outcome::Kind>(share.unread[0]),
                            share.unread.substr(kHead, size)};
    share.next += share.step;
    share.unread.erase(0, kHead + size);
    share.heard = Clock::now();
    share.moved = true;
  }
}

// The process has closed its pipe: what it did not answer is its last item's fault.
void end(Share& share, std::vector<Outcome>& outcomes) {
  close(share.answers);
  int status = 0;
  waitpid(share.process, &status, 0);
  share.process = -1;
  share.unread.clear();
  const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0 && share.moved;
  if (share.next >= share.end || clean) {
    return;
  }
  const std::string how = share.killed          ? "no answer"
                          : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                : "process ended";
  outcomes[share.next] = {Outcome::kFault, how};
  share.next += share.step;
}

std::vector<Share> shares_of(size_t count, size_t most) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t processes = std::min({count, cores, most});
  std::vector<Share> shares(processes);
  for (size_t i = 0; i < processes; ++i) {
    // Faults in a row are then shared out too.
    shares[i].next = i;
    shares[i].step = processes;
    shares[i].end = count;
  }
  return shares;
}

}  // namespace

std::vector<Outcome> isolated(size_t count, size_t processes, const Work& work) {
  std::vector<Outcome> outcomes(count);
  std::vector<Share> shares = shares_of(count, processes);
  for (;;) {
    std::vector<pollfd> polls;
    std::vector<Share*> running;
    for (Share& share : shares) {
      if (share.process < 0 && share.next < share.end) {
        start(share, work);
      }
      if (share.process >= 0) {
        running.push_back(&share);
        polls.push_back({share.answers, POLLIN, 0});
      }
    }
    if (running.empty()) {
      return outcomes;
    }
    constexpr int kMilliseconds = 200;
    poll(polls.data(), polls.size(), kMilliseconds);
    for (size_t i = 0; i < polls.size(); ++i) {
      Share& share = *running[i];
      if (polls[i].revents != 0) {
        char bytes[1 << 16];
        const ssize_t got = read(share.answers, bytes, sizeof bytes);
        if (got > 0) {
          share.unread.append(bytes, static_cast<size_t>(got));
          take_answers(share, outcomes);
        } else if (got == 0 || errno != EINTR) {
          end(share, outcomes);
        }
      } else if (!share.killed && Clock::now() - share.heard > kLongest) {
        share.killed = true;
        kill(share.process, SIGKILL);
      }
    }
  }
}

}  // namespace emu::tests
