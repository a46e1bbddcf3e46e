// SPDX-License-Identifier: Apache-2.0
//
// tidemark.h for C++: regions, scopes and pauses that end with their block, by an exception, too. C++11,
// nothing to link; without a recorder everything here does nothing.
//
//   tidemark::region region;                          // of this thread; tidemark::process: of all
//   parse(input);
//   TIDEMARK_ASSERT_MAX_BYTES(region.get(), 65536);
#ifndef TIDEMARK_TIDEMARK_HPP
#define TIDEMARK_TIDEMARK_HPP

#include <mutex>
#include <tidemark/tidemark.h>

namespace tidemark
{

enum whose { process = TIDEMARK_PROCESS, thread = TIDEMARK_THREAD };

using stats = ::tidemark_stats;

// Keeps errno for who unwinds.
class private_errno
{
public:
  private_errno() noexcept : saved_(errno) {}
  ~private_errno() { errno = saved_; }
  private_errno(const private_errno &) = delete;
  private_errno &operator=(const private_errno &) = delete;

private:
  int saved_;
};

// Open from where it is declared to the end of its block. One of a thread is to be read and ended
// by that thread.
class region
{
public:
  explicit region(whose of = thread) noexcept
      : error_(::tidemark_region_begin(&region_, of) ? errno : 0)
  {
  }
  ~region()
  {
    private_errno kept;
    if (!error_)
      ::tidemark_region_end(&region_, nullptr);
  }
  region(const region &) = delete;
  region &operator=(const region &) = delete;

  // 0: it is open. Else why not: ENOSYS, ENODATA, EBUSY as tidemark.h has them, ECANCELED: ended.
  int error() const noexcept { return error_; }
  explicit operator bool() const noexcept { return !error_; }

  // What has changed so far. Gives 0, or the error; then all numbers are 0.
  int read(stats &change) const noexcept
  {
    private_errno kept;
    return ::tidemark_region_read(&region_, &change) ? errno : 0;
  }

  // The same, for the last time.
  int end(stats &change) noexcept
  {
    private_errno kept;
    if (error_) {
      change = stats();
      return error_;
    }
    int error = ::tidemark_region_end(&region_, &change) ? errno : 0;
    if (error != EBUSY && error != EINVAL) // it is still open then
      error_ = ECANCELED;
    return error;
  }

  // For the assertions, and whatever else tidemark.h does with one.
  const ::tidemark_region *get() const noexcept { return &region_; }

private:
  ::tidemark_region region_;
  int error_; // last: it is what beginning gives
};

// What this thread allocates from where it is declared to the end of its block is told apart, by
// this name.
class scope
{
public:
  explicit scope(const char *name) noexcept
  {
    private_errno kept;
    is_open_ = !::tidemark_scope_begin(name);
  }
  ~scope()
  {
    private_errno kept;
    if (is_open_)
      ::tidemark_scope_end();
  }
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;

private:
  bool is_open_;
};

// From where it is declared to the end of its block a pool of the program's sees to its own memory:
// what this thread asks of malloc, or frees, is not counted beside the blocks that it hands out.
class pool_work
{
public:
  pool_work() noexcept
  {
    private_errno kept;
    is_open_ = !::tidemark_pool_begin();
  }
  ~pool_work()
  {
    private_errno kept;
    if (is_open_)
      ::tidemark_pool_end();
  }
  pool_work(const pool_work &) = delete;
  pool_work &operator=(const pool_work &) = delete;

private:
  bool is_open_;
};

// No new blocks are recorded from where it is declared to the end of its block: of all threads, and
// all processes that are recorded together. Where several overlap, until the last one ends.
class pause
{
public:
  pause() noexcept
  {
    private_errno kept;
    std::lock_guard<std::mutex> lock(all().mutex);
    if (!all().n++)
      ::tidemark_pause();
  }
  ~pause()
  {
    private_errno kept;
    std::lock_guard<std::mutex> lock(all().mutex);
    if (!--all().n)
      ::tidemark_resume();
  }
  pause(const pause &) = delete;
  pause &operator=(const pause &) = delete;

private:
  struct count {
    std::mutex mutex;
    int n = 0;
  };
  static count &all() noexcept
  {
    static count one;
    return one;
  }
};

} // namespace tidemark
#endif
