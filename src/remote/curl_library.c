// SPDX-License-Identifier: Apache-2.0
//
// Finding libcurl and its functions.
#include "remote/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>

struct tide_curl tide_curl;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded; // under the lock

// Debian's with OpenSSL, else the one with GnuTLS: the same functions.
static void *open_library(void)
{
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  void *handle = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
    handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  return handle;
}

static enum tide_err load_library(struct tide_diag *diag)
{
  void *handle = open_library();
  if (!handle)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "libcurl.so.4 cannot be loaded, which speaks HTTP: install libcurl4");
#define FIND(name)                                                                                 \
  if (!(*(void **)&tide_curl.name = dlsym(handle, "curl_" #name)))                                 \
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "libcurl.so.4 has no curl_%s: it is too old", #name);
  TIDE_CURL_FUNCTIONS(FIND)
#undef FIND
  if (tide_curl.global_init(CURL_GLOBAL_DEFAULT))
    return tide_fail(diag, TIDE_ERR_SYSTEM, "libcurl cannot be started");
  return TIDE_ERR_OK;
}

enum tide_err tide_curl_load(struct tide_diag *diag)
{
  pthread_mutex_lock(&loading);
  enum tide_err err = is_loaded ? TIDE_ERR_OK : load_library(diag);
  is_loaded |= !err;
  pthread_mutex_unlock(&loading);
  return err;
}
