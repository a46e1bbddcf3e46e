// SPDX-License-Identifier: Apache-2.0
//
// Finding libmicrohttpd and its functions.
#include "serve/http_library.h"

#include <dlfcn.h>

#define LIBRARY_NAME "libmicrohttpd.so.12"

struct tide_http tide_http;

enum tide_err tide_http_load(struct tide_diag *diag)
{
  void *handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return tide_fail(
        diag, TIDE_ERR_NOT_FOUND,
        "%s cannot be loaded, which serves the page: install libmicrohttpd12, or write "
        "it to a file with 'tidemark html'",
        LIBRARY_NAME);
#define FIND(name)                                                                                 \
  if (!(*(void **)&tide_http.name = dlsym(handle, "MHD_" #name)))                                  \
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s has no MHD_%s: it is too old", LIBRARY_NAME,    \
                     #name);
  TIDE_HTTP_FUNCTIONS(FIND)
#undef FIND
  return TIDE_ERR_OK;
}
