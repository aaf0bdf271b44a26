// SPDX-License-Identifier: Apache-2.0
#include "cli/io/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/io/safetensors_file.hpp"
#include "unit/io/scratch_directory.hpp"

namespace mxgemm::cli {
namespace {

using internal::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class OutputFileTest : public testing::Test {
 protected:
  std::unique_ptr<OutputFile> create(const std::string& name, uint64_t size = 0) {
    std::unique_ptr<OutputFile> file;
    const Status status = OutputFile::create(directory_.file(name), size, &file);
    EXPECT_TRUE(status.ok()) << status.message();
    return file;
  }

  // Runs `body` in a child process and gives back how it ended.
  template <typename Body>
  int status_of_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  ScratchDirectory directory_;
};

TEST_F(OutputFileTest, AppearsWholeWhenPublished) {
  std::unique_ptr<OutputFile> file = create("out", 6);
  ASSERT_TRUE(file->write_at(3, "def", 3).ok());
  ASSERT_TRUE(file->write_at(0, "abc", 3).ok());
  ASSERT_EQ(directory_.entries().size(), 1u);
  EXPECT_NE(directory_.entries()[0], "out");
  OutputFile* const files[] = {file.get()};
  ASSERT_TRUE(OutputFile::publish(files).ok());
  EXPECT_THAT(directory_.entries(), ElementsAre("out"));
  EXPECT_EQ(directory_.read("out"), "abcdef");
  file.reset();
  EXPECT_EQ(directory_.read("out"), "abcdef");
}

TEST_F(OutputFileTest, LeavesNothingWhenNotPublished) {
  directory_.write("out", "old");
  std::unique_ptr<OutputFile> file = create("out");
  ASSERT_TRUE(file->write_at(0, "new", 3).ok());
  file.reset();
  EXPECT_THAT(directory_.entries(), ElementsAre("out"));
  EXPECT_EQ(directory_.read("out"), "old");
}

TEST_F(OutputFileTest, ReplacesAFileInOneStep) {
  directory_.write("out", "old");
  std::unique_ptr<OutputFile> file = create("out");
  ASSERT_TRUE(file->write_at(0, "new", 3).ok());
  EXPECT_EQ(directory_.read("out"), "old");
  OutputFile* const files[] = {file.get()};
  ASSERT_TRUE(OutputFile::publish(files).ok());
  EXPECT_EQ(directory_.read("out"), "new");
}

TEST_F(OutputFileTest, SeveralFilesAppearTogetherOrNotAtAll) {
  std::unique_ptr<OutputFile> first = create("first");
  std::unique_ptr<OutputFile> second = create("second");
  ASSERT_EQ(mkdir(directory_.file("second").c_str(), 0777), 0);  // no file can take this name
  OutputFile* const files[] = {first.get(), second.get()};
  const Status status = OutputFile::publish(files);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_THAT(status.message(), HasSubstr("second"));
  first.reset();
  second.reset();
  EXPECT_THAT(directory_.entries(), ElementsAre("second"));
}

TEST_F(OutputFileTest, AMissingDirectoryIsAnError) {
  std::unique_ptr<OutputFile> file;
  const Status status = OutputFile::create(directory_.file("no/such/out"), 0, &file);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("no/such/out"), HasSubstr("No such file")));
}

