#pragma once
// Lanes: threads that work for the connections. Light calls have theirs, so that they never wait behind heavy
// ones; a lane that is too full says so at once. Any thread.

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>

namespace nl::http {

class Lane {
 public:
  Lane(size_t threads, size_t most_waiting) : pool_(threads), most_(threads + most_waiting) {}

  boost::asio::thread_pool& pool() { return pool_; }
  size_t inside() const { return inside_.load(); }

  /// A place in the lane, for the life of the object.
  class Place {
   public:
    explicit Place(Lane& lane) : lane_(lane), is_inside_(++lane.inside_ <= lane.most_) {
      if (!is_inside_) --lane.inside_;
    }
    ~Place() {
      if (is_inside_) --lane_.inside_;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    bool is_inside() const { return is_inside_; }

   private:
    Lane& lane_;
    const bool is_inside_;
  };

 private:
  boost::asio::thread_pool pool_;
  const size_t most_;
  std::atomic<size_t> inside_{0};
};

struct Lanes {
  Lane light, heavy, disk;
};

}  // namespace nl::http
