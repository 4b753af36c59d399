/* What the code and the static libraries ask of a glibc newer than 2.28, for builds that run on 2.28
   (cmake/toolchain-linux.cmake). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#ifdef __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.2.5"
#endif

/* glibc 2.29 gave five functions of libm a version that does not set errno; the first one computes the same bits. The
   linker turns calls of NAME into calls of __wrap_NAME (-Wl,--wrap=NAME). */
#define FIRST(name) __asm__(".symver first_" #name "," #name "@" FIRST_VERSION)
FIRST(exp);
FIRST(exp2);
FIRST(log);
FIRST(log2);
FIRST(pow);
double first_exp(double);
double first_exp2(double);
double first_log(double);
double first_log2(double);
double first_pow(double, double);

double __wrap_exp(double x) { return first_exp(x); }
double __wrap_exp2(double x) { return first_exp2(x); }
double __wrap_log(double x) { return first_log(x); }
double __wrap_log2(double x) { return first_log2(x); }
double __wrap_pow(double x, double y) { return first_pow(x, y); }

/* glibc 2.30: std::condition_variable::wait_for. Where it is missing, the wait ends by the clock of the day. */
static struct timespec as_time_of_day(clockid_t clock, const struct timespec* until) {
  struct timespec there, day;
  clock_gettime(clock, &there);
  clock_gettime(CLOCK_REALTIME, &day);
  int64_t nanoseconds = (int64_t)(until->tv_sec - there.tv_sec) * 1000000000 + (until->tv_nsec - there.tv_nsec);
  nanoseconds += (int64_t)day.tv_sec * 1000000000 + day.tv_nsec;
  return (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  int (*real)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  *(void**)&real = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  if (real) return real(condition, mutex, clock, until);
  const struct timespec day = as_time_of_day(clock, until);
  return pthread_cond_timedwait(condition, mutex, &day);
}

/* glibc 2.32: libstdc++ counts references without atomics while this is true. */
char __libc_single_threaded = 0;

/* glibc 2.36: std::random_device. */
uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  return value;
}