TEST_F(OutputFileTest, AFullDiskIsAnErrorBeforeAnythingIsWritten) {
  const int status = status_of_child([this] {
    remove_tracked_files_on_signal();
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::unique_ptr<OutputFile> file;
    const Status reserved = OutputFile::create(directory_.file("out"), 8192, &file);
    const bool refused = reserved.code() == StatusCode::kIoError &&
                         reserved.message().find("8192 bytes") != std::string::npos;
    _exit(refused ? 7 : 1);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_THAT(directory_.entries(), IsEmpty());
}

TEST_F(OutputFileTest, AWriteThatDoesNotFitIsAnError) {
  const int status = status_of_child([this] {
    remove_tracked_files_on_signal();
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::unique_ptr<OutputFile> file;
    const std::string data(8192, 'x');
    const bool created = OutputFile::create(directory_.file("out"), 0, &file).ok();
    const Status written = file->write_at(0, data.data(), data.size());
    file.reset();
    _exit(created && written.code() == StatusCode::kIoError ? 7 : 1);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_THAT(directory_.entries(), IsEmpty());
}

TEST_F(OutputFileTest, EndingSignalsRemoveWhatIsUnfinished) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = status_of_child([this, signal_number] {
      signal(signal_number, SIG_DFL);
      remove_tracked_files_on_signal();
      std::unique_ptr<OutputFile> first;
      std::unique_ptr<OutputFile> second;
      if (!OutputFile::create(directory_.file("first"), 10, &first).ok() ||
          !OutputFile::create(directory_.file("second"), 10, &second).ok()) {
        _exit(1);
      }
      raise(signal_number);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal_number) << status;
    EXPECT_THAT(directory_.entries(), IsEmpty());
  }
}

TEST_F(OutputFileTest, SignalsWaitWhileFilesGetTheirNames) {
  const int status = status_of_child([this] {
    signal(SIGTERM, SIG_DFL);
    remove_tracked_files_on_signal();
    {
      const SignalDelay delay;
      raise(SIGTERM);
      directory_.write("still-here", "x");
    }
    _exit(1);  // not reached
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_THAT(directory_.entries(), ElementsAre("still-here"));
}

TEST_F(OutputFileTest, AnInputThatShrinksEndsTheProgramWithCode4) {
  const std::string path = directory_.write("in", std::string(1 << 20, 'x'));
  const int status = status_of_child([&] {
    remove_tracked_files_on_signal();
    MappedFile input;
    std::unique_ptr<OutputFile> file;
    if (!MappedFile::open(path, &input).ok() ||
        !OutputFile::create(directory_.file("out"), 10, &file).ok() ||
        truncate(path.c_str(), 0) != 0) {
      _exit(1);
    }
    const volatile uint8_t* bytes = input.bytes().data();
    _exit(bytes[1 << 19] == 0 ? 2 : 3);  // not reached
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 4) << status;
  EXPECT_THAT(directory_.entries(), ElementsAre("in"));
}

TEST_F(OutputFileTest, PathsThatMayNotBeWritten) {
  const std::string existing = directory_.write("existing", "x");
  MappedFile input;
  ASSERT_TRUE(MappedFile::open(existing, &input).ok());
  const FileId inputs[] = {input.id()};
  const auto message = [&](const std::string& path, bool may_replace) {
    const Status status =
        check_output_path(path, may_replace, "give --force to replace it", inputs);
    EXPECT_EQ(status.code(), status.ok() ? StatusCode::kOk : StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_EQ(message(directory_.file("other"), false), "");
  EXPECT_THAT(message("", true), HasSubstr("empty"));
  EXPECT_THAT(message(directory_.file("."), true), HasSubstr("directory"));
  EXPECT_THAT(message("/dev/null", true), HasSubstr("not a regular file"));
  EXPECT_THAT(message(existing, true), HasSubstr("is an input"));
  ASSERT_EQ(link(existing.c_str(), directory_.file("hard").c_str()), 0);
  ASSERT_EQ(symlink("existing", directory_.file("soft").c_str()), 0);
  EXPECT_THAT(message(directory_.file("hard"), true), HasSubstr("is an input"));
  EXPECT_THAT(message(directory_.file("soft"), true), HasSubstr("is an input"));
  const std::string unrelated = directory_.write("unrelated", "x");
  EXPECT_THAT(message(unrelated, false), HasSubstr("give --force to replace it"));
  EXPECT_EQ(message(unrelated, true), "");
}

TEST_F(OutputFileTest, SafetensorsAreWrittenInPartsAndMissingPartsNoticed) {
  const std::string path = directory_.file("out.safetensors");
  const std::vector<TensorInfo> tensors = {{"small", Dtype::kU8, {3}}, {"wide", Dtype::kF32, {2}}};
  std::unique_ptr<SafetensorsWriter> writer;
  ASSERT_TRUE(SafetensorsWriter::create(path, tensors, {{"k", "v"}}, &writer).ok());
  ASSERT_TRUE(writer->write("small", 0, as_bytes("abc")).ok());
  ASSERT_TRUE(writer->write("wide", 4, as_bytes("4567")).ok());
  EXPECT_EQ(writer->write("wide", 5, as_bytes("4567")).code(), StatusCode::kInternal);
  EXPECT_EQ(writer->write("none", 0, as_bytes("")).code(), StatusCode::kInternal);
  OutputFile* file = nullptr;
  EXPECT_EQ(writer->finish(&file).code(), StatusCode::kInternal);
  ASSERT_TRUE(writer->write("wide", 0, as_bytes("0123")).ok());
  ASSERT_TRUE(writer->finish(&file).ok());
  OutputFile* const files[] = {file};
  ASSERT_TRUE(OutputFile::publish(files).ok());
  SafetensorsReader reader;
  const Status status = SafetensorsReader::open(path, &reader);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto wide = reader.bytes(*reader.find("wide"));
  EXPECT_EQ(std::string(wide.begin(), wide.end()), "01234567");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.data()) % 4, 0u);
  EXPECT_EQ(reader.metadata().at("k"), "v");
  EXPECT_THAT(
      SafetensorsWriter::create(path, {{"a", Dtype::kU8, {1}}, {"a", Dtype::kU8, {1}}}, {}, &writer)
          .message(),
      HasSubstr("two tensors would be called 'a'"));
}

TEST_F(OutputFileTest, DroppedPagesReadTheSameAgain) {
  std::string data(1 << 20, 'x');
  data[777'777] = 'y';
  MappedFile file;
  ASSERT_TRUE(MappedFile::open(directory_.write("in", data), &file).ok());
  EXPECT_EQ(file.bytes()[777'777], 'y');
  file.drop(0, data.size());
  file.drop(5, 3);
  file.drop(data.size() - 5, 5);
  EXPECT_EQ(file.bytes()[777'777], 'y');
}

}  // namespace
}  // namespace mxgemm::cli
